# SPDX-License-Identifier: Apache-2.0
"""A client that does what a seed says, and looks at every octet that it gets."""

import asyncio
import time

from .names import Name
from .sockets import Ended, Slow, Wire, value


class Wrong(Exception):
    """The daemon did what it must never do."""


MODES = {
    # Of origins that behave, and of those that do not; the number says how often.
    "good": [("plain", 6), ("pieces", 3), ("silent", 1), ("switch", 1)],
    "bad": [
        ("plain", 4), ("pieces", 2), ("cut", 2), ("torn", 2), ("halfclosed", 1), ("extra", 2), ("silent", 1),
        ("none", 1), ("garbage", 1), ("refused", 1), ("hints", 3), ("early", 5), ("tears", 5), ("switch", 3),
    ],
    "late": [("late", 1), ("plain", 2)],
}
SIZES = [0, 1, 100, 2_000, 30_000, 70_000, 300_000, 2_000_000]


def chosen(random, weighted):
    return random.choices([item for item, _ in weighted], [weight for _, weight in weighted])[0]


class Client:
    """One connection and the requests on it."""

    def __init__(self, number, random, daemon_port, origins, uploads_only=False):
        self.number = number
        self.random = random
        self.daemon_port = daemon_port
        self.origins = origins
        self.user = f"user-{number % 7}"
        self.uploads_only = uploads_only
        self.steps = []
        self.began = time.monotonic()
        self.answers = 0
        self.uploads = 0
        self.poisoned = 0
        self.late = 0
        # Whether this client and its origins keep to the rules, so that every answer has to come, whole.
        self.isGood = random.random() < 0.3 and not uploads_only
        self.wire = None

    def log(self, text):
        self.steps.append(f"{time.monotonic() - self.began:7.3f} s  {text}")

    async def run(self):
        try:
            await self._run()
        finally:
            if self.wire:
                self.wire.close()

    async def _run(self):
        random = self.random
        self.kind = "good" if self.isGood else random.choices(["good", "bad", "late"], [1, 6, 1])[0]
        if self.uploads_only:
            self.kind = "bad"
        self.wire = await Wire.to(self.daemon_port, small_window=not self.isGood and random.random() < 0.2)
        self.log(f"connects, {self.kind}, keeping to the rules: {self.isGood}")
        for _ in range(random.randint(1, 8)):
            try:
                if not await self._request():
                    return
            except (Ended, Slow) as reason:
                self.log(f"ended: {reason}")
                if self.isGood or isinstance(reason, Slow):
                    raise Wrong(f"no whole answer came: {reason!r}") from reason
                return
            except ValueError as error:
                raise Wrong(f"what came is not HTTP: {error}") from error

    # MARK: Requests

    def _name(self):
        random = self.random
        mode = chosen(random, MODES[self.kind])
        if self.uploads_only:
            mode = chosen(random, [("plain", 2), ("early", 6), ("tears", 6), ("hints", 1), ("switch", 1), ("none", 1)])
        size = random.choice(SIZES if not self.uploads_only else SIZES[:5])
        if mode in ("hints", "pieces"):
            size = min(size, 70_000)
        # Where the end of the connection ends the content, nothing can follow it.
        framings = ["length", "chunked"] if mode in ("extra", "late") else ["length", "length", "chunked", "close"]
        return Name(
            mode, random.choice(framings), random.choice(["keep", "mine", "no"]),
            size, random.randint(0, 50_000), random.randint(0, 40 if self.kind != "late" else 3))

    async def _request(self):
        """One request, or several at once. False when the connection does not go on."""
        random = self.random
        if not self.isGood and not self.uploads_only and random.random() < 0.03:
            self.log("sends garbage")
            await self.wire.send(bytes(random.randrange(256) for _ in range(random.randint(1, 300))) + b"\r\n\r\n")
            await self._answer(None, "GET")
            return False
        name = self._name()
        if not self.isGood and not self.uploads_only and random.random() < 0.02:
            head = self._head(name, "GET")
            self.log("sends a part of that")
            await self.wire.send(head[:random.randint(1, len(head) - 1)])
            await self._answer(None, "GET")
            return False
        draw = random.random()
        if self.uploads_only or draw < 0.35:
            return await self._upload(name)
        if name.mode == "switch":
            return await self._switch(name)
        if draw < 0.5:
            return await self._pipeline(name)
        method = random.choice(["GET"] * 6 + ["HEAD", "DELETE"])
        await self._send_head(self._head(name, method))
        return await self._finish(name, method)

    def _head(self, name, method, *extra):
        random = self.random
        origin = self.origins[self.kind]
        authority = f"127.0.0.1:{origin}"
        if random.random() < 0.3:
            target, host = f"/{self.kind}{name.path}", f"127.0.0.1:{self.daemon_port}"
        else:
            target, host = f"http://{authority}{name.path}", authority
        lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", *extra]
        if name.keep == "mine" or random.random() < 0.2:
            lines.append(f"Authorization: {self.user}")
        if random.random() < 0.1:
            lines.append("Cache-Control: no-cache")
        self.log(" | ".join(lines))
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    async def _send_head(self, head):
        if self.random.random() < 0.15:
            # Not so many that a busy machine takes longer for them than the daemon waits for a head.
            size = max(self.random.randint(1, 100), len(head) // 50)
            await self.wire.send_pieces(head, size, 0.0005)
        else:
            await self.wire.send(head)

    async def _finish(self, name, method, sending=None):
        """The action of a client once it has asked."""
        random = self.random
        if not self.isGood:
            draw = random.random()
            if draw < 0.06:
                await asyncio.sleep(random.random() * 0.02)
                self.log("resets")
                self.wire.reset()
                return False
            if draw < 0.12:
                self.log("ends its side")
                if sending:
                    sending.cancel()
                self.wire.end_sending()
            elif draw < 0.22:
                self.log("reads nothing for a while")
                await asyncio.sleep(random.random() * 0.3)
            elif draw < 0.25:
                self.log("leaves in the middle of the answer")
                await self.wire.receive(random.randint(1, 5000))
                return False
        return await self._answer(name, method)

    async def _pipeline(self, name):
        names = [name] + [self._name() for _ in range(self.random.randint(1, 5))]
        names = [name for name in names if name.mode != "switch" and (not self.isGood or name.framing != "close")]
        if not names:
            return True
        await self._send_head(b"".join(self._head(name, "GET") for name in names))
        for name in names:
            if not await self._finish(name, "GET"):
                return False
        return True

    async def _upload(self, name):
        """Sends content in some shape, and may have it cut off by an answer."""
        random = self.random
        if self.isGood and name.mode == "switch":
            # It may switch before the content has come, which is a mistake.
            return True
        self.uploads += 1
        size = random.choice(SIZES[:6] if random.random() < 0.9 else SIZES)
        content = name.upload(size)
        fields = []
        is_chunked = random.random() < 0.4
        if is_chunked:
            step = random.choice([1 << 20, 5000, 700])
            parts = [content[start:start + step] for start in range(0, len(content), step)]
            content = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
            fields.append("Transfer-Encoding: chunked")
        else:
            fields.append(f"Content-Length: {size}")
        if random.random() < 0.25:
            fields.append("Expect: 100-continue")
        if name.mode == "switch":
            fields += ["Connection: Upgrade", "Upgrade: websocket"]
        await self._send_head(self._head(name, random.choice(["POST", "PUT"]), *fields))
        sending = asyncio.create_task(self._send_content(content, "Expect: 100-continue" in fields))
        try:
            return await self._finish(name, "POST", sending)
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    async def _send_content(self, content, waits):
        random = self.random
        if waits:
            await asyncio.sleep(random.random() * 0.03)
        if not self.isGood:
            draw = random.random()
            if draw < 0.25:
                # Stops in the middle, for good or for a while.
                stop = random.randint(0, len(content))
                await self.wire.send(content[:stop])
                self.log(f"stops sending after {stop} octets")
                if draw < 0.1:
                    return
                await asyncio.sleep(random.random() * 0.2)
                content = content[stop:]
        draw = random.random()
        if draw < 0.6:
            size = max(1, len(content) // random.randint(2, 60))
            self.log(f"sends {len(content)} octets, {size} at a time")
            await self.wire.send_pieces(content, size, random.choice([0, 0, 0.0003, 0.001]))
        else:
            self.log(f"sends {len(content)} octets")
            await self.wire.send(content)
        self.log("has sent everything")

    async def _switch(self, name):
        await self._send_head(self._head(name, "GET", "Connection: Upgrade", "Upgrade: websocket"))
        return await self._finish(name, "GET")

    # MARK: Answers

    async def _answer(self, name, method):
        """Reads one answer and looks whether it is the right one. False when the connection does not go on."""
        while True:
            start, fields = await self.wire.take_head()
            version, status, *_ = start.split(" ")
            if version != "HTTP/1.1":
                raise Wrong(f"an answer that begins with {start[:80]!r}")
            status = int(status)
            if status == 101:
                return await self._tunnel(name)
            if status >= 200:
                break
            if status not in (100, 103):
                raise Wrong(f"an interim response {status} that nobody sent")
            if status == 103 and not (value(fields, "link") or "").endswith("; rel=preload"):
                raise Wrong("a hint that is not whole")
        if value(fields, "x-poison"):
            return self._poison()
        origin_name = value(fields, "x-name")
        if name is None and origin_name:
            raise Wrong(f"the answer to nothing is one to {origin_name}")
        if name and origin_name and origin_name != name.path:
            if self.kind == "late":
                return self._poison()
            raise Wrong(f"the answer to {name.path} is one to {origin_name}")
        self.log(f"gets {status}{'' if origin_name else ' of the daemon'}")
        user = value(fields, "x-user")
        if user not in (None, self.user, "nobody"):
            raise Wrong(f"the answer for {user} came to {self.user}")
        if self.isGood and (status != 200 or not origin_name):
            raise Wrong(f"{status} where nothing was wrong: {dict(fields)}")
        expected = name.content(user or "nobody") if name and origin_name else None
        is_whole = await self._content(status, fields, method, expected)
        self.answers += 1
        self.late += name is not None and name.mode == "late"
        return is_whole and value(fields, "connection") != "close"

    def _poison(self):
        """An origin's late second response was taken for an answer, which only such origins are to suffer from."""
        if self.kind != "late":
            raise Wrong("a response that answers nothing was taken for an answer")
        self.poisoned += 1
        return False

    async def _content(self, status, fields, method, expected):
        """Reads the content; False when the end of the connection is its end."""
        if method == "HEAD" or status in (204, 304):
            return True
        got = bytearray()

        def take(octets):
            got.extend(octets)
            if expected is not None and not expected.startswith(got):
                raise Wrong(f"content of another: {bytes(got[-200:])!r}")

        if value(fields, "transfer-encoding"):
            await self.wire.take_chunked(take)
        elif length := value(fields, "content-length"):
            left = int(length)
            while left:
                if not self.wire.input:
                    await self.wire.receive()
                step = min(left, len(self.wire.input))
                take(await self.wire.take(step))
                left -= step
        else:
            raise Wrong("an answer to HTTP/1.1 that ends with its connection")
        if expected is not None and len(got) < len(expected) and self.isGood:
            raise Wrong(f"{len(got)} octets passed off as {len(expected)}")
        return True

    async def _tunnel(self, name):
        if name is None or name.mode != "switch":
            raise Wrong("101 where nobody switches")
        self.log("switched")
        if name.number % 3 == 0 and self.uploads:
            # The origin did not wait for content, which it may take for the other protocol.
            return False
        if await self.wire.take(5) != b"hello":
            raise Wrong("the other protocol does not begin as it should")
        message = name.content("tunnel")[:1000] or b"ping"
        for _ in range(self.random.randint(0, 3)):
            await self.wire.send(message)
            if await self.wire.take(len(message)) != message:
                raise Wrong("the echo is another")
        self.answers += 1
        return False
