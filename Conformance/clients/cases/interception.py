# SPDX-License-Identifier: Apache-2.0
"""Https that Larder opens: real clients that trust its CA, and commands in a lane of their own."""

import json
import subprocess

from cases.tls import LOOPBACK, Authority
from harness.case import case, expect, expect_equal, expect_in
from harness.origin import fresh


class Opened:
    """An https origin, and a daemon that opens what leads there."""

    def __init__(self, context, hosts="[localhost]", routes=None):
        self.context = context
        authority = Authority(context)
        self.origin = context.origin(routes or {"/a": fresh("a thing\n")}, tls=authority.server(LOOPBACK))
        self.daemon = context.daemon(
            f"upstream:\n  caFile: {authority.certificate}\nintercept:\n  hosts: {hosts}\n")
        self.url = f"https://localhost:{self.origin.port}/a"

    def trusted(self):
        """A file with the daemon's CA."""
        path = self.context.directory / "larder-ca.pem"
        done = self.context.run([self.context.command("curl"), "-sS", "-f", self.daemon.url + "/-/ca.pem"])
        path.write_bytes(done.stdout)
        return path

    def curl(self, *options):
        done = self.context.run([
            self.context.command("curl"), "-sS", "-i", "--noproxy", "", "-x", self.daemon.url, *options, self.url,
        ], check=False)
        return done.returncode, done.stdout.decode()

    def run(self, *words, options=(), check=True):
        """`larder run`; hosts of this machine go through the proxy as well."""
        return self.context.run([
            self.context.program, "run", "--socket", self.daemon.socket, *options, "--",
            "env", "-u", "no_proxy", "-u", "NO_PROXY", *words,
        ], check=check)


@case("intercept", "curl through CONNECT to a host that is opened: the second time from the cache")
def opened(context):
    scene = Opened(context)
    certificate = scene.trusted()
    for attempt in (1, 2):
        code, answer = scene.curl("--cacert", certificate)
        expect_equal(code, 0, "exit status of curl")
        expect(answer.endswith("a thing\n"), f"the content: {answer}")
    expect_in("hit", answer, "Cache-Status of the second answer")
    expect_equal(len(scene.origin.asked), 1, "requests at the origin")


@case("intercept", "curl that does not trust the CA fails once, and passes unseen from then on; doctor says so")
def untrusting(context):
    scene = Opened(context)
    authority = context.directory / "ca.pem"
    code, _ = scene.curl("--cacert", authority)
    expect_equal(code, 60, "exit status of curl the first time")
    scene.daemon.wait_for_log("does not trust the local CA")
    code, answer = scene.curl("--cacert", authority)
    expect_equal(code, 0, "exit status of curl the second time")
    expect(answer.endswith("a thing\n"), f"the content: {answer}")
    expect("Cache-Status" not in answer, "what passes unseen has no Cache-Status")
    done = context.run([
        context.program, "doctor", scene.url, "--json", "--socket", scene.daemon.socket], check=False)
    checks = json.loads(done.stdout)["checks"]
    finding = next((check for check in checks if check["check"] == "tunnels"), None)
    expect(finding is not None, f"doctor says nothing of tunnels: {checks}")
    expect_in("larder trust", finding["cure"], "its cure")


@case("intercept", "hosts that are not opened are named in status with what opens them")
def named(context):
    scene = Opened(context, hosts="[elsewhere.test]")
    code, answer = scene.curl("--cacert", context.directory / "ca.pem")
    expect_equal(code, 0, "exit status of curl")
    expect(answer.endswith("a thing\n"), f"the content: {answer}")
    line = scene.daemon.status()["interception"]["tunnels"][0]
    expect_equal((line["host"], line["requests"]), (f"localhost:{scene.origin.port}", 1), "what passed unseen")
    expect_equal(line["reason"], "notListed", "why")
    expect_in(f"localhost:{scene.origin.port}", line["toChangeThat"][0], "what to change")


@case("intercept", "larder run: commands have https cached without anything installed or configured")
def run(context):
    scene = Opened(context, hosts="[]")
    commands = {
        "curl": ["curl", "-sS", scene.url],
        "python3": ["python3", "-c", f"import urllib.request as u; print(u.urlopen('{scene.url}').read().decode(), "
                    "end='')"],
    }
    for name, words in commands.items():
        context.command(name)
        done = scene.run(*words)
        expect_equal(done.stdout, b"a thing\n", f"what {name} got")
        expect_in("1 request,", done.stderr.decode(), f"the summary of {name}")
    expect_equal(len(scene.origin.asked), 1, "requests at the origin")
    expect_in("1 from the cache", done.stderr.decode(), "the last summary")
    expect_equal(scene.daemon.status()["interception"]["tunnels"], [], "what passed unseen")


