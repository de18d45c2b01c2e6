# SPDX-License-Identifier: Apache-2.0
"""The time after: exchanges that end in every way there is, and then every deadline that was set for them goes off."""

import itertools
import os
import socket
import struct
import threading
import time

from cases.tls import LOOPBACK, Authority
from harness.case import case, expect, expect_equal
from harness.daemon import free_port
from harness.origin import fresh
from harness.wire import Wire, WireError

# Of each deadline; all of them are over long before `PATIENCE`, in seconds.
DEADLINE, PATIENCE = "300 ms", 20
PIECE = bytes(65536)

SETTINGS = """\
timeouts:
  head: {0}
  idle: {0}
  body: {0}
  write: {0}
  connect: {0}
  upstream: {0}
  upstreamIdle: {0}
  tunnelIdle: {0}
  abandon: 50 ms
upstream:
  caFile: {1}
  breaker:
    openFor: {0}
intercept:
  hosts: [localhost]
services:
  api:
    baseURL: {2}/
    mount: /api/
    offline: auto
    configure:
      - match: "/jq/**"
        pipeline:
          parsing:
            - jq: ".n"
      - match: "/again/**"
        decorate:
          retry:
            backoff: 50 ms
  dead:
    baseURL: http://127.0.0.1:{3}/
    offline: auto
"""


