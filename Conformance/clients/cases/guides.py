# SPDX-License-Identifier: Apache-2.0
"""What the guides and the first five minutes show, done as it stands there: each block of a console, with its output.

`…` in an output is anything within a line, and on a line of its own any lines. A YAML block is written to the file
that its first line names. The hosts of the pages are origins on this machine.
"""

import json
import os
import pathlib
import re
import stat
import subprocess

from harness.case import Failed, case, expect
from harness.daemon import Daemon
from harness.origin import Answer, fresh

ROOT = pathlib.Path(__file__).resolve().parents[3]
FENCE = re.compile(r"^```(yaml|console)\n(.*?)^```$", re.M | re.S)
HOST = "api.example.com"
PRODUCTS = {"1": {"id": 1, "name": "flour", "price": 3}, "2": {"id": 2, "name": "sugar", "price": 4}}


class OwnDaemon(Daemon):
    """One whose configuration is what the page says, whole."""

    def preamble(self):
        return ""


def asked(origin, path):
    credentials = origin.asking.get("authorization", "")
    if path.startswith("/v1/products/") and path[-1] in PRODUCTS:
        return fresh(json.dumps(PRODUCTS[path[-1]]) + "\n", "application/json")
    if path == "/v1/now":
        return Answer(b"noon\n", 200, {"Cache-Control": "no-store", "Content-Type": "text/plain"})
    if path.startswith("/packages/") and "-" in path:
        return fresh(path.split("/")[-1].split("-")[0] + "\n", "text/plain")
    if path == "/users/octocat":
        person = {"login": "octocat", "authorized": credentials == "Bearer of-mine"}
        return Answer((json.dumps(person) + "\n").encode(), 200,
                      {"Cache-Control": "private, max-age=60", "Content-Type": "application/json"})
    if path == "/search":
        return fresh("[]\n", "application/json")
    if path == "/me":
        return Answer((json.dumps({"user": credentials.split(" ")[-1]}) + "\n").encode(), 200,
                      {"Cache-Control": "private, max-age=60", "Content-Type": "application/json"})
    return Answer(b"", 404, {"Cache-Control": "no-store"})


class Page:
    def __init__(self, context, path):
        self.context, self.path = context, path
        # Not where proxies are not used.
        self.origin = context.origin({}, address="127.0.0.2")
        self.origin.routes[None] = lambda path: asked(self.origin, path)
        self.daemon = None
        programs = context.directory / "bin"
        programs.mkdir()
        script = programs / "larder"
        script.write_text(f'#!/bin/sh\nexec "{context.program}" "$@"\n')
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        self.variables = {}
        self.environment = {**context.environment(), "PATH": f"{programs}:{os.environ['PATH']}", "NO_COLOR": "1"}

    def here(self, text):
        """What the page says, with the ports of now."""
        text = text.replace(f"/https/{HOST}", f"/http/{self.origin.authority}")
        text = text.replace(f"https://{HOST}", f"http://{self.origin.authority}")
        return text.replace("localhost:3128", f"localhost:{self.daemon.port}") if self.daemon else text

    def run(self):
        for kind, block in FENCE.findall(self.path.read_text(encoding="utf-8")):
            if kind == "yaml":
                name = re.match(r"# (\S+)\n", block)
                if name:
                    (self.context.directory / name[1]).write_text(self.here(block))
                continue
            for command, expected in steps(block):
                self.do(command, expected)

    def do(self, command, expected):
        if command.startswith("larder serve"):
            return self.start(command)
        if variable := re.fullmatch(r"export (\w+)=(\S+)", command):
            self.environment[variable[1]] = variable[2]
            return None
        done = subprocess.run(["bash", "-c", self.here(command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=60, env=self.environment, cwd=self.context.directory, stdin=subprocess.DEVNULL,
                              check=False)
        said = done.stdout.decode().replace("\r\n", "\n").strip("\n")
        # The daemon was started with the whole name of the file.
        said = said.replace(f"{self.context.directory}/", "")
        if expected and not re.fullmatch(pattern(self.here(expected)), said, re.S):
            raise Failed(f"{self.path.name}: $ {command}\nexpected:\n{self.here(expected)}\ngot:\n{said}")
        return None

    def start(self, command):
        context = self.context
        self.daemon = OwnDaemon(context.program, context.directory, "", {
            "listen": '["127.0.0.1:{port}"]', "admin.socket": context.directory / "larder-state" / "larder.sock",
            "cache.path": context.directory / "larder-state" / "cache"}, "larder", environment={
                name: self.environment[name] for name in self.environment if name.startswith("API_")})
        context.daemons.append(self.daemon)
        self.environment["XDG_RUNTIME_DIR"] = str(context.directory / "larder-state")
        named = context.directory / "larder.yaml"
        if not named.exists():
            named.write_text("")
        self.daemon.file = named
        self.daemon.start()


def steps(block):
    """Commands, each with the lines that follow it."""
    command, lines = None, []
    for line in block.splitlines():
        if line.startswith("$ "):
            if command:
                yield command, "\n".join(lines).strip("\n")
            command, lines = line[2:], []
        else:
            lines.append(line)
    if command:
        yield command, "\n".join(lines).strip("\n")


def pattern(expected):
    """Blanks may be more or fewer: how wide a column is depends on what is in it."""
    parts = []
    for line in expected.split("\n"):
        if line == "…":
            parts.append(r"(?:[^\n]*\n)*?[^\n]*")
            continue
        text = re.escape(line).replace("…", r"[^\n]*?")
        parts.append(re.sub(r"(\\ )+", lambda found: r" +" if len(found[0]) > 2 else r" +", text) + r"[ ]*")
    return "\n".join(parts)


def pages():
    yield ROOT / "docs" / "first-five-minutes.md"
    yield from sorted(path for path in (ROOT / "docs" / "guides").glob("*.md") if path.name != "README.md")


def declare(path):
    @case("guides", f"{path.relative_to(ROOT)}: every command does what the page says")
    def page(context):
        before = Page(context, path)
        before.run()
        expect(before.daemon is not None, "the page starts no daemon")


for _path in pages():
    declare(_path)
