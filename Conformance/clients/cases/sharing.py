# SPDX-License-Identifier: Apache-2.0
"""Daemons that share what they have stored through one engine."""

import concurrent.futures
import hashlib
import http.client
import pathlib
import random
import signal
import subprocess
import time

from cases.tls import LOOPBACK, Authority
from harness.case import case, expect, expect_equal, expect_in
from harness.daemon import free_port
from harness.engine import Engine, Way, eventually
from harness.origin import Answer, fresh

KEY = "0123456789abcdef0123456789abcdef"


class Team:
    """Daemons with one service, one origin and one engine."""

    def __init__(self, context, count, routes=None, engine=None, urls=None, **settings):
        self.context = context
        self.origin = context.origin(routes or {})
        self.engine = engine or Engine(context)
        self.settings = {"timeout": "1 s", **settings}
        self.daemons = [
            context.daemon(self.configuration(urls[index] if urls else self.engine.url), name=f"larder-{index}")
            for index in range(count)
        ]
        for daemon in self.daemons:
            self.until_working(daemon)

    def configuration(self, url):
        more = "".join(f"  {name}: {value}\n" for name, value in self.settings.items())
        return (
            f"sharedCache:\n  url: {url}\n  key: {KEY}\n  share: all\n{more}"
            f"services:\n  api:\n    baseURL: {self.origin.url}\n")

    def until_working(self, daemon, patience=20):
        eventually("the tier works", lambda: daemon.status()["sharedCache"]["state"] == "working", patience)

    def until_written(self, daemon, count):
        eventually("it is shared", lambda: daemon.status()["sharedCache"]["written"] >= count)


def sent(daemon, method, path, fields=None):
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=20)
    connection.request(method, path, headers=fields or {})
    response = connection.getresponse()
    response.read()
    connection.close()
    return response.status


def shared(method):
    """Gives a case's function a way to make a team."""
    return lambda context: method(context, lambda *arguments, **named: Team(context, *arguments, **named))


@case("sharing", "a miss at one of three daemons is a hit at all of them")
@shared
def everywhere(context, make):
    long = "0123456789" * 70_000
    team = make(3, {"/a": fresh("apples\n"), "/long": fresh(long), "/private": fresh("me\n", Set_Cookie="a=b")})
    first, *others = team.daemons
    for number, path in enumerate(["/api/a", "/api/long"]):
        status, fields, content = first.get(path)
        expect_in("fwd=uri-miss", fields["cache-status"], "the first response")
        team.until_written(first, number + 1)
        for other in others:
            status, fields, found = other.get(path)
            expect_equal((status, found), (200, content), f"the response to {path}")
            expect_in("hit", fields["cache-status"], "another daemon's response")
            expect_in("detail=shared", fields["cache-status"], "another daemon's response")
            expect(int(fields["age"]) < 30, "its age")
            expect("detail=shared" not in other.get(path)[1]["cache-status"], "the second response is the daemon's own")
    expect_equal([asked.path for asked in team.origin.asked], ["/a", "/long"], "requests to the origin")
    for daemon in team.daemons:
        expect_equal(sent(daemon, "GET", "/api/a", {"Authorization": "Bearer x"}), 200, "with credentials")
    for daemon in team.daemons:
        daemon.get("/api/private")
    names = b" ".join(team.engine.keys("*"))
    expect(b"127.0.0.1" not in names, "URLs are in the names of keys")
    values = b"".join(team.engine.ask("GET", key) or b"" for key in team.engine.keys("larder:i:*"))
    expect(b"a=b" not in values and b"Bearer" not in values, "secrets are in the engine")


@case("sharing", "many clients of three daemons cause one request for what nobody has")
@shared
def one_request(context, make):
    def slowly(_):
        time.sleep(0.5)
        return fresh("apples\n")

    team = make(3, {"/slow": slowly})
    count = 300 if context.full else 60
    with concurrent.futures.ThreadPoolExecutor(count) as clients:
        found = list(clients.map(lambda number: team.daemons[number % 3].get("/api/slow", timeout=30)[2], range(count)))
    expect_equal(set(found), {b"apples\n"}, "the responses")
    expect_equal(len(team.origin.asked), 1, "requests to the origin")


