# SPDX-License-Identifier: Apache-2.0
"""How messages are framed and paced: pipelining, 100-continue, interim responses, chunked content, HTTP/1.0."""

import time

from harness.case import case, expect, expect_equal
from harness.wire import Wire, WireError


CHUNKED_HEAD = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"


def host_of(origin):
    return f"Host: {origin.authority}\r\n"


def put(origin):
    """A request whose five octets of content wait for an interim response."""
    fields = f"{host_of(origin)}Content-Length: 5\r\nExpect: 100-continue\r\n"
    return f"PUT {origin.url}/x HTTP/1.1\r\n{fields}\r\n"


@case("pipelining", "pipelined requests are answered in order, whoever the origin answers first")
def pipelining(context):
    def script(wire):
        while request := wire.request():
            path = request[1]
            if path == "/slow":
                time.sleep(0.3)
            wire.send(f"HTTP/1.1 200 OK\r\nContent-Length: {len(path)}\r\nCache-Control: no-store\r\n\r\n{path}")

    origin = context.raw_origin(script)
    daemon = context.daemon()
    paths = ["/slow", "/a", "/b", "/slow", "/c"]
    with Wire.connect(daemon.port) as client:
        client.send("".join(f"GET {origin.url}{path} HTTP/1.1\r\n{host_of(origin)}\r\n" for path in paths))
        answers = [client.response()[2].decode() for _ in paths]
    expect_equal(answers, paths, "order of the answers")


@case("pipelining", "a request may arrive one octet at a time")
def octet_by_octet(context):
    def script(wire):
        while wire.request():
            wire.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    origin = context.raw_origin(script)
    daemon = context.daemon()
    with Wire.connect(daemon.port) as client:
        for octet in f"GET {origin.url}/ HTTP/1.1\r\n{host_of(origin)}\r\n":
            client.send(octet)
        status, _, content = client.response()
    expect_equal((status, content), (200, b"ok"), "answer")