@case("intercept", "larder run: exit status, --fail-on-miss, --offline, --tunnel and --report")
def run_options(context):
    scene = Opened(context, hosts="[]")
    expect_equal(scene.run("sh", "-c", "exit 7", check=False).returncode, 7, "the command's exit status")
    expect_equal(scene.run("sh", "-c", "kill -9 $$", check=False).returncode, 137, "that of a command that was killed")
    ignoring = ["/bin/sh", "-c", "trap '' INT; exec \"$@\"", "sh"]
    status = context.run([
        *ignoring, context.program, "run", "--socket", scene.daemon.socket, "--",
        "/bin/sh", "-c", "kill -INT $$; exit 8",
    ], check=False).returncode
    expect_equal(status, 8, "that of a command in the background, which ignores what its shell had it ignore")
    expect_equal(scene.run("/nowhere/x", check=False).returncode, 127, "without a command")
    missed = scene.run("curl", "-sS", scene.url, options=["--fail-on-miss"], check=False)
    expect_equal(missed.returncode, 113, "--fail-on-miss the first time")
    report = context.directory / "report.json"
    scene.run("curl", "-sS", scene.url, options=["--fail-on-miss", "--report", report])
    told = json.loads(report.read_text())
    expect_equal((told["requests"], told["hits"], told["missed"]), (1, 1, 0), "the report")
    done = scene.run(
        "curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", scene.url + "?other", options=["--offline"])
    expect_equal(done.stdout, b"504", "offline, what is not stored")
    context.run([context.command("curl"), "-sS", scene.daemon.url + "/-/lanes"])
    unseen = scene.run("curl", "-sS", "--cacert", context.directory / "ca.pem", scene.url, options=["--tunnel"])
    expect_equal(unseen.stdout, b"a thing\n", "through a tunnel")
    expect_in("passed unseen: 1 tunnel", unseen.stderr.decode(), "the summary")


@case("intercept", "the key is the daemon's own, and untrust removes it")
def key(context):
    scene = Opened(context)
    keys = list(context.directory.rglob("ca.key"))
    keys = [path for path in keys if (path.parent / "larder.db").exists()]
    expect_equal(len(keys), 1, "files with the CA's key")
    expect_equal(keys[0].stat().st_mode & 0o777, 0o600, "its permissions")
    status = json.dumps(scene.daemon.status())
    expect("PRIVATE" not in status + scene.daemon.log(), "the key is in status or log")
    printed = context.run([context.program, "trust", "--print", "--socket", scene.daemon.socket]).stdout
    expect_equal(printed, scene.trusted().read_bytes(), "larder trust --print")
    untrust = [str(context.program), "untrust", "--socket", str(scene.daemon.socket)]
    # A browser's database that cannot be read may still have the CA, which is needed to find it there.
    database = context.directory / "home/.pki/nssdb/cert9.db"
    database.parent.mkdir(parents=True)
    database.write_text("an entry called larder-0123\n")
    certutil = context.directory / "bin/certutil"
    certutil.parent.mkdir()
    certutil.write_text("#!/bin/sh\nexit 1\n")
    certutil.chmod(0o755)
    home = context.environment(HOME=context.directory / "home")
    done = subprocess.run(
        untrust, env=home | {"PATH": f"{certutil.parent}:{home['PATH']}"}, capture_output=True, check=False)
    expect_equal(done.returncode, 1, "exit status of larder untrust where a database cannot be read")
    expect_in("certutil -L", done.stdout.decode(), "what it advises")
    expect(keys[0].exists(), "the key is gone, and with it what tells which certificates are Larder's")
    done = subprocess.run(
        [*untrust, "--force"], env=home | {"PATH": f"{certutil.parent}:{home['PATH']}"}, capture_output=True,
        check=False)
    expect_equal(done.returncode, 0, "exit status of larder untrust --force")
    expect_in(f"certutil -D -d sql:{database.parent}", done.stdout.decode(), "how to remove what is left")
    expect(not keys[0].exists(), "the key is still there")
    code, _ = scene.curl("--cacert", context.directory / "ca.pem")
    expect_equal(code, 0, "without a CA everything passes unseen")
