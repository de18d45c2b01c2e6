# SPDX-License-Identifier: Apache-2.0
"""The guides and the first five minutes, done as they stand there: each block of a console, with its output.

`…` in an output is anything within a line, and on a line of its own any lines. A YAML or INI block is written to the
file that its first line names. The host of the pages is an origin on this machine, over TLS, to which a parent proxy
leads; the hosts of presets are another, without.
"""

import base64
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import stat
import subprocess
import sys

from cases import packages, presets
from cases.tls import Authority
from harness.case import Failed, Skipped, case, expect
from harness.daemon import Daemon
from harness.origin import Answer, fresh
from harness.tunnels import Tunnels

ROOT = pathlib.Path(__file__).resolve().parents[3]
FENCE = re.compile(r"^```(yaml|ini|console)\n(.*?)^```$", re.M | re.S)
HOST = "api.example.com"
# The base URLs of presets' services, in whose place the daemon is told the origin's.
BASES = {
    "pypi": {"pypi": "https://pypi.org/", "pypi-files": "https://files.pythonhosted.org/"},
    "npm": {"npm": "https://registry.npmjs.org/"},
    "apt": {"apt": "http://deb.debian.org/debian/", "apt-security": "http://deb.debian.org/debian-security/"},
    "github": {"github": "https://api.github.com/"},
    "openai": {"openai": "https://api.openai.com/"},
}
PRODUCTS = {"1": {"id": 1, "name": "flour", "price": 3}, "2": {"id": 2, "name": "sugar", "price": 4}}


class PageDaemon(Daemon):
    """One that a page starts, by the page's own words; a port of now is added, since all tests run at once."""

    def start_as(self, command, sets, environment, directory):
        self.environment = environment
        words = shlex.split(command.removesuffix("&"))
        listen = f'--set=listen=["127.0.0.1:{self.port}"]'
        self.launch([self.program, *words[1:], listen, *sets], environment, directory)


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
    for prefix, answer in REGISTRIES.items():
        if path.startswith(prefix):
            return answer(origin, path[len(prefix):], credentials)
    return Answer(b"", 404, {"Cache-Control": "no-store"})


def pypi(origin, path, _):
    name, content = packages.wheel("flour")
    page = presets.index_of(name, content, f"{origin.url}/pypi-files/packages/ab/{name}", "html")
    return {"simple/flour/": page}.get(path, Answer(b"", 404))


def npm(origin, path, _):
    tarball = presets.packed({"package/package.json": b'{"name":"left-pad","version":"1.3.0"}'})
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(tarball).digest()).decode()
    version = {"name": "left-pad", "version": "1.3.0", "dist": {
        "tarball": f"{origin.url}/npm/left-pad/-/left-pad-1.3.0.tgz", "integrity": integrity}}
    document = {"name": "left-pad", "dist-tags": {"latest": "1.3.0"}, "versions": {"1.3.0": version}}
    return {"left-pad": presets.found(json.dumps(document), "application/json", ETag='"document"'),
            "left-pad/-/left-pad-1.3.0.tgz": presets.found(tarball)}.get(path, Answer(b"", 404))


def apt(_, path, __):
    if path.endswith("InRelease"):
        return presets.found("Suite: bookworm\n", "text/plain", ETag='"release"')
    return presets.found("flour 1.0\n", "application/vnd.debian.binary-package")


def github(origin, path, credentials):
    person = {"login": path.split("/")[-1], "authorized": credentials == "Bearer of-mine"}
    left = 5000 - sum(asked.path.startswith("/github/") and asked.status == 200 for asked in origin.asked) - 1
    return Answer((json.dumps(person) + "\n").encode(), 200, {
        "Cache-Control": "private, max-age=60", "Content-Type": "application/json", "ETag": '"octocat"',
        "X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": str(left), "X-RateLimit-Reset": "4102444800"})


def openai(*_):
    reply = {"model": "gpt-4o-mini", "choices": [{"message": {"role": "assistant", "content": "42"}}],
             "usage": {"prompt_tokens": 12000, "completion_tokens": 3000}}
    return Answer((json.dumps(reply) + "\n").encode(), 200, {"Content-Type": "application/json"})


