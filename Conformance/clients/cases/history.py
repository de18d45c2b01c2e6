# SPDX-License-Identifier: Apache-2.0
"""The history of content: larder history, larder diff."""

import json
import signal
import time

from harness.case import case, expect, expect_equal, expect_in
from harness.origin import fresh


@case("history", "versions survive a restart and kill -9, differ as diff says, and are gone after a wipe")
def history(context):
    origin = context.origin({})
    daemon = context.daemon(f"services:\n  api:\n    baseURL: {origin.url}\n    history: 5\n")
    url = f"{origin.url}/a"

    def larder(*words, status=0):
        done = context.run([context.program, *words, "--socket", daemon.socket], check=False)
        expect_equal(done.returncode, status, f"exit status of larder {' '.join(map(str, words))}: {done.stderr}")
        return done.stdout.decode(), done.stderr.decode()

    def change(content):
        origin.routes["/a"] = fresh(content, "application/json", seconds=0)
        done = context.run([context.command("curl"), "-sS", "--noproxy", "", f"{daemon.url}/api/a"])
        expect_equal(done.stdout.decode(), content, "what curl gets")

    expect_in("nothing is known of", larder("history", url, status=2)[1], "what is said of nothing")
    larder("diff", url, status=2)
    change('{"b": 2, "a": 1}')
    # Times are told to the second.
    time.sleep(1.1)
    expect_in("one version only", larder("diff", url, status=2)[1], "what is said of one version")
    change('{"a": 1,   "b": 2}')
    expect_equal(larder("diff", url)[0], "", "the difference of equal JSON")
    change('{"a": 1, "b": 3}')
    said = larder("diff", url, status=1)[0]
    expect('-  "b": 2\n+  "b": 3\n' in said, f"larder diff: {said}")
    expect_in('+{"a": 1, "b": 3}', larder("diff", "--raw", url, status=1)[0], "larder diff --raw")
    first = json.loads(larder("history", url, "--json")[0])["versions"]
    expect_equal([line["isCurrent"] for line in first], [True, False, False], "the versions")
    expect(larder("history", url)[0].splitlines()[1].startswith("*  20"), "larder history marks what is current")
    expect_equal(larder("diff", "--at", "1 h", url, status=2)[0], "", "the difference to an unknown past")
    expect_equal(larder("diff", "--at", first[-1]["firstSeen"].replace("Z", "+00:00"), url, "--json", status=1)[0][0],
                 "{", "larder diff --json")

    for ending in (signal.SIGTERM, signal.SIGKILL):
        daemon.process.send_signal(ending)
        daemon.process.wait()
        daemon.start()
        again = json.loads(larder("history", url, "--json")[0])["versions"]
        expect_equal([line["version"] for line in again], [line["version"] for line in first], "after a restart")
        expect_equal(larder("diff", url, status=1)[0], said, "the difference after a restart")

    larder("wipe", url)
    larder("history", url, status=2)
    other = larder("history", "http://elsewhere.example/", status=1)[1]
    expect_in("services: { NAME: { baseURL: http://elsewhere.example, history: 5 } }", other, "the advice")
