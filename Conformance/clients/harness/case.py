# SPDX-License-Identifier: Apache-2.0
"""Cases: how they are declared, what they are given, and how they say that something is wrong."""

import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys

from harness.daemon import Daemon
from harness.origin import Origin, RawOrigin


class Failed(Exception):
    """The daemon did something else than the case expects."""


class Skipped(Exception):
    """The case cannot run here; the message says what is missing."""


@dataclasses.dataclass
class Case:
    name: str
    title: str
    function: object


CASES = []


def case(name, title):
    """Declares a case: `name` selects it on the command line, `title` is the behaviour it shows."""

    def declare(function):
        CASES.append(Case(name, title, function))
        return function

    return declare


def expect(condition, message):
    if not condition:
        raise Failed(message)


def expect_equal(actual, expected, what):
    if actual != expected:
        raise Failed(f"{what}: expected {shorten(expected)}, got {shorten(actual)}")


def expect_in(part, whole, what):
    if part not in whole:
        raise Failed(f"{what}: expected {shorten(part)} in {shorten(whole, 2000)}")


def expect_hit(fields, what):
    """The response came from Larder's cache, says its Cache-Status (RFC 9211)."""
    status = fields.get("cache-status", "")
    expect(is_hit(fields), f"{what}: expected a hit, got Cache-Status: {status or '(none)'}")


def is_hit(fields):
    members = [member.strip() for member in fields.get("cache-status", "").split(",")]
    return any(
        member.split(";")[0].strip() == "Larder" and "hit" in [part.strip() for part in member.split(";")[1:]]
        for member in members
    )


def shorten(value, length=300):
    text = repr(value)
    return text if len(text) <= length else f"{text[:length]}… ({len(text)} characters)"


class Context:
    """The means of a case: the program, a fresh directory, and ways to start what it needs, all ended with it."""

    def __init__(self, program, directory, full):
        self.program = program
        self.directory = pathlib.Path(directory)
        self.full = full
        self.daemons = []
        self.origins = []

    def daemon(self, configuration="", sets=None, name="larder", environment=None):
        """A running, ready daemon. `configuration` is YAML; `sets` are `--set` options on top."""
        daemon = Daemon(self.program, self.directory, configuration, sets or {}, name, environment=environment)
        self.daemons.append(daemon)
        daemon.start()
        return daemon

    def origin(self, routes=None, tls=None, address="127.0.0.1", port=0):
        origin = Origin(routes or {}, tls, address, port)
        self.origins.append(origin)
        return origin

    def raw_origin(self, script):
        origin = RawOrigin(script)
        self.origins.append(origin)
        return origin

    def command(self, name):
        path = shutil.which(name)
        if path is None:
            raise Skipped(f"{name} is not installed")
        return path

    def environment(self, **extra):
        """The surroundings of a client: nothing of the user's own settings and proxies, and no file left behind."""
        base = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
        own = {"HOME": str(self.directory), "TMPDIR": str(self.directory)}
        return {**base, **own, **{name: str(value) for name, value in extra.items()}}

    def python(self, package):
        """A Python that has `package`, and what it needs in its environment; see scripts/setup --test."""
        clients = pathlib.Path(__file__).resolve().parents[3] / ".build/clients"
        extra = {"PYTHONPATH": clients, "PYTHONDONTWRITEBYTECODE": 1, "no_proxy": "*"}
        check = [sys.executable, "-c", f"import {package}"]
        if self.run(check, check=False, environment=self.environment(**extra)).returncode != 0:
            raise Skipped(f"{package} is not installed: scripts/setup --test does it")
        return sys.executable, extra

    def run(self, arguments, timeout=60, check=True, environment=None, data=None):
        """Runs a client to its end; returns its completed process with bytes on both outputs."""
        done = subprocess.run(
            [str(argument) for argument in arguments],
            input=data,
            stdin=subprocess.DEVNULL if data is None else None,
            capture_output=True,
            timeout=timeout,
            env=environment or self.environment(),
            cwd=self.directory,
            check=False,
        )
        if check and done.returncode != 0:
            said = (done.stderr or done.stdout).decode(errors="replace").strip()
            raise Failed(f"{pathlib.Path(arguments[0]).name} ended with {done.returncode}: {said}")
        return done

    def close(self):
        """Ends everything; a daemon that does not stop cleanly fails the case that started it."""
        problems = [problem for daemon in self.daemons if (problem := daemon.stop())]
        for origin in self.origins:
            origin.close()
        if problems:
            raise Failed("; ".join(problems))