REGISTRIES = {"/pypi/": pypi, "/npm/": npm, "/apt/": apt, "/github/": github, "/openai/": openai,
              "/pypi-files/": lambda *_: presets.found(packages.wheel("flour")[1], ETag='"wheel"')}


class Page:
    def __init__(self, context, path):
        self.context, self.path = context, path
        authority = Authority(context, "origins")
        self.origin = context.origin({}, tls=authority.server(f"DNS:{HOST}"))
        self.origin.routes[None] = lambda path: asked(self.origin, path)
        self.registries = context.origin({})
        self.registries.routes[None] = lambda path: asked(self.registries, path)
        tunnels = Tunnels(self.origin.port)
        context.origins.append(tunnels)
        # Of the daemon alone: how it reaches the origin, and why it trusts it.
        self.reaching = {"https_proxy": tunnels.url, "SSL_CERT_FILE": str(authority.certificate)}
        self.daemon = None
        programs = context.directory / "bin"
        programs.mkdir()
        script = programs / "larder"
        script.write_text(f'#!/bin/sh\nexec "{context.program}" "$@"\n')
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        pip = programs / "pip"
        pip.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pip --disable-pip-version-check "$@"\n')
        pip.chmod(script.stat().st_mode)
        self.presets = []
        places = {"XDG_RUNTIME_DIR": context.directory / "run", "STATE_DIRECTORY": context.directory / "state"}
        for place in places.values():
            place.mkdir()
        self.environment = context.environment(
            **places, PATH=f"{programs}:{os.environ['PATH']}", NO_COLOR="1")

    def bases(self):
        """The services of the page's presets: name, base URL, and the origin's URL in its place."""
        for name in self.presets:
            for service, base in BASES[name].items():
                yield service, base, f"{self.registries.url}/{service}/"

    def here(self, text):
        """The text of the page, with the ports of now."""
        if "://" in text:
            for _, base, ours in self.bases():
                text = text.replace(base, ours)
        return text.replace("localhost:3128", f"localhost:{self.daemon.port}") if self.daemon else text

    def run(self):
        for kind, block in FENCE.findall(self.path.read_text(encoding="utf-8")):
            if kind != "console":
                if name := re.match(r"# (?:~/)?(\S+)\n", block):
                    self.presets += re.findall(r"preset: (\w+)", block)
                    # The home directory is the case's own.
                    file = self.context.directory / name[1]
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(self.here(block))
                continue
            for command, expected in steps(block):
                self.do(command, expected)

    def do(self, command, expected):
        if command.startswith("larder serve"):
            return self.start(command)
        if variable := re.fullmatch(r"export (\w+)=(\S+)", command):
            self.environment[variable[1]] = self.here(variable[2])
            return None
        done = subprocess.run(["bash", "-c", self.here(command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=60, env=self.environment, cwd=self.context.directory, stdin=subprocess.DEVNULL,
                              check=False)
        said = done.stdout.decode().replace("\r\n", "\n").strip("\n")
        if expected and not re.fullmatch(pattern(self.here(expected)), said, re.S):
            raise Failed(f"{self.path.name}: $ {command}\nexpected:\n{self.here(expected)}\ngot:\n{said}")
        return None

    def start(self, command):
        self.daemon = PageDaemon(self.context.program, self.context.directory, "", {}, "page")
        self.context.daemons.append(self.daemon)
        sets = [f"--set=services.{service}.baseURL={ours}" for service, _, ours in self.bases()]
        self.daemon.start_as(command, sets, {**self.environment, **self.reaching}, self.context.directory)


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
        for program in ("npm", "jq"):
            if f"{program} " in path.read_text(encoding="utf-8") and shutil.which(program) is None:
                raise Skipped(f"{program} is not installed")
        before = Page(context, path)
        before.run()
        expect(before.daemon is not None, "the page starts no daemon")


for _path in pages():
    declare(_path)
