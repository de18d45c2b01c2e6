# SPDX-License-Identifier: Apache-2.0
"""Users who have to say who they are: curl, urllib, requests and tunnels, and the command that makes users."""

import base64
import json
import os
import pty
import subprocess
import sys
import time

from cases.curl import curl
from cases.tls import LOOPBACK, Authority
from harness.case import Skipped, case, expect, expect_equal, expect_hit, expect_in
from harness.origin import fresh

ANNA, BEN = ("anna", "flour: 1 kg"), ("ben", "sålt")


def basic(name, password):
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


class Team:
    """A daemon with users, whom `larder user add` makes."""

    def __init__(self, context, extra="", origin=None):
        self.context = context
        self.file = context.directory / "users"
        self.origin = origin or context.origin({"/a": fresh("flour\n"), "/b": fresh("salt\n", seconds=0)})
        self.user("add", ANNA[0], data=f"{ANNA[1]}\n".encode())
        self.user("add", BEN[0], data=BEN[1].encode())
        self.daemon = context.daemon(f"access:\n  users: {self.file}\nlog:\n  access: true\n{extra}")

    def user(self, *words, data=b"", check=True):
        return self.context.run(
            [self.context.program, "user", *words, "--file", self.file], data=data, check=check)

    def proxy(self, name, password):
        """The proxy's URL with a user, as programs take it."""
        coded = "".join(f"%{octet:02X}" for octet in password.encode())
        return f"http://{name}:{coded}@{self.daemon.authority}"

    def reload(self):
        start = len(self.daemon.log())
        self.daemon.reload()
        self.daemon.wait_for_log("the configuration was read again", start)


@case("proxy-users", "curl is asked for name and password by each way in, and served with them")
def with_curl(context):
    team = Team(context)
    url = f"{team.origin.url}/a"
    status, fields, content = curl(context, "-x", team.daemon.url, url)
    expect_equal(status, 407, "the status without credentials")
    expect_equal(fields.get("proxy-authenticate"), 'Basic realm="Larder", charset="UTF-8"', "Proxy-Authenticate")
    expect_in(b"larder user add", content, "the advice")
    for user in (ANNA, BEN):
        status, fields, content = curl(context, "-x", team.daemon.url, "--proxy-user", ":".join(user), url)
        expect_equal((status, content), (200, b"flour\n"), f"the answer for {user[0]}")
    expect_hit(fields, "the second user's answer")
    # Asked first, then answered, as clients do that were not told to send a password at once.
    done = context.run([
        "curl", "-sS", "--noproxy", "", "-x", team.daemon.url, "--proxy-anyauth", "--proxy-user", ":".join(ANNA),
        f"{team.origin.url}/b"])
    expect_equal(done.stdout, b"salt\n", "the answer after a challenge")
    for wrong in ("anna:flour", "anna:", "cleo:flour: 1 kg", "Anna:flour: 1 kg"):
        status = curl(context, "-x", team.daemon.url, "--proxy-user", wrong, url)[0]
        expect_equal(status, 407, f"the status for {wrong}")
    gateway = f"{team.daemon.url}/http/{team.origin.authority}/a"
    expect_equal(curl(context, gateway)[0], 407, "the gateway's status without credentials")
    coded = basic(*ANNA)
    expect_equal(curl(context, "-H", f"Proxy-Authorization: {coded}", gateway)[0], 200, "the gateway's status")
    expect_equal(curl(context, "-u", ":".join(ANNA), gateway)[0], 407, "the status with Authorization alone")
    expect_equal(curl(context, f"{team.daemon.url}/-/ready")[0], 200, "the status of Larder's own page")
    page = f"{team.daemon.url}/-/requests"
    expect_equal(curl(context, page)[0], 401, "the status of a page that shows URLs")
    expect_equal(curl(context, "-u", ":".join(ANNA), page)[0], 200, "its status for a user")
    user = ":".join(ANNA)
    expect_equal(curl(context, "-x", team.daemon.url, "--proxy-user", user, page)[0], 200, "through the proxy")
    # A command's lane is its user's, whom the kernel knows.
    done = context.run([context.program, "run", "--socket", team.daemon.socket, "--", "curl", "-s", url])
    expect_equal(done.stdout, b"flour\n", "what larder run gets")
    # So is what the command asks for itself, wherever it may use the socket.
    for target in (url, f"/http/{team.origin.authority}/a"):
        done = context.run([context.program, "get", "--socket", team.daemon.socket, target])
        expect_equal(done.stdout, b"flour\n", f"what larder get prints for {target}")
    get = [context.program, "get", "--url", team.daemon.url]
    done = context.run([*get, url], check=False)
    expect_equal((done.returncode, done.stdout), (1, b""), "larder get without the socket")
    expect_in("Proxy-Authorization", done.stderr.decode(), "its advice")
    done = context.run([*get, "-H", f"Proxy-Authorization: {coded}", url])
    expect_equal(done.stdout, b"flour\n", "what larder get prints for a user")
    done = context.run([context.program, "get", "--url", team.proxy(*BEN), url])
    expect_equal(done.stdout, b"flour\n", "what it prints for a user of the daemon's URL")
    for command in (["explain", url], ["list"], ["status"]):
        done = context.run([context.program, *command, "--url", team.proxy(*BEN)])
        expect(done.stdout, f"larder {command[0]} prints nothing for a user")
    done = context.run([context.program, "list", "--url", team.daemon.url], check=False)
    expect_in("NAME:PASSWORD@", done.stderr.decode(), "the advice of larder list")
    for asked in team.origin.asked:
        expect("proxy-authorization" not in asked.fields, "the origin was told the password")
    log = team.daemon.log()
    expect_in("user=anna", log, "the log")
    for secret in (ANNA[1], coded[6:], BEN[1]):
        expect(secret not in log, "there is a password in the log")


