# SPDX-License-Identifier: Apache-2.0
"""The command line against a running daemon."""

import json

from harness.case import case, expect, expect_equal, expect_in
from harness.origin import fresh


class Shell:
    def __init__(self, context, daemon):
        self.context, self.daemon = context, daemon

    def text(self, *words):
        done = self.context.run([self.context.program, *words, "--socket", self.daemon.socket])
        return done.stdout.decode()

    def json(self, *words):
        return json.loads(self.text(*words, "--json"))


@case("commands", "status, list, show, explain, invalidate and wipe over the Unix socket, as text and as JSON")
def commands(context):
    origin = context.origin({"/users/a": fresh("a\n"), "/users/b": fresh("b\n"), "/other": fresh("c\n")})
    daemon = context.daemon(f"services:\n  api:\n    baseURL: {origin.url}\n")
    shell = Shell(context, daemon)
    for path in ("/users/a", "/users/b", "/other", "/users/a"):
        daemon.get(f"/api{path}")
    url = f"{origin.url}/users/a"

    expect_equal(shell.json("status")["requests"]["hit"], 1, "hits")
    expect(shell.text("status").strip(), "larder status says nothing")
    for words in (("list",), ("show", url), ("explain", url)):
        expect_in(url, json.dumps(shell.json(*words)).replace("\\/", "/"), f"larder {words[0]} --json")
        expect("users/a" in shell.text(*words), f"larder {words[0]} does not name the resource")
    listed = shell.text("list", f"{origin.url}/users/*")
    expect("users/b" in listed and "other" not in listed, f"larder list PATTERN: {listed}")

    asked = len(origin.asked)
    shell.text("invalidate", url)
    daemon.get("/api/users/a")
    expect_equal(len(origin.asked), asked + 1, "requests at the origin after larder invalidate")
    shell.text("wipe", "--match", f"{origin.url}/users/*")
    daemon.get("/api/users/b")
    daemon.get("/api/other")
    after = [entry.path for entry in origin.asked[asked + 1:]]
    expect_equal(after, ["/users/b"], "what the origin was asked after larder wipe")


@case("commands", "without a daemon, and with wrong words, a command fails with a message that helps")
def helpless(context):
    nowhere = context.directory / "nowhere.sock"
    done = context.run([context.program, "status", "--socket", nowhere], check=False)
    expect(done.returncode > 0, "larder status without a daemon succeeds")
    expect_in(str(nowhere), done.stderr.decode(), "the message")
    done = context.run([context.program, "stauts"], check=False)
    expect(done.returncode > 0, "an unknown command succeeds")
    for command in ("serve", "check", "status", "explain", "list", "show", "invalidate", "wipe"):
        help_text = context.run([context.program, command, "--help"]).stdout.decode()
        expect_in("USAGE", help_text, f"larder {command} --help")
