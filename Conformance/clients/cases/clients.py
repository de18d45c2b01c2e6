# SPDX-License-Identifier: Apache-2.0
"""Other clients that take their proxy from the environment."""

import json
import sys

from harness.case import case, expect_equal, expect_hit
from harness.origin import fresh

URLLIB = """
import json, sys, urllib.request
with urllib.request.urlopen(sys.argv[1], timeout=20) as response:
    fields = {name.lower(): value for name, value in response.getheaders()}
    print(json.dumps([response.status, fields, response.read().decode()]))
"""

PATHS = [f"/page-{number}" for number in range(5)]


def pages():
    return {path: fresh(f"this is {path}\n", ETag=f'"{path}"') for path in PATHS}


@case("urllib", "Python's urllib with http_proxy: the second run is all hits")
def urllib(context):
    origin = context.origin(pages())
    daemon = context.daemon()
    for attempt in (1, 2):
        for path in PATHS:
            done = context.run(
                [sys.executable, "-c", URLLIB, f"{origin.url}{path}"],
                environment=context.environment(http_proxy=daemon.url),
            )
            status, fields, content = json.loads(done.stdout)
            expect_equal((status, content), (200, f"this is {path}\n"), path)
            if attempt == 2:
                expect_hit(fields, f"{path}, second run")
    expect_equal([asked.path for asked in origin.asked], PATHS, "requests at the origin, both runs")


@case("wget", "wget with http_proxy: the second run is all hits")
def wget(context):
    program = context.command("wget")
    origin = context.origin(pages())
    daemon = context.daemon()
    for attempt in (1, 2):
        for path in PATHS:
            done = context.run(
                [program, "--no-config", "--no-verbose", "--server-response", "-O", "-", f"{origin.url}{path}"],
                environment=context.environment(http_proxy=daemon.url),
            )
            expect_equal(done.stdout, f"this is {path}\n".encode(), path)
            if attempt == 2:
                lines = (line.strip().partition(":") for line in done.stderr.decode().splitlines())
                expect_hit({name.lower(): value.strip() for name, _, value in lines}, f"{path}, second run")
    expect_equal([asked.path for asked in origin.asked], PATHS, "requests at the origin, both runs")