def script(wire):
    """An origin that answers as the path says."""
    while (request := wire.request()) is not None:
        method, target, fields = request
        kind = target.split("?")[0].split("/")[1]
        if kind == "deaf":
            time.sleep(1)
            return
        wire.request_content(fields)
        if kind == "silent":
            time.sleep(1)
            return
        if kind == "half":
            wire.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            return
        if kind == "again":
            wire.send("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
        elif kind == "jq":
            wire.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{\"n\":1}")
        elif kind == "drip":
            wire.send("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in range(8):
                wire.send("1\r\nx\r\n")
                time.sleep(0.1)
            wire.send("0\r\n\r\n")
        elif kind == "long":
            wire.send(f"HTTP/1.1 200 OK\r\nContent-Length: {64 * len(PIECE)}\r\n\r\n")
            for _ in range(64):
                wire.send(PIECE)
        elif kind == "upgrade":
            wire.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
            wire.send(wire.exactly(4))
            time.sleep(1)
            return
        else:
            wire.send("HTTP/1.1 200 OK\r\nCache-Control: max-age=0, stale-while-revalidate=60\r\n"
                      f"Content-Length: 5\r\n\r\n{'seen' if method == 'GET' else 'done'}\n")


def get(path, *lines, method="GET", content=b""):
    """The octets of a request of the gateway's."""
    head = "".join(f"{line}\r\n" for line in (f"{method} {path} HTTP/1.1", "Host: localhost", *lines))
    return f"{head}\r\n".encode() + content


def connect(authority):
    return f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode()


def beginnings(secure):
    """What clients begin with, by name: the octets they send, piece by piece."""
    upgrade = get("/api/upgrade", "Connection: Upgrade", "Upgrade: echo")
    hello = b"\x16\x03\x01\x02\x00\x01"
    return {
        "nothing": [],
        "half a head": [b"GET /api/plain HTTP/1.1\r\nHo"],
        "a request": [get("/api/plain")],
        "many requests": [get("/api/plain") * 20],
        "half an upload": [get("/api/plain", "Content-Length: 1000", method="POST", content=b"x" * 500)],
        "half a chunk": [
            get("/api/plain", "Transfer-Encoding: chunked", method="PUT", content=b"a\r\nhalf")],
        "an upload nobody reads": [get("/api/deaf", f"Content-Length: {1 << 22}", method="POST"), *[PIECE] * 20],
        "an upload that asks first": [
            get("/api/deaf", "Content-Length: 1000", "Expect: 100-continue", method="POST")],
        "a silent origin": [get("/api/silent")],
        "half a response": [get("/api/half")],
        "an origin that drips": [get("/api/drip")],
        "a response nobody reads": [get("/api/long")],
        "a transformed response": [get("/api/jq/1")],
        "requests that are repeated": [get("/api/again/1")],
        "a dead origin": [get("/dead/x") * 8],
        "another protocol": [upgrade, b"echo"],
        "live events": [get("/-/events", "Accept: text/event-stream")],
        "events of a resource": [get("/-/events?url=/api/plain&loadIfNeeded=1", "Accept: text/event-stream")],
        "a tunnel": [connect(f"127.0.0.1:{secure.port}"), hello],
        "a tunnel that is opened": [connect(f"localhost:{secure.port}"), hello],
        "a tunnel to nobody": [connect(f"127.0.0.1:{free_port()}")],
    }


def leave_at_once(wire):
    wire.close()


def leave_by_reset(wire):
    wire.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wire.close()


def end_own_side(wire):
    wire.connection.shutdown(socket.SHUT_WR)
    wait(wire)


def wait(wire):
    """Until the daemon has had enough, which it never has of live events."""
    end = time.monotonic() + 3
    while time.monotonic() < end and wire.connection.recv(1 << 16):
        pass
    wire.close()


def leave_later(wire):
    time.sleep(0.2)
    leave_by_reset(wire)


ENDINGS = [leave_at_once, leave_by_reset, end_own_side, wait, leave_later]


def client(port, pieces, ending):
    try:
        with Wire.connect(port) as wire:
            wire.connection.settimeout(2)
            for piece in pieces:
                wire.send(piece)
                time.sleep(0.005)
            ending(wire)
    # One that the daemon has turned away, or that turns away while it sends.
    except (OSError, WireError):
        pass


@case("afterwards", "exchanges that end in every way, and the time after: the daemon goes on, and nothing is left over")
def afterwards(context):
    authority = Authority(context)
    origin = context.raw_origin(script)
    secure = context.origin({"/": fresh("seen\n")}, tls=authority.server(LOOPBACK))
    daemon = context.daemon(SETTINGS.format(DEADLINE, authority.certificate, origin.url, free_port()))
    pid = daemon.process.pid

    def descriptors():
        return len(os.listdir(f"/proc/{pid}/fd"))

    def sound(when):
        expect(daemon.process.poll() is None, f"the daemon is gone {when}:\n{daemon.log_tail()}")
        status, _, content = daemon.get("/api/plain")
        expect_equal((status, content), (200, b"seen\n"), f"a request {when}")

    # Once with each, so that what is made once is there already.
    for pieces in beginnings(secure).values():
        client(daemon.port, pieces, leave_at_once)
    time.sleep(1)
    sound("after one of each")
    settled(descriptors, daemon, None)
    before = descriptors()

    for ending in ENDINGS:
        kinds = itertools.chain.from_iterable([pieces] * 2 for pieces in beginnings(secure).values())
        threads = [threading.Thread(target=client, args=(daemon.port, pieces, ending)) for pieces in kinds]
        for thread in threads:
            thread.start()
        sound(f"while clients {ending.__name__}")
        for thread in threads:
            thread.join()
        sound(f"after clients {ending.__name__}")
    left = settled(descriptors, daemon, before)
    expect(left <= before, f"{left} descriptors are open where there were {before} before")
    sound("after every deadline")
    daemon.reload()
    sound("after a reload")
    expect_equal(daemon.log().count("Fatal error"), 0, "crashes")
    connections = daemon.status()["connections"]
    expect_equal((connections["open"], connections["tunnels"]), (1, 0), "connections that are open, tunnels")


def settled(descriptors, daemon, goal):
    """The number of open descriptors once every deadline is over; no more than `goal`, if that is reached at all."""
    time.sleep(1)
    end = time.monotonic() + PATIENCE
    while goal is not None and descriptors() > goal and time.monotonic() < end:
        time.sleep(0.1)
    return descriptors()
