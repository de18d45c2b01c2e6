# SPDX-License-Identifier: Apache-2.0
"""Actions of the daemon without being asked: it tells of changes, and asks for what is about to be out of date."""

import json
import pathlib
import subprocess
import time

from harness.case import case, expect, expect_equal, expect_hit
from harness.origin import fresh


def eventually(what, holds, patience=20):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        found = holds()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"in vain: {what}")


@case("on-change", "a program and a webhook are told when a load brings other content, once, and of nothing else")
def on_change(context):
    origin = context.origin({"/a": fresh("one\n", seconds=1), "/hook": fresh("")})
    place = context.directory / "told"
    daemon = context.daemon(
        f"services:\n  api:\n    baseURL: {origin.url}\n    configure:\n"
        f"      - onChange: {{ exec: [/bin/sh, -c, 'cat >> \"$0\"', '{place}'], webhook: '{origin.url}/hook?secret',"
        " debounce: 100 ms }\n")
    for content in ("one\n", "one\n", "two\n"):
        origin.routes["/a"] = fresh(content, seconds=1)
        expect_equal(daemon.get("/api/a")[2].decode(), content, "the content")
        time.sleep(1.1)
    eventually("both are told", lambda: daemon.status()["changes"]["told"] == 2)
    lines = [json.loads(line) for line in place.read_text().splitlines()]
    expect_equal(len(lines), 1, "lines of the program")
    told = (lines[0]["url"], lines[0]["service"], lines[0]["status"])
    expect_equal(told, (f"{origin.url}/a", "api", 200), "the change")
    expect(lines[0]["oldDigest"] != lines[0]["newDigest"], "the digests are equal")
    hooks = [asked for asked in origin.asked if asked.path == "/hook?secret"]
    expect_equal([hook.method for hook in hooks], ["POST"], "requests to the webhook")
    expect("secret" not in daemon.log(), "the log has the webhook's URL")


@case("changes", "a program that hangs is not left behind by a daemon that stops")
def left_behind(context):
    origin = context.origin({"/a": fresh("one\n", seconds=0)})
    place = context.directory / "process"
    daemon = context.daemon(
        f"services:\n  api:\n    baseURL: {origin.url}\n    configure:\n"
        f"      - onChange: {{ exec: [/bin/sh, -c, 'echo $$ > \"$0\"; sleep 60 & wait', '{place}'],"
        " debounce: 10 ms }\n")
    for content in ("one\n", "two\n"):
        origin.routes["/a"] = fresh(content, seconds=0)
        daemon.get("/api/a")
    eventually("the program runs", lambda: place.exists() and place.read_text().strip())
    group = int(place.read_text())
    expect_equal(daemon.stop(), None, "what is wrong with the end of the daemon")
    daemon.process = None
    eventually("it is gone, and what it started", lambda: not processes(group))


def processes(group):
    """The processes of a group that run."""
    found = []
    for place in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, number = place.read_text().rsplit(")", 1)[1].split()[:3]
        except OSError:
            continue
        if int(number) == group and state not in "ZX":
            found.append(place.parent.name)
    return found


@case("refresh-ahead", "what is watched stays fresh without a client, and with no credentials of one")
def refresh_ahead(context):
    origin = context.origin({"/a": fresh("a\n", seconds=6, ETag='"1"')})
    daemon = context.daemon(
        f"services:\n  api:\n    baseURL: {origin.url}\n    configure: [{{ refreshAhead: watched }}]\n")
    expect_equal(daemon.get("/api/a")[2], b"a\n", "the content")
    watch = subprocess.Popen(
        [context.program, "watch", "--socket", daemon.socket, f"{origin.url}/a"], stdout=subprocess.DEVNULL)
    try:
        eventually("it is validated", lambda: daemon.status()["refreshAhead"]["validated"] >= 1)
    finally:
        watch.terminate()
        watch.wait(10)
    expect_equal([asked.status for asked in origin.asked][:2], [200, 304], "statuses of the origin's answers")
    count = len(origin.asked)
    expect_hit(daemon.get("/api/a")[1], "after the first lifetime")
    expect_equal(len(origin.asked), count, "requests to the origin")
