# SPDX-License-Identifier: Apache-2.0
"""Upgrade: a WebSocket echo through the proxy (RFC 6455 on both ends, bytes in between)."""

import base64
import hashlib
import os
import struct

from harness.case import case, expect_equal
from harness.wire import Wire

MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def accept_value(key):
    return base64.b64encode(hashlib.sha1((key + MAGIC).encode()).digest()).decode()


def frame(payload, masked):
    """A final binary frame."""
    size = len(payload)
    bit = 0x80 if masked else 0
    if size < 126:
        head = struct.pack("!BB", 0x82, bit | size)
    elif size < 1 << 16:
        head = struct.pack("!BBH", 0x82, bit | 126, size)
    else:
        head = struct.pack("!BBQ", 0x82, bit | 127, size)
    if not masked:
        return head + payload
    key = os.urandom(4)
    return head + key + mask(payload, key)


def mask(payload, key):
    whole = int.from_bytes((key * (len(payload) // 4 + 1))[: len(payload)], "big")
    return (int.from_bytes(payload, "big") ^ whole).to_bytes(len(payload), "big") if payload else b""


def read_frame(wire):
    _, size = wire.exactly(2)
    masked, size = size & 0x80, size & 0x7F
    if size == 126:
        (size,) = struct.unpack("!H", wire.exactly(2))
    elif size == 127:
        (size,) = struct.unpack("!Q", wire.exactly(8))
    key = wire.exactly(4) if masked else None
    payload = wire.exactly(size)
    return mask(payload, key) if key else payload


def echo(wire):
    request = wire.request()
    if request is None:
        return
    _, _, fields = request
    if fields.get("upgrade", "").lower() != "websocket" or "upgrade" not in fields.get("connection", "").lower():
        wire.send("HTTP/1.1 426 Upgrade Required\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n")
        wire.send("Content-Length: 0\r\n\r\n")
        return
    # The first frame follows the head at once, as a server that speaks first would have it.
    wire.send(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Accept: {accept_value(fields['sec-websocket-key'])}\r\n\r\n".encode()
        + frame(b"hello", masked=False)
    )
    while True:
        wire.send(frame(read_frame(wire), masked=False))


def converse(wire, target, host):
    key = base64.b64encode(os.urandom(16)).decode()
    wire.send(
        f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
    )
    status, fields, _ = wire.response()
    expect_equal(status, 101, "status")
    expect_equal(fields.get("upgrade", "").lower(), "websocket", "Upgrade")
    expect_equal(fields.get("sec-websocket-accept"), accept_value(key), "Sec-WebSocket-Accept")
    expect_equal(read_frame(wire), b"hello", "what the server said first")
    for payload in (b"", b"x", os.urandom(1000), os.urandom(1 << 20), b"bye"):
        wire.send(frame(payload, masked=True))
        expect_equal(read_frame(wire), payload, f"echo of {len(payload)} octets")


@case("websocket", "a WebSocket echo through the forward proxy")
def forward(context):
    origin = context.raw_origin(echo)
    daemon = context.daemon()
    with Wire.connect(daemon.port) as wire:
        converse(wire, f"{origin.url}/echo", origin.authority)


@case("websocket", "a WebSocket echo through the gateway")
def gateway(context):
    origin = context.raw_origin(echo)
    daemon = context.daemon(f"services:\n  live:\n    baseURL: {origin.url}\n")
    with Wire.connect(daemon.port) as wire:
        converse(wire, "/live/echo", daemon.authority)


@case("websocket", "an origin that refuses to upgrade is heard, and the connection goes on")
def declined(context):
    def script(wire):
        while wire.request():
            wire.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno")

    origin = context.raw_origin(script)
    daemon = context.daemon()
    with Wire.connect(daemon.port) as wire:
        for _ in range(2):
            wire.send(
                f"GET {origin.url}/ HTTP/1.1\r\nHost: {origin.authority}\r\n"
                "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
            )
            status, _, content = wire.response()
            expect_equal((status, content), (200, b"no"), "answer")
