# SPDX-License-Identifier: Apache-2.0
"""SIGHUP: a valid configuration is taken over without dropping anything, an invalid one is not."""

import pathlib
import time

from cases.configuration import MALFORMED, complaint
from harness.case import Failed, case, expect, expect_equal
from harness.origin import fresh
from harness.wire import Wire


def service(name, origin):
    return f"  {name}:\n    baseURL: {origin.url}/{name}\n"


@case("reload", f"{len(MALFORMED)} kinds of malformed configuration leave the running one in force, and say why")
def refused(context):
    origin = context.origin({"/api/thing": fresh("a thing\n")})
    daemon = context.daemon("services:\n" + service("api", origin))
    complaints = []
    for malformed in MALFORMED:
        daemon.file.write_text(malformed.text)
        start = len(daemon.log())
        daemon.reload()
        try:
            daemon.wait_for_log(f"{daemon.file}:", start)
            # The rest of the message may still be on its way.
            time.sleep(0.05)
            if missing := complaint(daemon.log()[start:], daemon.file, malformed):
                complaints.append(missing)
        except Exception as error:
            complaints.append(f"{malformed.kind}: {error}")
        expect_equal(daemon.get("/api/thing")[0], 200, f"the gateway after {malformed.kind}")
    if complaints:
        raise Failed(f"{len(complaints)} of {len(MALFORMED)}:\n" + "\n".join(complaints))


@case("reload", "no jq process outlives the configuration that it was for")
def workers(context):
    origin = context.origin({f"/{number}": fresh('{"a": 1}', type="application/json") for number in range(6)})
    daemon = context.daemon(
        f"services:\n  api:\n    baseURL: {origin.url}\n    configure: [{{ pipeline: {{ model: [{{ jq: .a }}] }} }}]\n")

    def running():
        children = pathlib.Path(f"/proc/{daemon.process.pid}/task").glob("*/children")
        return sum(len(place.read_text().split()) for place in children)

    def settles(count, when):
        deadline = time.monotonic() + 20
        while running() != count and time.monotonic() < deadline:
            time.sleep(0.05)
        expect_equal(running(), count, f"jq processes {when}")

    def reload():
        start = len(daemon.log())
        daemon.reload()
        daemon.wait_for_log("the configuration was read again", start)

    for number in range(6):
        expect_equal(daemon.get(f"/api/{number}")[2], b"1", "the transformed content")
        reload()
    settles(1, "after six reloads")
    expect_equal(daemon.get("/api/0")[2], b"1", "the transformed content")
    daemon.write_configuration("services: {}\n")
    reload()
    settles(0, "when the service is gone")


@case("reload", "a valid new configuration is taken over, and a response in flight goes on")
def taken_over(context):
    gate = []

    def script(wire):
        while wire.request():
            wire.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\nCache-Control: no-store\r\n\r\nfirst")
            deadline = time.monotonic() + 20
            while not gate and time.monotonic() < deadline:
                time.sleep(0.01)
            wire.send(b"after")

    slow = context.raw_origin(script)
    origin = context.origin({None: fresh("a thing\n")})
    daemon = context.daemon("services:\n" + service("old", origin))
    with Wire.connect(daemon.port) as client:
        client.send(f"GET {slow.url}/ HTTP/1.1\r\nHost: {slow.authority}\r\n\r\n")
        _, fields = client.head()
        begun = client.exactly(5)

        daemon.write_configuration("services:\n" + service("new", origin))
        daemon.reload()
        deadline = time.monotonic() + 10
        while daemon.get("/new/thing")[0] != 200:
            expect(time.monotonic() < deadline, f"the new service never appeared: {daemon.log_tail()}")
            time.sleep(0.02)
        expect(daemon.get("/old/thing")[0] != 200, "the service that is gone from the file still answers")
        gate.append(True)
        expect_equal(begun + client.exactly(5), b"firstafter", "the response in flight")
        client.send(f"GET {daemon.url}/-/health HTTP/1.1\r\nHost: {daemon.authority}\r\n\r\n")
        expect_equal(client.response()[0], 200, "the same connection afterwards")
