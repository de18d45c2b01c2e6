# SPDX-License-Identifier: Apache-2.0
"""Large content passes in bounded memory, in both directions and both framings."""

import hashlib
import threading
import time

from harness.case import case, expect, expect_equal, is_hit
from harness.wire import Wire

MEBIBYTE = 1 << 20
ALLOWED_GROWTH = 64 * MEBIBYTE


def size(context):
    return (2048 if context.full else 256) * MEBIBYTE


def blocks(total):
    """Content of which no two parts are the same, in blocks of a mebibyte."""
    filler = hashlib.sha512(b"filler").digest() * (MEBIBYTE // 64)
    for number in range(total // MEBIBYTE):
        stamp = number.to_bytes(64, "big")
        yield stamp + filler[64:]


def digest_of(total):
    digest = hashlib.sha256()
    for block in blocks(total):
        digest.update(block)
    return digest.hexdigest()


class Watch:
    """The highest resident memory of the daemon while a case runs, over what it was at the start."""

    def __init__(self, daemon):
        daemon.get("/-/status")
        self.daemon = daemon
        self.before = self.highest = daemon.resident_bytes()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)

    def look(self):
        while not self.ended.wait(0.02):
            self.highest = max(self.highest, self.daemon.resident_bytes())

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()

    @property
    def growth(self):
        return self.highest - self.before

    def check(self):
        grown = self.growth / MEBIBYTE
        expect(self.growth < ALLOWED_GROWTH, f"resident memory grew by {grown:.0f} MiB, of at most 64")
        return f"resident memory grew by {grown:.0f} MiB"


def sender(total, asked):
    """An origin's script: the content, framed and cacheable as the path asks for."""

    def script(wire):
        while request := wire.request():
            path = request[1]
            asked.append(path)
            chunked = path.startswith("/chunked")
            lifetime = "max-age=600" if path.endswith("stored") else "no-store"
            framing = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {total}"
            wire.send(f"HTTP/1.1 200 OK\r\n{framing}\r\nCache-Control: {lifetime}\r\n\r\n")
            for block in blocks(total):
                wire.send(b"%x\r\n%b\r\n" % (len(block), block) if chunked else block)
            if chunked:
                wire.send("0\r\n\r\n")

    return script


def fetch(daemon, origin, path, pause=0):
    """Gets the content and throws it away, with a pause after each chunk; returns (fields, digest)."""
    digest = hashlib.sha256()
    with Wire.connect(daemon.port, timeout=120) as client:
        client.send(f"GET {origin.url}{path} HTTP/1.1\r\nHost: {origin.authority}\r\n\r\n")
        line, fields = client.head()
        expect_equal(line.split()[1], "200", "status")
        if "chunked" in fields.get("transfer-encoding", ""):
            for chunk in client.chunks():
                digest.update(chunk)
                time.sleep(pause)
        else:
            rest = int(fields["content-length"])
            while rest:
                if not client.buffer:
                    expect(client.fill(), f"the content ended {rest} octets early")
                part = client.buffer[:rest]
                del client.buffer[: len(part)]
                digest.update(part)
                rest -= len(part)
    return fields, digest.hexdigest()


def passes(context, framing):
    total = size(context)
    asked = []
    origin = context.raw_origin(sender(total, asked))
    daemon = context.daemon()
    expected = digest_of(total)
    with Watch(daemon) as watch:
        for kind in ("passed", "stored"):
            _, digest = fetch(daemon, origin, f"/{framing}-{kind}")
            expect_equal(digest, expected, f"digest of the content ({kind})")
        # Content small enough to be stored comes back from the disk in as little memory.
        fields, digest = fetch(daemon, origin, f"/{framing}-stored")
        expect_equal(digest, expected, "digest of the content, second time")
    if total <= 1024 * MEBIBYTE:
        expect(is_hit(fields), f"the second time was no hit: {fields.get('cache-status')}")
        expect_equal(len(asked), 2, "requests at the origin")
    return watch.check()


@case("large", "a large body with a length: passed, stored, and sent again from the disk in bounded memory")
def with_length(context):
    return passes(context, "length")


@case("large", "a large body in chunks: passed, stored, and sent again from the disk in bounded memory")
def in_chunks(context):
    return passes(context, "chunked")


@case("large", "content that turns out too large to be stored still reaches a slow client whole")
def too_large_to_store(context):
    total = 96 * MEBIBYTE
    asked = []
    origin = context.raw_origin(sender(total, asked))
    daemon = context.daemon(sets={"cache.maxObject": "32 MiB"})
    expected = digest_of(total)
    with Watch(daemon) as watch:
        for _ in range(3):
            _, digest = fetch(daemon, origin, "/chunked-stored", pause=0.01)
            expect_equal(digest, expected, "digest of the content")
    expect_equal(len(asked), 3, "requests at the origin")
    return watch.check()


@case("large", "a large request body reaches the origin in bounded memory, in both framings")
def upload(context):
    total = size(context)
    digests = []

    def script(wire):
        while request := wire.request():
            digest = hashlib.sha256()
            fields = request[2]
            if "content-length" in fields:
                rest = int(fields["content-length"])
                while rest:
                    if not wire.buffer and not wire.fill():
                        return
                    part = wire.buffer[:rest]
                    del wire.buffer[: len(part)]
                    digest.update(part)
                    rest -= len(part)
            else:
                for chunk in wire.chunks():
                    digest.update(chunk)
            digests.append(digest.hexdigest())
            wire.send("HTTP/1.1 204 No Content\r\n\r\n")

    origin = context.raw_origin(script)
    daemon = context.daemon()
    with Watch(daemon) as watch:
        for framing in (f"Content-Length: {total}", "Transfer-Encoding: chunked"):
            with Wire.connect(daemon.port, timeout=120) as client:
                client.send(f"PUT {origin.url}/ HTTP/1.1\r\nHost: {origin.authority}\r\n{framing}\r\n\r\n")
                chunked = framing.startswith("Transfer")
                for block in blocks(total):
                    client.send(b"%x\r\n%b\r\n" % (len(block), block) if chunked else block)
                if chunked:
                    client.send("0\r\n\r\n")
                expect_equal(client.response()[0], 204, "status")
    expect_equal(digests, [digest_of(total)] * 2, "digests at the origin")
    return watch.check()


@case("large", "a client that stops reading stops the origin, and costs no memory")
def backpressure(context):
    total = 512 * MEBIBYTE
    sent = [0]

    def script(wire):
        wire.request()
        wire.send(f"HTTP/1.1 200 OK\r\nContent-Length: {total}\r\nCache-Control: no-store\r\n\r\n")
        for block in blocks(total):
            wire.send(block)
            sent[0] += len(block)

    origin = context.raw_origin(script)
    daemon = context.daemon()
    with Watch(daemon) as watch, Wire.connect(daemon.port) as client:
        client.send(f"GET {origin.url}/ HTTP/1.1\r\nHost: {origin.authority}\r\n\r\n")
        client.head()
        # Waits until nothing has moved for a while.
        last, since = -1, time.monotonic()
        while time.monotonic() - since < 0.7:
            if sent[0] != last:
                last, since = sent[0], time.monotonic()
            time.sleep(0.02)
    expect(sent[0] < total // 4, f"the origin could send {sent[0] // MEBIBYTE} MiB that nobody read")
    return watch.check()
