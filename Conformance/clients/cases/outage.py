# SPDX-License-Identifier: Apache-2.0
"""An origin that dies and comes back, and what its clients get meanwhile."""

import datetime
import time

from harness.case import case, expect, expect_equal, expect_in
from harness.origin import Origin, fresh


def retries(context, daemon, path, patience=15):
    """Asks until the origin answers again; how often that was."""
    end = time.monotonic() + patience
    tries = 0
    while time.monotonic() < end:
        tries += 1
        status, _, content = daemon.get(path)
        if status == 200 and content == b"back\n":
            return tries
        time.sleep(0.1)
    raise AssertionError(f"{path} was not answered by the origin that came back: {daemon.log_tail()}")


@case("outage", "an origin is killed and restarted: stale data, errors at once, the log says it once, then all is well")
def outage(context):
    # Connections that are kept would outlive the listener.
    origin = Origin({"/kept": fresh("kept\n", seconds=1, Connection="close")})
    daemon = context.daemon(f"services:\n  api:\n    baseURL: {origin.url}\n")
    expect_equal(daemon.get("/api/kept")[2], b"kept\n", "the content")
    origin.close()
    time.sleep(1.1)
    for number in range(40):
        status, _, content = daemon.get("/api/kept")
        expect_equal((status, content), (200, b"kept\n"), f"stale data, request {number}")
        status, fields, _ = daemon.get(f"/api/other{number}")
        expect_equal(status, 502, "the status of what is not stored")
    expect_in("retry-after", fields, "fields of an answer while the origin is left alone")
    expect_in("circuit-open", fields["cache-status"], "Cache-Status")
    line = daemon.status()["upstreams"][0]
    expect(line["state"] in ("open", "halfOpen"), f"the state of the origin: {line}")
    failed = datetime.datetime.fromisoformat(line["lastErrorAt"])
    ago = datetime.datetime.now(datetime.timezone.utc) - failed
    expect(ago.total_seconds() < 60, f"the time of the last failure: {line}")
    expect(daemon.status()["upstream"]["requests"] < 20, "the dead origin was asked again and again")
    expect_equal(daemon.log().count("an origin fails and is left alone"), 1, "lines in the log")

    revived = Origin({None: fresh("back\n")}, port=origin.port)
    retries(context, daemon, "/api/new")
    expect_equal(daemon.get("/api/kept")[2], b"back\n", "the content of the origin that came back")
    daemon.wait_for_log("an origin works again")
    expect_equal(daemon.status()["upstreams"][0]["state"], "closed", "the state of the origin")
    revived.close()


@case("outage", "larder offline: what is stored is served, what is not is answered with what is stored nearby")
def offline(context):
    origin = context.origin({"/users/anna": fresh("anna\n", seconds=1)})
    daemon = context.daemon(f"services:\n  api:\n    baseURL: {origin.url}\n")
    daemon.get("/api/users/anna")

    def command(*words):
        return context.run([context.program, "offline", *words, "--socket", daemon.socket]).stdout.decode()

    expect_in("off", command(), "larder offline")
    command("on")
    time.sleep(1.1)
    expect_equal(daemon.get("/api/users/anna")[2], b"anna\n", "what is stored")
    status, _, content = daemon.get("/api/users/ann")
    expect_equal(status, 504, "the status of what is not stored")
    expect_in("/api/users/anna", content.decode(), "what is said about it")
    asked = len(origin.asked)
    daemon.reload()
    expect_equal(daemon.get("/api/users/ann")[0], 504, "the status after a reload")
    expect_equal(len(origin.asked), asked, "requests at the origin while offline")
    command("configured")
    expect_equal(daemon.get("/api/users/ann")[0], 404, "the status once the origin is asked again")