@case("proxy-users", "urllib and requests take name and password from the proxy's URL, for https through a tunnel too")
def with_python(context):
    authority = Authority(context)
    secure = context.origin({"/a": fresh("secret flour\n")}, tls=authority.server(LOOPBACK, "server"))
    team = Team(context, f"tunnels:\n  ports: [443, {secure.port}]\n")
    script = (
        "import ssl, sys, urllib.request\n"
        "context = ssl.create_default_context(cafile=sys.argv[2])\n"
        "print(urllib.request.urlopen(sys.argv[1], context=context, timeout=20).read().decode(), end='')\n")

    def python(url, proxy, text=script):
        done = context.run(
            [sys.executable, "-c", text, url, authority.certificate], check=False,
            environment=context.environment(http_proxy=proxy, https_proxy=proxy, no_proxy=""))
        return done.stdout.decode() + done.stderr.decode()

    for url, wanted in ((f"{team.origin.url}/a", "flour\n"), (f"{secure.url}/a", "secret flour\n")):
        expect_equal(python(url, team.proxy(*ANNA)), wanted, f"urllib through the proxy to {url}")
        expect_equal(python(url, team.proxy(*BEN)), wanted, f"urllib as another user to {url}")
        expect_in("407", python(url, team.proxy(ANNA[0], "wrong")), f"urllib with a wrong password to {url}")
        expect_in("407", python(url, team.daemon.url), f"urllib without a user to {url}")
    requests = (
        "import sys\n"
        "from pip._vendor import requests\n"
        "print(requests.get(sys.argv[1], verify=sys.argv[2], timeout=20).text, end='')\n")
    if context.run([sys.executable, "-c", "from pip._vendor import requests"], check=False).returncode != 0:
        raise Skipped("pip, which brings requests, is not installed")
    for url, wanted in ((f"{team.origin.url}/a", "flour\n"), (f"{secure.url}/a", "secret flour\n")):
        expect_equal(python(url, team.proxy(*ANNA), requests), wanted, f"requests through the proxy to {url}")
    expect_in("407", python(f"{secure.url}/a", team.daemon.url, requests), "requests without a user")


@case("proxy-users", "users who are removed, or get another password, are not served after larder reload")
def changed(context):
    team = Team(context)
    url = f"{team.origin.url}/a"

    def status(name, password):
        return curl(context, "-x", team.daemon.url, "--proxy-user", f"{name}:{password}", url)[0]

    for _ in range(4):
        expect_equal((status(*ANNA), status(*BEN)), (200, 200), "the users' statuses")
    before = team.file.read_text()
    team.user("remove", "ben")
    team.user("add", "anna", data=b"yeast")
    expect_equal((status(*ANNA), status(*BEN)), (200, 200), "the statuses before the reload")
    team.reload()
    expect_equal((status(*ANNA), status(*BEN)), (407, 407), "the statuses after it")
    expect_equal(status("anna", "yeast"), 200, "the status with the new password")
    # A file that cannot be used is refused, and the old users go on.
    team.file.write_text(before + "cleo:plain\n")
    start = len(team.daemon.log())
    team.daemon.reload()
    team.daemon.wait_for_log("the new configuration was refused", start)
    expect_in(f"{team.file}:3:6: access.users: found no hash that crypt(3) knows", team.daemon.log(), "the log")
    expect("plain" not in team.daemon.log()[start:].replace("plainly", ""), "the log shows what stands for the hash")
    expect_equal(status("anna", "yeast"), 200, "the status after a refused reload")


