# SPDX-License-Identifier: Apache-2.0
"""The command line against a running daemon."""

import json
import subprocess

from harness.case import case, expect, expect_equal, expect_in
from harness.origin import Answer, fresh


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


@case("commands", "override, watch, load, cancel, warm, env, run and doctor do what they say")
def operations(context):
    origin = context.origin({"/a": fresh("theirs\n"), "/b": fresh("b\n"), "/none": fresh("c\n", seconds=0),
                             "/broken": Answer(b"", 500)})
    daemon = context.daemon(f"services:\n  api:\n    baseURL: {origin.url}\n")
    shell = Shell(context, daemon)
    url = f"{origin.url}/a"
    content = context.directory / "ours.json"
    content.write_text('{"ours": true}\n')
    watch = subprocess.Popen(
        [str(context.program), "watch", "--json", "--socket", str(daemon.socket)], stdout=subprocess.PIPE)
    try:
        expect_equal(json.loads(watch.stdout.readline())["event"], "observerAdded", "the first event")
        shell.text("override", url, str(content), "--for", "1 h")
        told = json.loads(watch.stdout.readline())
        expect_equal((told["event"], told["source"], told["url"]), ("newData", "localOverride", url), "the event")
    finally:
        watch.kill()
        watch.wait()
    _, fields, body = daemon.get("/api/a")
    expect_equal(body, b'{"ours": true}\n', "the content")
    expect_equal(fields["content-type"], "application/json", "Content-Type")
    expect_in("detail=override", fields["cache-status"], "Cache-Status")
    expect_equal(shell.json("show", url)["latestData"]["isOverride"], True, "larder show")
    asked = len(origin.asked)
    shell.text("load", "--if-needed", url)
    expect_equal(len(origin.asked), asked, "requests after larder load --if-needed")
    shell.text("load", url)
    expect_equal(daemon.get("/api/a")[2], b"theirs\n", "the content after larder load")
    done = context.run([context.program, "cancel", url, "--json", "--socket", daemon.socket], check=False)
    expect_equal((done.returncode, json.loads(done.stdout)["cancelled"]), (2, 0), "larder cancel where nothing loads")
    done = context.run([context.program, "load", f"{origin.url}/broken", "--socket", daemon.socket], check=False)
    expect_equal(done.returncode, 1, "exit status of larder load where the origin fails")
    expect_in("500", done.stderr.decode(), "what larder load says of it")

    urls = context.directory / "urls"
    urls.write_text(f"# two\n{url}\n\n{origin.url}/b\n")
    warmed = shell.json("warm", str(urls))
    expect_equal((warmed["loaded"], warmed["upToDate"], warmed["failures"]), (1, 1, []), "larder warm")
    expect_equal(shell.json("env")["http_proxy"], f"http://127.0.0.1:{daemon.port}", "larder env")
    run = [context.program, "run", "--socket", daemon.socket, "--", "sh", "-c", "echo $http_proxy; exit 3"]
    done = context.run(run, check=False)
    said = done.stdout.decode().strip()
    expect_equal(done.returncode, 3, "exit status of larder run")
    expect(said.startswith("http://lane-") and said.endswith(f"@127.0.0.1:{daemon.port}"), f"larder run: {said}")
    expect_equal(shell.json("doctor", url)["isWell"], True, "larder doctor where nothing is wrong")
    doctor = [context.program, "doctor", "http://127.0.0.1:1/", "--socket", daemon.socket, "--json"]
    done = context.run(doctor, check=False)
    expect_equal(done.returncode, 1, "larder doctor where something is wrong")
    expect_equal(json.loads(done.stdout)["checks"][-1]["check"], "origin", "what larder doctor finds")


@case("commands", "without a daemon, and with wrong words, a command fails with a message that helps")
def helpless(context):
    nowhere = context.directory / "nowhere.sock"
    done = context.run([context.program, "status", "--socket", nowhere], check=False)
    expect(done.returncode > 0, "larder status without a daemon succeeds")
    expect_in(str(nowhere), done.stderr.decode(), "the message")
    done = context.run([context.program, "stauts"], check=False)
    expect(done.returncode > 0, "an unknown command succeeds")
    for command in ("serve", "check", "status", "explain", "list", "show", "watch", "doctor", "load", "cancel",
                    "invalidate", "wipe", "override", "warm", "run", "env", "trust", "untrust", "preset",
                    "history", "diff"):
        help_text = context.run([context.program, command, "--help"]).stdout.decode()
        expect_in("USAGE", help_text, f"larder {command} --help")