@case("expect", "Expect: 100-continue: content follows once the origin wants it")
def continued(context):
    seen = []

    def script(wire):
        while request := wire.request():
            method, _, fields = request
            seen.append(fields.get("expect"))
            if not wire.is_quiet(0.1):
                seen.append("content came unasked")
            wire.send("HTTP/1.1 100 Continue\r\n\r\n")
            content = wire.request_content(fields)
            wire.send(f"HTTP/1.1 200 OK\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content)

    origin = context.raw_origin(script)
    daemon = context.daemon()
    with Wire.connect(daemon.port) as client:
        client.send(put(origin))
        line, _ = client.head()
        expect_equal(line.split()[1], "100", "the interim response")
        client.send("hello")
        status, _, content = client.response()
    expect_equal((status, content), (200, b"hello"), "answer")
    expect_equal(seen, ["100-continue"], "what the origin saw")


@case("expect", "Expect: 100-continue: an origin that refuses never gets the content")
def refused(context):
    def script(wire):
        while wire.request():
            wire.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno\n")
            return

    origin = context.raw_origin(script)
    daemon = context.daemon()
    with Wire.connect(daemon.port) as client:
        client.send(put(origin))
        status, _, content = client.response()
    expect_equal((status, content), (403, b"no\n"), "answer")
    expect_equal(client.interim, [], "interim responses")


@case("expect", "other interim responses are passed on")
def interim(context):
    def script(wire):
        while wire.request():
            wire.send("HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n")
            wire.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    origin = context.raw_origin(script)
    daemon = context.daemon()
    with Wire.connect(daemon.port) as client:
        client.send(f"GET {origin.url}/ HTTP/1.1\r\n{host_of(origin)}\r\n")
        status, _, _ = client.response()
    expect_equal(status, 200, "status")
    expect_equal([status for status, _ in client.interim], [103], "interim responses")


@case("chunked", "chunked content goes through in both directions, trailers included")
def chunked(context):
    seen = {}

    def script(wire):
        while request := wire.request():
            _, _, fields = request
            seen["content"] = wire.request_content(fields)
            seen["te"] = fields.get("transfer-encoding")
            wire.send(CHUNKED_HEAD + "Trailer: X-Sum\r\nCache-Control: no-store\r\n\r\n")
            for part in ("one ", "two ", "three"):
                wire.send(f"{len(part):x}\r\n{part}\r\n")
            wire.send("0\r\nX-Sum: 13\r\n\r\n")

    origin = context.raw_origin(script)
    daemon = context.daemon()
    with Wire.connect(daemon.port) as client:
        client.send(
            f"POST {origin.url}/x HTTP/1.1\r\n{host_of(origin)}Transfer-Encoding: chunked\r\nTE: trailers\r\n\r\n"
            "3;name=value\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"
        )
        status, fields, content = client.response()
        trailers = client.trailers
    expect_equal((status, content), (200, b"one two three"), "answer")
    expect_equal(seen["content"], b"abcdefg", "content at the origin")
    expect_equal(trailers.get("x-sum"), "13", "trailers")


@case("chunked", "what the origin has sent reaches the client before the origin is done")
def streamed(context):
    def script(wire):
        while wire.request():
            wire.send(CHUNKED_HEAD + "Cache-Control: max-age=60\r\n\r\n5\r\nfirst\r\n")
            # Goes on only when the client has said, over a connection of its own, that it has seen the first part.
            deadline = time.monotonic() + 10
            while not seen and time.monotonic() < deadline:
                time.sleep(0.01)
            wire.send("6\r\nsecond\r\n0\r\n\r\n")

    seen = []
    origin = context.raw_origin(script)
    daemon = context.daemon()
    with Wire.connect(daemon.port) as client:
        started = time.monotonic()
        client.send(f"GET {origin.url}/ HTTP/1.1\r\n{host_of(origin)}\r\n")
        _, fields = client.head()
        parts = client.chunks()
        first = next(parts)
        expect(time.monotonic() - started < 5, "the first part came only with the last")
        seen.append(True)
        content = first + b"".join(parts)
    expect_equal(content, b"firstsecond", "content")


@case("chunked", "a response that breaks off is broken off for the client too, and not kept")
def broken_off(context):
    asked = []

    def script(wire):
        wire.request()
        asked.append(1)
        wire.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\nCache-Control: max-age=60\r\n\r\nonly this")

    origin = context.raw_origin(script)
    daemon = context.daemon()
    for _ in range(2):
        with Wire.connect(daemon.port) as client:
            client.send(f"GET {origin.url}/ HTTP/1.1\r\n{host_of(origin)}\r\n")
            try:
                status, fields, content = client.response()
                expect(status >= 500, f"a truncated response came as a whole {status}: {content!r}")
            except (OSError, WireError):
                pass
    expect(len(asked) >= 2, "the truncated response was kept and served again")


@case("http10", "HTTP/1.0 on either side: content is delimited so that the other side understands it")
def http10(context):
    def script(wire):
        while request := wire.request():
            if request[1] == "/old":
                wire.send("HTTP/1.0 200 OK\r\nCache-Control: max-age=60\r\n\r\nfrom an old origin")
                return
            wire.send(CHUNKED_HEAD + "Cache-Control: no-store\r\n\r\n3\r\nnew\r\n0\r\n\r\n")

    origin = context.raw_origin(script)
    daemon = context.daemon()
    with Wire.connect(daemon.port) as client:
        client.send(f"GET {origin.url}/old HTTP/1.1\r\n{host_of(origin)}\r\n")
        status, fields, content = client.response()
        expect_equal((status, content), (200, b"from an old origin"), "an HTTP/1.0 origin")
        expect("content-length" in fields or "chunked" in fields.get("transfer-encoding", ""),
               "the connection to an HTTP/1.1 client was given up for want of a length")
    with Wire.connect(daemon.port) as client:
        client.send(f"GET {origin.url}/new HTTP/1.0\r\n{host_of(origin)}\r\n")
        line, fields = client.head()
        expect("transfer-encoding" not in fields, "an HTTP/1.0 client was sent chunks")
        expect_equal(client.content(fields), b"new", "an HTTP/1.0 client")