@case("proxy-users", "a client that guesses is refused for a while, and does not keep the others waiting")
def guessing(context):
    team = Team(context)
    url = f"{team.origin.url}/a"
    known = ["-x", team.daemon.url, "--proxy-user"]
    for user in (ANNA, BEN):
        expect_equal(curl(context, *known, ":".join(user), url)[0], 200, "the status of a user")
    # A program with an old password uses up one attempt.
    for _ in range(20):
        expect_equal(curl(context, *known, "anna:old", url)[0], 407, "the status of an old password")
    expect_equal(curl(context, *known, ":".join(ANNA), url)[0], 200, "the status of its user")
    # Over connections of their own, and faster than attempts come back.
    answers = [
        team.daemon.get(url, {"Proxy-Authorization": basic("anna", f"guess{number}")}) for number in range(14)]
    statuses = [status for status, _, _ in answers]
    expect_equal(statuses[:9], [407] * 9, "the first statuses")
    expect_in(429, statuses[9:], "the later statuses")
    expect(int(answers[statuses.index(429)][1]["retry-after"]) <= 6, "Retry-After of the refusal")
    started = time.monotonic()
    expect_equal(curl(context, *known, ":".join(ANNA), url)[0], 429, "the right password among the guesses")
    expect_equal(curl(context, *known, ":".join(BEN), url)[0], 200, "another user of the same address")
    expect(time.monotonic() - started < 5, "another user had to wait")


@case("proxy-users", "larder user adds, lists and removes, from a pipe and from a terminal; check says what is wrong")
def commands(context):
    team = Team(context)
    expect_equal(team.file.stat().st_mode & 0o777, 0o600, "the mode of a new file")
    expect_equal(team.user("list").stdout, b"anna  yescrypt\nben   yescrypt\n", "larder user list")
    listed = json.loads(team.user("list", "--json").stdout)
    expect_equal(listed[0], {"name": "anna", "method": "yescrypt"}, "larder user list --json")
    team.file.write_text("# the team\n" + team.file.read_text())
    team.file.chmod(0o640)
    # The file is that of the configuration, too.
    done = context.run(
        [context.program, "user", "add", "cleo", "--config", team.daemon.file], data=b"yeast\n")
    expect_in(b"cleo was added", done.stdout, "larder user add")
    expect(team.file.read_text().startswith("# the team\n"), "the comment is gone")
    expect_equal(team.file.stat().st_mode & 0o777, 0o640, "the mode afterwards")
    for words, data in ((("a:b",), b"x"), (("dan",), b""), (("dan",), b"one\ntwo\n"), (("dan",), b"a\tb\n")):
        expect(team.user("add", *words, data=data, check=False).returncode != 0, f"{words} with {data} is taken")
    expect_equal(team.user("remove", "dan", check=False).returncode, 2, "the status for nobody")
    typed(context, team)
    team.file.chmod(0o662)
    done = context.run([context.program, "check", team.daemon.file], check=False)
    expect_equal(done.returncode, 1, "the status of larder check")
    expect_in(b"which others can write to", done.stderr, "larder check")


def typed(context, team):
    """A password that is typed twice on a terminal, which does not show it."""
    for again, code in ((b"typed flour", 0), (b"other flour", 1)):
        leader, follower = pty.openpty()
        process = subprocess.Popen(
            [str(context.program), "user", "add", "dan", "--file", str(team.file)], stdin=follower, stdout=follower,
            stderr=follower, env=context.environment(), start_new_session=True)
        os.close(follower)
        said = b""
        for prompt, answer in ((b"Password for dan: ", b"typed flour"), (b"The same again: ", again)):
            while prompt not in said:
                said += os.read(leader, 4096)
            os.write(leader, answer + b"\n")
        try:
            while part := os.read(leader, 4096):
                said += part
        except OSError:
            # The terminal ends with its program.
            pass
        os.close(leader)
        expect_equal(process.wait(20), code, f"the exit status after {said!r}")
        expect(b"flour" not in said, f"the terminal shows the password: {said!r}")
    expect_in(b"dan   yescrypt", team.user("list").stdout, "larder user list")
