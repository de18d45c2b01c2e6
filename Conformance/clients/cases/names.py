# SPDX-License-Identifier: Apache-2.0
"""Origins that have names of the domain name system, with a name server of the case's own: in a network namespace,
where the system's resolver file is another one."""

import pathlib
import threading
import time

from cases.curl import curl
from harness.case import case, expect, expect_equal, expect_hit, expect_in
from harness.names import SERVER_FAILURE, Name, NameServer
from harness.namespace import run_inside
from harness.origin import Answer, fresh

SERVER, NEXT_SERVER = "127.0.0.53", "127.0.0.54"
CLIENT, LISTENING, MOVED, DEAD = "192.0.2.7", "192.0.2.1", "192.0.2.9", "192.0.2.66"
# Of no interface of this machine, though it leads here.
OUTSIDE = "9.9.9.80"
THREADS = 2
# How long reaching an origin may take, in seconds.
CONNECTING = 1.0


@case("names", "origins by name: both families, aliases, names that fail, are silent or move, and the time after")
def names(context):
    addresses = "".join(f"ip addr add {address}/32 dev lo; " for address in (CLIENT, LISTENING, MOVED, DEAD))
    addresses += "ip -6 addr add 2001:db8::66/128 dev lo; "
    addresses += f"ip route add local {OUTSIDE}/32 dev lo; "
    resolver = context.directory / "resolv.conf"
    resolver.write_text(f"nameserver {SERVER}\n")
    system = pathlib.Path("/etc/resolv.conf").resolve()
    expect(system.exists(), "this system has no /etc/resolv.conf to put another in the place of")
    run_inside(context, __name__, "nm", f'{addresses} mount --bind "{resolver}" "{system}"; ')


class Scene:
    """A name server, a daemon that asks it, and an origin."""

    def __init__(self, context):
        self.context = context
        self.server = NameServer(SERVER, {})
        self.origin = context.origin({None: self.answer})
        self.daemon = context.daemon(
            f'access:\n  allow: ["192.0.2.0/24"]\ntimeouts:\n  connect: {CONNECTING:g} s\n'
            "services:\n  kept:\n"
            f"    baseURL: http://kept.test:{self.origin.port}/\n    offline: auto\n",
            sets={"listen": f'["127.0.0.1:{{port}}", "{LISTENING}:{{port}}"]', "threads": THREADS},
        )

    @staticmethod
    def answer(path):
        return Answer(b"seen\n", 200, {"Cache-Control": "no-store", "Connection": "close"})

    def ask(self, name, path="/x", *options, port=None, proxy="127.0.0.1"):
        """(status, fields, content, seconds) of a GET through the proxy."""
        url = name if "://" in name else f"http://{name}:{port or self.origin.port}{path}"
        started = time.monotonic()
        answer = curl(self.context, "-x", f"http://{proxy}:{self.daemon.port}", *options, url)
        return *answer, time.monotonic() - started

    def expect_seen(self, name, what, *options, **more):
        status, fields, content, _ = self.ask(name, "/x", *options, **more)
        expect_equal((status, content), (200, b"seen\n"), f"{what} ({fields.get('proxy-status')})")

    def expect_error(self, name, status, error, what):
        actual, fields, content, seconds = self.ask(name)
        expect_equal(actual, status, what)
        expect_in(error, fields.get("proxy-status", ""), f"Proxy-Status, {what}")
        expect_in(name.encode(), content, f"what the client is told, {what}")
        expect(seconds < CONNECTING + 3, f"{what}: an answer after {seconds:.1f} s")


def inside(context):
    scene = Scene(context)
    found = scene.server.names
    addresses(scene, found)
    failures(scene, found)
    access(scene, found)
    lost(scene, found)
    changes(scene, found)


def addresses(scene, found):
    """Whatever the answer's form: one family, both, an alias, more addresses than one."""
    found["four.test"] = Name("127.0.0.1")
    scene.expect_seen("four.test", "an IPv4 address")
    found["alias.test"] = Name(alias="four.test")
    scene.expect_seen("alias.test", "an alias")
    found["both.test"] = Name("127.0.0.1", "2001:db8::66")
    scene.expect_seen("both.test", "an IPv6 address where nobody listens beside one of IPv4")
    found["many.test"] = Name(DEAD, MOVED, "127.0.0.1")
    scene.expect_seen("many.test", "two addresses where nobody listens before the right one")
    expect_equal(scene.ask("FOUR.test.")[0], 200, "the status by the name in other letters, with its dot")
    scene.expect_seen(f"{scene.daemon.url}/http/four.test:{scene.origin.port}/x", "the gateway")
    # One question of each thread for each family, as long as the answer holds.
    found["once.test"] = Name("127.0.0.1", ttl=60)
    for _ in range(3 * THREADS):
        scene.expect_seen("once.test", "a name again")
    asked = [kind for name, kind in scene.server.asked if name == "once.test"]
    expect(len(asked) <= 2 * THREADS, f"questions about a name whose answer holds for a minute: {asked}")


