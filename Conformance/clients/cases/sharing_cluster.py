# SPDX-License-Identifier: Apache-2.0
"""A cluster under load whose nodes die, hang, fill up and refuse, and whose slots move.

SHARING_SECONDS says how long all of it takes together, instead of five minutes with --full and twenty seconds without.
"""

import concurrent.futures
import itertools
import os
import random
import signal
import statistics
import threading
import time

from cases.sharing import Team
from harness.case import case, expect, expect_equal
from harness.engine import Cluster, eventually
from harness.origin import fresh

TIMEOUT = 0.1
# The machine's own moods, in the middle and at the worst.
MOODS = (0.05, 0.25)
AGAIN = 5


class Load:
    """Clients of all daemons, some for what everybody wants and one for what nobody has, and what they saw."""

    def __init__(self, team, clients):
        self.team = team
        self.is_over = threading.Event()
        self.wrong = []
        self.count = 0
        # How long misses took of which only one client knows, in the present phase.
        self.misses = []
        self.slowest = 0
        self.numbers = itertools.count()
        self.pool = concurrent.futures.ThreadPoolExecutor(clients + 1)
        self.running = [self.pool.submit(self.ask, number) for number in range(clients)]
        self.running.append(self.pool.submit(self.ask_alone))

    @staticmethod
    def content(path):
        # A small one, one of several pieces, and one in between.
        return f"{path}\n" * {0: 10, 1: 60_000}.get(int(path.rsplit("/", 1)[1]) % 10, 900)

    def get(self, daemon, path):
        began = time.monotonic()
        try:
            status, fields, content = daemon.get(f"/api{path}", timeout=30)
        except OSError as error:
            self.wrong.append(f"{path}: {error}")
            return {}, 0
        took = time.monotonic() - began
        self.count += 1
        self.slowest = max(self.slowest, took)
        if (status, content) != (200, self.content(path).encode()):
            self.wrong.append(f"{path}: {status} {content[:30]}")
        return fields, took

    def ask(self, number):
        dice = random.Random(number)
        while not self.is_over.is_set():
            self.get(self.team.daemons[number % len(self.team.daemons)], f"/{dice.randrange(300)}")
            time.sleep(0.005)

    def ask_alone(self):
        while not self.is_over.is_set():
            path = f"/alone/{next(self.numbers) * 10 + 5}"
            fields, took = self.get(self.team.daemons[0], path)
            if "fwd=uri-miss" in fields.get("cache-status", ""):
                self.misses.append(took)
            time.sleep(0.02)

    def phase(self):
        """The misses since the last phase."""
        misses, self.misses = self.misses, []
        return misses

    def end(self):
        self.is_over.set()
        for running in self.running:
            running.result()
        self.pool.shutdown()


class Disturbances:
    """Each of them begins, lasts, and is over when its function returns."""

    def __init__(self, cluster, lasting):
        self.cluster = cluster
        self.lasting = lasting

    def each(self, *words):
        for node in self.cluster.nodes:
            if node.process:
                node.ask(*words)

    def well(self):
        eventually("the cluster is well", lambda: all(self.cluster.is_well(node) for node in self.cluster.nodes), 60)

    def nothing(self):
        time.sleep(self.lasting)

    def dead_master(self):
        dead, _ = self.cluster.masters()[0]
        dead.kill()
        time.sleep(self.lasting)
        dead.start()

    def moved_slots(self):
        (_, source), (_, target), *_ = self.cluster.masters()
        self.cluster.run(
            "--cluster", "reshard", f"127.0.0.1:{self.cluster.nodes[1].port}", "--cluster-from", source,
            "--cluster-to", target, "--cluster-slots", "1000", "--cluster-yes")

    def stopped(self):
        for node in self.cluster.nodes:
            node.process.send_signal(signal.SIGSTOP)
        time.sleep(self.lasting)
        for node in self.cluster.nodes:
            node.process.send_signal(signal.SIGCONT)

    def gone(self):
        """All of it, with all that it kept in memory."""
        for node in self.cluster.nodes:
            node.kill()
        time.sleep(self.lasting)
        for node in self.cluster.nodes:
            node.start()

    def slow(self):
        end = time.monotonic() + self.lasting
        while time.monotonic() < end:
            self.each("CLIENT", "PAUSE", "200", "ALL")
            time.sleep(0.05)

    def full(self):
        self.each("CONFIG", "SET", "maxmemory-policy", "noeviction")
        self.each("CONFIG", "SET", "maxmemory", "1")
        time.sleep(self.lasting)
        self.each("CONFIG", "SET", "maxmemory", "0")

    def read_only(self):
        self.each("CONFIG", "SET", "min-replicas-to-write", "5")
        time.sleep(self.lasting)
        self.each("CONFIG", "SET", "min-replicas-to-write", "0")

    def forbidden(self):
        self.each("ACL", "SETUSER", "default", "-eval", "-xread", "-set")
        time.sleep(self.lasting)
        self.each("ACL", "SETUSER", "default", "+@all")