@case("sharing", "a write, a wipe and a group's invalidation at one daemon count at all within a second")
@shared
def invalidated(context, make):
    content = {"now": 0}

    def numbered(_):
        return fresh(f"{content['now']}\n", Cache_Groups='"fruit"')

    team = make(3, {"/a": numbered, None: Answer(b"", 204)})
    first, *others = team.daemons

    def command(*arguments):
        context.run([context.program, arguments[0], "--socket", first.socket, *arguments[1:]])

    changes = [
        lambda: expect_equal(sent(first, "POST", "/api/a"), 200, "the write"),
        lambda: command("wipe", f"{team.origin.url}/a"),
        lambda: command("wipe", "--match", "**"),
        lambda: command("invalidate", "--group", "fruit"),
        lambda: command("invalidate", f"{team.origin.url}/a"),
    ]
    for change in changes:
        for daemon in team.daemons:
            expect_equal(daemon.get("/api/a")[2], f"{content['now']}\n".encode(), "before")
        content["now"] += 1
        change()
        changed = time.monotonic()
        expect_equal(first.get("/api/a")[2], f"{content['now']}\n".encode(), "at once where it was changed")
        for other in others:
            eventually("it is seen elsewhere", lambda: other.get("/api/a")[2] == f"{content['now']}\n".encode())
        expect(time.monotonic() - changed < 1, "it took longer than a second")


@case("sharing", "a daemon that was cut off, or away, hears what was invalidated meanwhile")
@shared
def cut_off(context, make):
    content = {"now": 0}
    engine = Engine(context)
    ways = [Way(engine), Way(engine)]
    team = make(
        2, {None: lambda _: fresh(f"{content['now']}\n")}, engine=engine, urls=[way.url for way in ways],
        timeout="200 ms")
    first, other = team.daemons

    def before(path):
        for daemon in team.daemons:
            daemon.get(f"/api{path}")

    def after(path):
        content["now"] += 1
        expect_equal(sent(first, "DELETE", f"/api{path}"), 200, "the write")

    before("/a")
    ways[1].cut()
    after("/a")
    time.sleep(0.5)
    expect(other.get("/api/a")[0] == 200, "a daemon that is cut off serves")
    ways[1].mend()
    mended = time.monotonic()
    eventually("it has heard", lambda: other.get("/api/a")[2] == b"1\n")
    expect(time.monotonic() - mended < 5, "it took longer than five seconds")
    # The one that writes is cut off.
    team.until_working(other)
    before("/b")
    ways[0].cut()
    after("/b")
    time.sleep(0.3)
    ways[0].mend()
    eventually("it was told", lambda: other.get("/api/b")[2] == b"2\n")
    # A process that is not there.
    team.until_working(first)
    before("/c")
    time.sleep(1.5)
    expect_equal(other.stop(), None, "the end of the daemon")
    after("/c")
    other.start()
    eventually("it has read on", lambda: other.get("/api/c")[2] == b"3\n")
    # The log is gone.
    for daemon in team.daemons:
        team.until_working(daemon)
    before("/d")
    # What is on its way to the engine is to be there before the engine is emptied, not after.
    time.sleep(0.5)
    content["now"] += 1
    engine.ask("FLUSHALL")
    for daemon in team.daemons:
        eventually("it uses nothing older", lambda: daemon.get("/api/d")[2] == b"4\n")


