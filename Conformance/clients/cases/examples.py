# SPDX-License-Identifier: Apache-2.0
"""The programs in Examples: daemons with services written in Swift, built as their users build them."""

import json
import pathlib
import shutil
import subprocess

from harness.case import Failed, Skipped, case, expect, expect_equal, expect_hit, expect_in
from harness.origin import fresh

ROOT = pathlib.Path(__file__).resolve().parents[3]


def build():
    """The directory with the programs. What was built the last time is built no more."""
    if not shutil.which("swift"):
        raise Skipped("swift is not installed")
    where = ["--package-path", ROOT / "Examples", "--scratch-path", ROOT / ".build" / "examples"]
    command = ["swift", "build", "--product", "Pantry", *where]
    built = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    if built.returncode:
        raise Failed(f"the examples do not build:\n{built.stdout[-3000:]}{built.stderr[-1000:]}")
    shown = subprocess.run(["swift", "build", "--show-bin-path", *where], capture_output=True, text=True, check=True)
    return pathlib.Path(shown.stdout.strip())


@case("examples", "a daemon of one's own serves what its Swift makes of an origin's JSON")
def pantry(context):
    product = {"name": "flour", "price": 3, "stock": 12}
    origin = context.origin(
        {
            "/products/1": fresh(json.dumps(product), "application/json"),
            "/products/2": fresh("{}", "application/json"),
            "/about": fresh("a shop\n"),
        }
    )
    context.program = build() / "Pantry"
    daemon = context.daemon(f"services:\n  shop:\n    baseURL: {origin.url}/\n")
    for attempt in ("the first", "the second"):
        status, fields, content = daemon.get("/shop/products/1")
        expect_equal(status, 200, f"{attempt} answer")
        expect_equal(json.loads(content), {"name": "flour", "price": 3}, f"{attempt} answer")
    expect_hit(fields, "the second answer")
    expect(fields.get("etag"), "the answer has no ETag of its own")
    expect_equal(daemon.get("/shop/about")[2], b"a shop\n", "what nothing transforms")
    status, _, content = daemon.get("/shop/products/2")
    expect_equal(status, 502, "a product without a price")
    expect_in("by ‘label’", json.loads(content)["detail"], "the problem")
    expect_in("shop", daemon.get("/-/status")[2].decode() + daemon.get("/-/resources")[2].decode(), "the listings")
