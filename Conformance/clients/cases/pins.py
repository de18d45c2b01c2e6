# SPDX-License-Identifier: Apache-2.0
"""Resources that are kept from eviction."""

import os

from cases.commands import Shell
from harness.case import case, expect, expect_equal, expect_in
from harness.origin import fresh

KIB = 1 << 10


@case("pins", "what is pinned stays while everything else comes and goes, until it is unpinned")
def pinned(context):
    content = os.urandom(100 * KIB)
    origin = context.origin({None: lambda path: fresh(path.encode() + content, "application/octet-stream")})
    configuration = f"services:\n  api:\n    baseURL: {origin.url}\n"
    daemon = context.daemon(configuration, sets={"cache.disk": "16 MiB", "cache.memory": "1 MiB"})
    shell = Shell(context, daemon)
    for number in range(20):
        daemon.get(f"/api/train/{number}")
    expect_equal(shell.json("pin", "/train/*")["pinned"], 20, "pinned")
    expect_in("/train/7", shell.text("pin"), "the list of pins")
    for number in range(300):
        daemon.get(f"/api/crowd/{number}")
    asked = len(origin.asked)
    for number in range(20):
        daemon.get(f"/api/train/{number}")
    expect_equal(len(origin.asked), asked, "requests at the origin for what is pinned")
    done = context.run([context.program, "pin", "**", "--socket", daemon.socket], check=False)
    expect("octets" in done.stderr.decode() and done.returncode == 1, f"too much is pinned: {done.stderr.decode()}")
    done = context.run([context.program, "wipe", "--match", "**", "--socket", daemon.socket], check=False)
    expect_in("20 pinned were left", done.stderr.decode(), "what a wipe says")
    shell.text("wipe", "--match", "**", "--pinned")
    expect_in("nothing is pinned", shell.text("pin"), "the list of pins")