@case("sharing", "an engine that is slow, away, full, read-only or forbids everything costs time, and little of it")
@shared
def failing(context, make):
    content = {"now": 0}

    def counted(_):
        content["now"] += 1
        return fresh(f"{content['now']}\n")

    team = make(2, {None: counted}, timeout="100 ms")
    engine, daemon, other = team.engine, *team.daemons
    numbers = iter(range(10_000))

    def works(what, seconds=10):
        slowest = 0
        for _ in range(10):
            began = time.monotonic()
            expect_equal(daemon.get(f"/api/{next(numbers)}")[0], 200, what)
            slowest = max(slowest, time.monotonic() - began)
        expect(slowest < seconds, f"{what}: a miss took {slowest:.3f} s")

    def is_used_again(what):
        began = time.monotonic()

        def found():
            path = f"/api/{next(numbers)}"
            one = daemon.get(path)[2]
            time.sleep(0.05)
            return other.get(path)[2] == one

        eventually(f"{what}: it is used again", found)
        expect(time.monotonic() - began < 5, f"{what}: it took {time.monotonic() - began:.1f} s")

    works("all is well")
    is_used_again("all is well")
    engine.process.send_signal(signal.SIGSTOP)
    works("it does not answer", 2)
    engine.process.send_signal(signal.SIGCONT)
    is_used_again("it answers")
    engine.kill()
    works("it is away", 2)
    engine.start()
    is_used_again("it is back")
    engine.ask("CONFIG", "SET", "maxmemory", "1")
    works("it is full", 2)
    engine.ask("CONFIG", "SET", "maxmemory", "0")
    is_used_again("it has room")
    engine.ask("REPLICAOF", "127.0.0.1", "1")
    works("it is read-only", 2)
    engine.ask("REPLICAOF", "NO", "ONE")
    is_used_again("it can be written")
    engine.ask("ACL", "SETUSER", "default", "-eval", "-xread", "-set")
    works("it forbids", 2)
    engine.ask("ACL", "SETUSER", "default", "+@all")
    is_used_again("it permits")


@case("sharing", "nothing that was altered in the engine is served")
@shared
def altered(context, make):
    content = {"now": 0}

    def numbered(path):
        return fresh(f"{path} {content['now']}\n" * 1200)

    team = make(2, {None: numbered})
    first, other = team.daemons
    engine = team.engine
    dice = random.Random(7)
    count = 1000 if context.full else 60
    for number in range(count):
        first.get(f"/api/{number}")
    team.until_written(first, count)
    indexes, pieces = engine.keys("larder:i:*"), engine.keys("larder:c:*")
    expect_equal((len(indexes), len(pieces)), (count, count), "indexes and pieces")
    kept = {key: engine.ask("GET", key) for key in indexes + pieces}
    # At another URL: each has the next one's index.
    for key, value in zip(indexes, [kept[key] for key in indexes[1:] + indexes[:1]]):
        engine.ask("SET", key, value)
    content["now"] = 1

    def is_fetched(path, what):
        found = other.get(f"/api/{path}")[2].decode()
        expect(found.startswith(f"/{path} {content['now']}\n"), f"{what}: {path} has {found[:20]!r}")

    for number in range(0, count, 3):
        is_fetched(number, "another URL's index")
    # A bit of the entity, or of its content.
    for key in indexes + pieces:
        value = bytearray(kept[key])
        value[dice.randrange(16 if key in indexes else 0, len(value))] ^= 1 << dice.randrange(8)
        engine.ask("SET", key, bytes(value))
    for number in range(1, count, 3):
        is_fetched(number, "an altered bit")
    # As it was, but for an invalidation.
    content["now"] = 2
    context.run([context.program, "wipe", "--socket", first.socket, "--match", "**"])
    eventually("it is told", lambda: other.status()["sharedCache"]["received"] >= 1)
    for key in indexes + pieces:
        engine.ask("SET", key, kept[key])
    for number in range(count):
        is_fetched(number, "an older generation")


@case("sharing", "a daemon without the key of the team finds nothing and is believed nothing")
@shared
def stranger(context, make):
    team = make(2, {"/a": fresh("apples\n")})
    team.daemons[0].get("/api/a")
    team.until_written(team.daemons[0], 1)
    configuration = team.configuration(team.engine.url).replace(KEY, KEY[::-1])
    other = context.daemon(configuration, name="stranger")
    team.until_working(other)
    expect_in("fwd=uri-miss", other.get("/api/a")[1]["cache-status"], "the stranger's response")
    expect(other.status()["sharedCache"]["rejected"] > 0, "what it found is counted")
    done = subprocess.run(
        [context.program, "check", "--set", "sharedCache.url=redis://localhost"], capture_output=True, check=False,
        env=context.environment())
    expect_in("sharedCache.key", (done.stdout + done.stderr).decode(), "larder check without a key")