def failures(scene, found):
    """Errors in the words of RFC 9209, in time, and nobody else waits."""
    scene.expect_error("nobody.test", 502, "dns_error", "a name that does not exist")
    found["broken.test"] = Name(code=SERVER_FAILURE)
    scene.expect_error("broken.test", 502, "dns_error", "a name whose servers fail")
    found["empty.test"] = Name()
    scene.expect_error("empty.test", 502, "dns_error", "a name without addresses")
    found["loop.test"] = Name(alias="gone.test")
    scene.expect_error("loop.test", 502, "dns_error", "an alias of nothing")
    found["silent.test"] = Name(silent=True)
    scene.expect_error("silent.test", 504, "dns_timeout", "a name nobody says anything about")
    found["slow.test"] = Name("127.0.0.1", delay=0.3)
    scene.expect_seen("slow.test", "an answer that takes its time")

    # While many wait for names that are lost, others are found.
    waiting = [threading.Thread(target=scene.ask, args=(f"lost{number}.test",)) for number in range(20)]
    for number, thread in enumerate(waiting):
        found[f"lost{number}.test"] = Name(silent=True)
        thread.start()
    found["fine.test"] = Name("127.0.0.1")
    status, _, _, seconds = scene.ask("fine.test")
    expect_equal(status, 200, "a name beside twenty that are lost")
    expect(seconds < CONNECTING, f"it took {seconds:.1f} s")
    for thread in waiting:
        thread.join()
    # Whatever was set to end a wait has gone off by now.
    time.sleep(CONNECTING + 0.3)
    expect(scene.daemon.process.poll() is None, f"the daemon is gone:\n{scene.daemon.log_tail()}")
    scene.expect_seen("four.test", "a name after the time for it")


def access(scene, found):
    """A name is no way to what an address may not reach."""
    found["inner.test"] = Name("127.0.0.1")
    network = ("--interface", CLIENT)
    expect_equal(scene.ask("inner.test", "/x", *network, proxy=LISTENING)[0], 403,
                 "the status of a name that leads to this machine, for a client of the network")
    # A name that led elsewhere when it was asked first.
    scene.context.origin({None: scene.answer}, address=OUTSIDE, port=scene.origin.port)
    found["turned.test"] = Name(OUTSIDE)
    scene.expect_seen("turned.test", "a name that leads outside", *network, proxy=LISTENING)
    found["turned.test"] = Name("127.0.0.1")
    time.sleep(1.2)
    expect_equal(scene.ask("turned.test", "/x", *network, proxy=LISTENING)[0], 403, "the status once it turned")
    done = scene.context.run(
        [scene.context.command("curl"), "-sS", "-p", "--noproxy", "", "-x", f"http://{LISTENING}:{scene.daemon.port}",
         *network, f"http://inner.test:{scene.origin.port}/x"], check=False)
    expect(done.returncode != 0 and b"403" in done.stderr, f"a tunnel to this machine by name: {done.stderr}")


def lost(scene, found):
    """Offline by itself while the names are lost, and back when they are found again."""
    found["kept.test"] = Name("127.0.0.1")
    scene.origin.routes["/stored"] = fresh("stored\n", seconds=1, Connection="close")
    expect_equal(scene.daemon.get("/kept/stored")[2], b"stored\n", "the content")
    found["kept.test"] = Name(silent=True)
    time.sleep(1.2)
    for number in range(5):
        status, _, content = scene.daemon.get("/kept/stored")
        expect_equal((status, content), (200, b"stored\n"), f"what is stored while its name is lost, {number}")
    found["kept.test"] = Name("127.0.0.1")
    scene.origin.routes["/stored"] = fresh("changed\n", seconds=60, Connection="close")
    end = time.monotonic() + 20
    while scene.daemon.get("/kept/stored")[2] != b"changed\n":
        expect(time.monotonic() < end, "the name is there again, and its origin is not asked")
        time.sleep(0.1)
    expect_hit(scene.daemon.get("/kept/stored")[1], "what came then")


def changes(scene, found):
    """A name that moves is followed when its answer is over; so is a resolver file that changes."""
    found["moving.test"] = Name("127.0.0.1")
    scene.expect_seen("moving.test", "a name before it moves")
    other = scene.context.origin({None: Answer(b"moved\n", 200, {"Cache-Control": "no-store"})}, address=MOVED,
                                 port=scene.origin.port)
    found["moving.test"] = Name(MOVED)
    time.sleep(1.2)
    expect_equal(scene.ask("moving.test")[2], b"moved\n", "the content after the name moved")
    expect_equal(len(other.asked), 1, "requests where it moved to")

    scene.server.close()
    NameServer(NEXT_SERVER, {"later.test": Name("127.0.0.1")})
    (scene.context.directory / "resolv.conf").write_text(f"nameserver {NEXT_SERVER}\n")
    end = time.monotonic() + 20
    while scene.ask("later.test")[0] != 200:
        expect(time.monotonic() < end, "the new name server is not asked")
        time.sleep(0.2)
    expect_equal(scene.daemon.log().count("Fatal error"), 0, "crashes")
