# SPDX-License-Identifier: Apache-2.0
"""A Redis or Valkey of a case's own, with a client for it, and a way to it that can be cut."""

import pathlib
import random
import shutil
import socket
import subprocess
import threading
import time

from harness.case import Skipped
from harness.daemon import free_port


# Of a cluster's nodes, which have ports for one another besides, 10,000 higher and below those that the system chooses.
PORTS = range(21_000, 22_700)


def eventually(what, holds, patience=20):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        found = holds()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"in vain: {what}")


class Refused(Exception):
    """The engine replied with an error."""


class Engine:
    def __init__(self, context, *options, port=None):
        self.program = shutil.which("valkey-server") or shutil.which("redis-server")
        if self.program is None:
            raise Skipped("neither valkey-server nor redis-server is installed: scripts/setup --test does it")
        self.directory = pathlib.Path(context.directory) / f"engine-{port or 'own'}"
        self.directory.mkdir(exist_ok=True)
        self.port = port or free_port()
        self.options = options
        self.process = None
        # It ends with the case.
        context.origins.append(self)
        self.start()

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}"

    def start(self):
        self.process = subprocess.Popen(
            [self.program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", self.directory,
             *self.options],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 20
        while time.monotonic() < end:
            try:
                if self.ask("PING") == b"PONG":
                    return
            except (OSError, Refused):
                time.sleep(0.02)
        raise AssertionError("the engine does not answer")

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def ask(self, *words):
        """The reply to one command."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as connection:
            words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
            connection.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
            with connection.makefile("rb") as replies:
                return self.read(replies)

    def read(self, replies):
        line = replies.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise Refused(rest.decode())
        if kind == b"+":
            return rest
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else replies.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return None if rest == b"-1" else [self.read(replies) for _ in range(int(rest))]
        raise OSError(f"no reply: {line!r}")

    def close(self):
        self.kill()

    def keys(self, pattern):
        return sorted(self.ask("KEYS", pattern))


class Way:
    """A port that leads to an engine until it is cut."""

    def __init__(self, engine):
        self.engine = engine
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.connections = []
        self.is_cut = False
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}"

    def cut(self):
        self.is_cut = True
        for connection in self.connections:
            for function in (lambda c: c.shutdown(socket.SHUT_RDWR), lambda c: c.close()):
                try:
                    function(connection)
                except OSError:
                    pass
        self.connections = []

    def mend(self):
        self.is_cut = False

    def accept(self):
        while True:
            near, _ = self.listener.accept()
            if self.is_cut:
                near.close()
                continue
            far = socket.create_connection(("127.0.0.1", self.engine.port))
            self.connections += [near, far]
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self.copy, args=(source, target), daemon=True).start()

    @staticmethod
    def copy(source, target):
        try:
            while octets := source.recv(65536):
                target.sendall(octets)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.close()
            except OSError:
                pass


class Cluster:
    """Three masters with a replica each, on this machine."""

    def __init__(self, context):
        self.context = context
        self.client = context.command("redis-cli")
        self.nodes = []
        base = random.randrange(PORTS.start, PORTS.stop, 10)
        for number in range(6):
            self.nodes.append(Engine(
                context, "--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--appendonly", "no",
                "--repl-diskless-sync-delay", "0", port=base + number))
        self.run("--cluster", "create", *[f"127.0.0.1:{node.port}" for node in self.nodes],
                 "--cluster-replicas", "1", "--cluster-yes")
        eventually("the cluster is well", lambda: all(self.is_well(node) for node in self.nodes))

    @property
    def url(self):
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes[:4])

    def run(self, *arguments):
        return self.context.run([self.client, *arguments], timeout=60).stdout

    def is_well(self, node):
        return b"cluster_state:ok" in node.ask("CLUSTER", "INFO")

    def masters(self):
        """Those that have slots, with their ids."""
        asked = next(node for node in self.nodes if node.process)
        lines = [line.split() for line in asked.ask("CLUSTER", "NODES").decode().splitlines()]
        ports = {int(line[1].split("@")[0].rsplit(":", 1)[1]): line[0] for line in lines
                 if "master" in line[2] and "fail" not in line[2] and len(line) > 8}
        return [(node, ports[node.port]) for node in self.nodes if node.port in ports]
