# SPDX-License-Identifier: Apache-2.0
"""Operators' requests meanwhile: reload, wipe, look, follow events. All of them are answered, and in time."""

import asyncio

from .sockets import Ended, Wire

# A sanitizer's build takes seconds for what peers may send, and a busy machine several times that.
PATIENCE = 100

ROOM = ["limits: {connections: 4000}\n", "limits: {connections: 5000}\n", ""]


class Disturbance:
    def __init__(self, daemon, ports, random):
        self.daemon = daemon
        self.ports = ports
        self.random = random
        self.configuration = daemon.configuration
        self.counts = {"reloads": 0, "wipes": 0, "looks": 0}

    async def run(self):
        while True:
            await asyncio.sleep(self.random.random() * 0.5)
            await self.random.choice([self._reload, self._wipe, self._look, self._look, self._follow])()

    async def _reload(self):
        # In one step: a reload under way must not see half of it.
        file = self.daemon.file.with_suffix(".new")
        file.write_text(self.daemon.preamble() + self.configuration + self.random.choice(ROOM))
        file.rename(self.daemon.file)
        self.daemon.reload()
        self.counts["reloads"] += 1

    async def _ask(self, start, *lines):
        """The status of an answer of Larder's own, over its Unix socket."""
        reader, writer = await asyncio.open_unix_connection(str(self.daemon.socket))
        try:
            head = "\r\n".join([f"{start} HTTP/1.1", "Host: localhost", "Connection: close", *lines])
            writer.write(f"{head}\r\n\r\n".encode())
            try:
                answer = await asyncio.wait_for(reader.read(), PATIENCE)
            except TimeoutError:
                raise AssertionError(f"{start} was not answered in {PATIENCE} s") from None
            status = int(answer.split(b" ", 2)[1])
            if status != 200:
                raise AssertionError(f"{start} was answered {status}: {answer[-300:]!r}")
        finally:
            writer.close()

    async def _wipe(self):
        pattern = self.random.choice(["**", f"http://127.0.0.1:{self.ports['good']}/**"])
        await self._ask(f"POST /-/wipe?match={pattern}", "Content-Length: 0")
        self.counts["wipes"] += 1

    async def _look(self):
        await self._ask("GET " + self.random.choice(["/-/status", "/-/health", "/-/metrics", "/-/resources"]))
        self.counts["looks"] += 1

    async def _follow(self):
        """Follows the events for a moment and leaves without a word."""
        try:
            wire = await Wire.to(self.daemon.port)
        except Ended:
            return
        try:
            await wire.send(f"GET /-/events HTTP/1.1\r\nHost: localhost:{self.daemon.port}\r\n\r\n".encode())
            await wire.receive()
            await asyncio.sleep(self.random.random() * 0.2)
            if self.random.random() < 0.5:
                wire.reset()
        except Ended:
            pass
        finally:
            # The run's end may come at any moment of this, and nobody else would close it.
            wire.close()