def seconds_until_used(team, load):
    """How long it takes until what one daemon fetches is found by another."""
    began = time.monotonic()

    def found():
        path = f"/again/{next(load.numbers) * 10 + 5}"
        load.get(team.daemons[0], path)
        time.sleep(0.05)
        return "detail=shared" in load.get(team.daemons[1], path)[0].get("cache-status", "")

    eventually("it is used again", found, 30)
    return time.monotonic() - began


@case("sharing", "a cluster whose masters die and whose slots move costs no client a response")
def disturbed(context):
    names = ["dead_master", "moved_slots"]
    seconds = float(os.environ.get("SHARING_SECONDS", 300 if context.full else 20))
    if context.full or "SHARING_SECONDS" in os.environ:
        names += ["stopped", "slow", "full", "read_only", "forbidden", "gone"]
    cluster = Cluster(context)
    team = Team(
        context, 3, {None: lambda path: fresh(Load.content(path), seconds=2)}, engine=cluster,
        timeout=f"{int(TIMEOUT * 1000)} ms")
    disturbances = Disturbances(cluster, seconds / (len(names) + 1) / 2)
    load = Load(team, 6)
    lines = []
    try:
        disturbances.nothing()
        calm = load.phase()
        for name in names:
            load.phase()
            getattr(disturbances, name)()
            misses = load.phase()
            disturbances.well()
            used = seconds_until_used(team, load)
            expect(len(misses) > 3, f"{name}: too few misses to say anything: {len(misses)}")
            added = statistics.median(misses) - statistics.median(calm)
            late = statistics.quantiles(misses, n=20)[-1] - statistics.quantiles(calm, n=20)[-1]
            lines.append(
                f"{name}: used again after {used:.1f} s; misses {added * 1000:+.0f} ms (median), {late * 1000:+.0f} ms"
                f" (of twenty the slowest), of {len(misses)}")
            expect(used < AGAIN, f"{name}: used again only after {used:.1f} s")
            expect(added <= TIMEOUT + MOODS[0], f"{name}: a miss takes {added * 1000:.0f} ms longer")
            expect(late <= TIMEOUT + MOODS[1], f"{name}: the slowest misses take {late * 1000:.0f} ms longer")
            disturbances.nothing()
    finally:
        load.end()
    expect_equal(load.wrong[:3], [], f"wrong responses of {load.count}")
    # A look-up, its content, a lease, the wait for another daemon, and the machine.
    expect(load.slowest < 3.5, f"the slowest response took {load.slowest:.2f} s")
    found = [daemon.status()["sharedCache"]["found"] for daemon in team.daemons]
    expect(min(found) > 20, f"found in the tier: {found}")
    return "\n".join([*lines, f"{load.count} responses, the slowest after {load.slowest:.2f} s; found {found}"])
