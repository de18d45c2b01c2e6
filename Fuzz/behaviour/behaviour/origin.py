# SPDX-License-Identifier: Apache-2.0
"""An origin that does with each request what its path says."""

import asyncio
import socket

from .names import Name
from .sockets import Ended, Slow, Wire, value

HINT = b"HTTP/1.1 103 Early Hints\r\nLink: <%s>; rel=preload\r\n\r\n"
POISON = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nCache-Control: max-age=60\r\nX-Poison: yes\r\n\r\nPOISON"


class Origin:
    """Listens on a port of its own. Octets that clients sent and that are not theirs are in `violations`."""

    def __init__(self):
        self.violations = []
        self.requests = 0
        self.uploads = 0
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(1024)
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]
        self.tasks = set()

    async def serve(self):
        while True:
            connection, _ = await asyncio.get_running_loop().sock_accept(self.listener)
            task = asyncio.create_task(self._serve(Wire(connection)))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def _serve(self, wire):
        wire.patience = 120
        try:
            while await self._answer(wire):
                pass
        except (Ended, Slow, ConnectionError):
            pass
        except ValueError as error:
            self.violations.append(f"the origin was sent what is not HTTP: {error}")
        finally:
            wire.close()

    async def _answer(self, wire):
        """One request. False when the connection does not go on."""
        start, fields = await wire.take_head()
        self.requests += 1
        method, target, version = start.split(" ")
        name = Name.of(target)
        if name is None or version != "HTTP/1.1":
            await wire.send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return True
        begin = getattr(self, "_before_" + name.mode.replace("-", "_"), None)
        if begin and (goes_on := await begin(wire, name, method, fields)) is not None:
            return goes_on
        if value(fields, "expect") and name.mode != "silent":
            await wire.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        await self._take_content(wire, name, fields)
        answer = getattr(self, "_answer_" + name.mode.replace("-", "_"), self._answer_plain)
        return await answer(wire, name, method, fields)

    # MARK: Requests

    async def _take_content(self, wire, name, fields, limit=None):
        """Reads the content, or up to `limit` octets of it, and looks whether it is what belongs there."""
        received = bytearray()
        if value(fields, "transfer-encoding"):
            await wire.take_chunked(received.extend)
        elif length := value(fields, "content-length"):
            wanted = int(length) if limit is None else min(limit, int(length))
            while len(received) < wanted:
                if not wire.input:
                    await wire.receive()
                taken = min(len(wire.input), wanted - len(received))
                received += wire.input[:taken]
                del wire.input[:taken]
        if received:
            self.uploads += 1
        if received != name.upload(len(received)):
            self.violations.append(f"content sent to {name.path} is not what its client sent")

    # MARK: Answers

    def head(self, name, method, fields, status="200 OK", extra=()):
        lines = [f"HTTP/1.1 {status}", f"X-Name: {name.path}", *extra]
        user = value(fields, "authorization") or "nobody"
        if name.keep == "keep":
            lines += ["Cache-Control: max-age=2", f'ETag: "{name.number}"']
        elif name.keep == "mine":
            lines += ["Cache-Control: private, max-age=2", f"X-User: {user}"]
        else:
            lines += ["Cache-Control: no-store"]
        if name.framing == "length":
            lines.append(f"Content-Length: {name.size}")
        elif name.framing == "chunked":
            lines.append("Transfer-Encoding: chunked")
        else:
            lines.append("Connection: close")
        return ("\r\n".join(lines) + "\r\n\r\n").encode(), name.content(user)

    def octets(self, name, method, fields, status="200 OK", extra=()):
        """A whole response."""
        head, content = self.head(name, method, fields, status, extra)
        if method == "HEAD":
            return head
        if name.framing != "chunked":
            return head + content
        step = max(1, name.size // 2000, name.amount % 4096)
        chunks = [content[start:start + step] for start in range(0, len(content), step)]
        return head + b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"

    async def _answer_plain(self, wire, name, method, fields, status="200 OK"):
        await wire.send(self.octets(name, method, fields, status))
        return name.framing != "close"

    async def _answer_pieces(self, wire, name, method, fields):
        octets = self.octets(name, method, fields)
        await wire.send_pieces(octets, max(1, len(octets) // 20), 0.001)
        return name.framing != "close"

    async def _answer_cut(self, wire, name, method, fields):
        octets = self.octets(name, method, fields)
        await wire.send(octets[:name.amount % max(1, len(octets))])
        return False

    async def _answer_torn(self, wire, name, method, fields):
        octets = self.octets(name, method, fields)
        await wire.send(octets[:name.amount % max(1, len(octets))])
        wire.reset()
        return False

    async def _answer_halfclosed(self, wire, name, method, fields):
        await wire.send(self.octets(name, method, fields))
        wire.end_sending()
        await asyncio.sleep(0.05)
        return False

    async def _answer_extra(self, wire, name, method, fields):
        await wire.send(self.octets(name, method, fields) + POISON)
        return name.framing != "close"

    async def _answer_late(self, wire, name, method, fields):
        await wire.send(self.octets(name, method, fields))
        await asyncio.sleep(name.amount % 20 / 1000)
        await wire.send(POISON)
        return name.framing != "close"

    async def _answer_silent(self, wire, name, method, fields):
        await asyncio.sleep(name.amount % 300 / 1000)
        return await self._answer_plain(wire, name, method, fields)

    async def _answer_none(self, wire, name, method, fields):
        return False

    async def _answer_garbage(self, wire, name, method, fields):
        await wire.send(name.content("")[:name.amount % 200 + 1] + b"\r\n\r\n")
        return False

    async def _answer_refused(self, wire, name, method, fields):
        return await self._answer_plain(wire, name, method, fields, "503 Service Unavailable")

    # MARK: In the middle of requests

    async def _before_hints(self, wire, name, method, fields):
        for _ in range(name.amount % 30):
            await wire.send(HINT % (b"x" * (name.size % 60_000)))

    async def _before_early(self, wire, name, method, fields):
        """Answers before the content has come, and then takes it, or not."""
        await self._take_content(wire, name, fields, limit=name.amount)
        await wire.send(self.octets(name, method, fields, "413 Content Too Large"))
        match name.number % 4:
            case 0:
                wire.end_sending()
                await asyncio.sleep(0.02)
            case 1:
                wire.reset()
            case 2:
                # Takes what still comes, for a while: a request that follows goes without an answer.
                wire.patience = 0.3
                while len(wire.input) < 1 << 22:
                    await wire.receive()
        return False

    async def _before_tears(self, wire, name, method, fields):
        """Breaks the connection while the content comes."""
        await self._take_content(wire, name, fields, limit=name.amount)
        if name.number % 2:
            wire.reset()
        return False

    async def _before_switch(self, wire, name, method, fields):
        """Switches protocols when asked to, at once or after the content, and then echoes."""
        if not value(fields, "upgrade"):
            return None
        if name.number % 3:
            await self._take_content(wire, name, fields)
        await wire.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nhello")
        while True:
            if not wire.input:
                await wire.receive()
            octets = bytes(wire.input)
            wire.input.clear()
            await wire.send(octets)