@case("sharing", "an engine is spoken to over TLS, by a user that may do what docs/sharing.md says and no more")
@shared
def secured(context, make):
    authority = Authority(context)
    authority.server(LOOPBACK, "server")
    port, directory = free_port(), context.directory
    engine = Engine(
        context, "--tls-port", str(port), "--tls-cert-file", f"{directory}/server.pem", "--tls-key-file",
        f"{directory}/server.key", "--tls-ca-cert-file", str(authority.certificate), "--tls-auth-clients", "no")
    page = (pathlib.Path(__file__).resolve().parents[3] / "docs/sharing.md").read_text()
    line = next(line for line in page.splitlines() if line.startswith("ACL SETUSER"))
    engine.ask(*line.replace("PASSWORD", "word").split())
    engine.ask("ACL", "SETUSER", "default", "-xadd", "-xread")
    urls = [f"rediss://localhost:{port}"] * 2
    settings = {"username": "larder", "password": "word", "tls": f"{{ caFile: {authority.certificate} }}"}
    routes = {"/a": fresh("apples\n"), "/long": fresh("0123456789" * 90_000)}
    team = make(2, routes, engine=engine, urls=urls, **settings)
    first, other = team.daemons
    for number, path in enumerate(["/api/a", "/api/long"]):
        first.get(path)
        team.until_written(first, number + 1)
        expect_in("detail=shared", other.get(path)[1]["cache-status"], f"the second response to {path}")
    sent(first, "POST", "/api/a")
    eventually("it is told", lambda: other.status()["sharedCache"]["received"] == 1)
    denied = engine.ask("ACL", "LOG")
    expect_equal(denied, [], "what the engine denied")
    # Whom the system does not trust is not spoken to.
    settings.pop("tls")
    stranger = context.daemon(
        team.configuration(urls[0]).replace(f"  tls: {{ caFile: {authority.certificate} }}\n", ""), name="stranger")
    expect_equal(stranger.get("/api/a")[0], 200, "the response without the tier")
    eventually("it says why", lambda: "certificate" in stranger.status()["sharedCache"]["state"])


@case("sharing", "content longer than memory keeps is shared by way of the disk, a piece at a time")
@shared
def long(context, make):
    noise = random.Random(1).randbytes((256 << 10) - 8)
    count = 1200 if context.full else 150
    content = b"".join(number.to_bytes(8, "big") + noise for number in range(count)) + b"end"
    team = make(3, {None: fresh(content)}, maxObject="1 GiB", timeout="200 ms")
    first, second, third = team.daemons

    def peak(daemon):
        lines = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) >> 10

    def fetch(daemon, path):
        status, fields, found = daemon.get(f"/api{path}", timeout=120)
        expect(status == 200 and found == content, f"the content of {path}: {status}, {len(found)} octets")
        return fields["cache-status"]

    before = [peak(daemon) for daemon in team.daemons]
    expect_in("fwd=uri-miss", fetch(first, "/a"), "the first response")
    eventually("it is shared", lambda: first.status()["sharedCache"]["written"] == 1, 120)
    expect_equal(len(team.engine.keys("larder:c:*")), count + 1 + (count > 127), "pieces in the engine")
    expect_in("detail=shared", fetch(second, "/a"), "another daemon's response")
    expect("detail=shared" not in fetch(second, "/a"), "the second response is the daemon's own")
    # A piece in the middle is gone: a miss, and the whole is there again afterwards.
    middle = hashlib.sha256((count // 2).to_bytes(8, "big") + noise).hexdigest()
    expect_equal(team.engine.ask("DEL", f"larder:c:{middle}"), 1, "pieces that were removed")
    expect_in("fwd=uri-miss", fetch(third, "/a"), "the response without one of the pieces")
    expect_in("hit", fetch(third, "/a"), "the response to the same request again")
    expect_equal(len(team.origin.asked), 2, "requests to the origin")
    for daemon, low in zip(team.daemons, before):
        expect(peak(daemon) - low < 96, f"the daemon's memory grew from {low} to {peak(daemon)} MiB")
