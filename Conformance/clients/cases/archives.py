# SPDX-License-Identifier: Apache-2.0
"""Tar archives that leave one daemon and come into another, as other programs read them."""

import gzip
import hashlib
import json
import os
import random
import subprocess
import tarfile
import time

from cases.commands import Shell
from harness.case import case, expect, expect_equal, expect_in, is_hit
from harness.origin import Answer, fresh

KIB = 1 << 10
SIZES = (0, 1, 511, 512, 513, 70 * KIB, 3 << 20)


class Moved:
    """An origin with resources of all sizes and kinds, and a daemon that has fetched them."""

    def __init__(self, context):
        self.context = context
        self.contents = {f"/{size}": os.urandom(size) for size in SIZES}
        self.origin = context.origin({None: self.answer})
        self.configuration = (
            f"services:\n  api:\n    baseURL: {self.origin.url}\n"
            f"  users:\n    baseURL: {self.origin.url}/users/\n    privacy: partitioned\n")
        # Responses that everybody is given: a path, fields of the request.
        self.shared = [(path, {}) for path in self.contents]
        self.shared += [("/words", {"Accept-Language": language}) for language in ("de", "fr", "fi")]
        self.shared += [("/packed", {"Accept-Encoding": "gzip"}), ("/gone", {})]
        # One user's alone.
        self.own = [("/own", {"Authorization": "Bearer me"})]
        self.own += [("/users/me", {"Authorization": f"Bearer {name}"}) for name in ("a", "b")]
        self.daemon = context.daemon(self.configuration)
        self.shell = Shell(context, self.daemon)
        self.got = {}
        for path, fields in self.shared + self.own:
            self.got[path, *fields.values()] = self.get(self.daemon, path, fields)
        self.file = context.directory / "moved.tar"

    def answer(self, path):
        language = self.origin.asking.get("accept-language", "none")
        if path == "/words":
            return fresh(f"in {language}\n", Vary="Accept-Language", ETag=f'"{language}"')
        if path == "/packed":
            packed = gzip.compress(b"packed " * 1000, mtime=0)
            return fresh(packed, Content_Encoding="gzip", Vary="Accept-Encoding", ETag='"packed"')
        if path == "/gone":
            return Answer(b"gone\n", 404, {"Cache-Control": "max-age=600"})
        if path == "/own":
            return Answer(b"own\n", 200, {"Cache-Control": "max-age=600, must-revalidate"})
        if path == "/users/me":
            user = self.origin.asking.get("authorization", "nobody")
            return Answer(user.encode(), 200, {"Cache-Control": "private, max-age=600"})
        return fresh(self.contents[path], "application/octet-stream", ETag=f'"{path}"')

    def get(self, daemon, path, fields):
        mount = "" if path.startswith("/users/") else "/api"
        return daemon.get(f"{mount}{path}", fields)

    def run(self, daemon, *words):
        return self.context.run([self.context.program, *words, "--socket", daemon.socket], check=False)

    def elsewhere(self, name, **sets):
        return self.context.daemon(self.configuration, name=name, sets=sets)

    def check(self, daemon, paths=None, may_miss=False):
        """Everything is answered as it was at first, octet for octet. Returns how many answers were hits."""
        hits = 0
        asked = len(self.origin.asked)
        for path, fields in paths or self.shared:
            status, head, content = self.got[path, *fields.values()]
            now, later, got = self.get(daemon, path, fields)
            if may_miss and not is_hit(later):
                continue
            what = f"{path} {fields}"
            expect(is_hit(later), f"{what}: expected a hit, got {later.get('cache-status')}")
            expect_equal((now, hashlib.sha256(got).digest()), (status, hashlib.sha256(content).digest()), what)
            for name in ("date", "etag", "vary", "content-type", "content-encoding", "content-length", "cache-control"):
                expect_equal(later.get(name), head.get(name), f"{name} of {what}")
            hits += 1
        if not may_miss:
            expect_equal(len(self.origin.asked), asked, "requests at the origin")
        return hits


@case("archives", "an export is a tar archive that tar and sha256sum understand, and is served where it is imported")
def moved(context):
    scene = Moved(context)
    done = scene.run(scene.daemon, "export", "**", scene.file)
    expect_equal(done.returncode, 0, f"exit status of export: {done.stderr.decode()}")
    expect_in("3 that may be one user's alone", done.stderr.decode(), "what is said of what was left out")
    names = context.run([context.command("tar"), "-tf", scene.file]).stdout.decode().split()
    expect_equal((names[0], names[-1]), ("archive.json", "summary.json"), "its first and its last file")
    expect_equal(len(names), 2 + 3 * len(scene.shared), "its files")
    with tarfile.open(scene.file) as archive:
        for name in names[1:-1:3]:
            head = json.load(archive.extractfile(name))
            expect("me" not in head["url"] and "own" not in head["url"], f"{head['url']} was exported")
    folder = context.directory / "unpacked"
    folder.mkdir()
    tar = context.command("tar")
    context.run([tar, "-xf", scene.file, "-C", folder])
    sums = b"".join(path.read_bytes() for path in sorted(folder.glob("entities/*.sha256")))
    (folder / "sums").write_bytes(sums)
    done = subprocess.run([context.command("sha256sum"), "--check", "--strict", "--quiet", "sums"], cwd=folder,
                          capture_output=True, check=False)
    expect_equal((done.returncode, done.stdout), (0, b""), "what sha256sum says")

    elsewhere = scene.elsewhere("elsewhere")
    answer = Shell(context, elsewhere).json("import", scene.file)
    expect_equal((answer["imported"], answer["refused"]), (len(scene.shared), 0), f"what was imported: {answer}")
    scene.check(elsewhere)
    again = Shell(context, elsewhere).json("import", scene.file)
    expect_equal((again["imported"], again["kept"]), (0, len(scene.shared)), "what is imported again")
    # An archive that other programs pack again can be imported as well.
    context.run([tar, "--sort=name", "-cf", scene.file, "-C", folder, "./archive.json", "./entities", "./summary.json"])
    third = scene.elsewhere("third")
    answer = Shell(context, third).json("import", scene.file)
    expect_equal((answer["imported"], answer["isComplete"]), (len(scene.shared), True), f"packed again: {answer}")
    scene.check(third)
    expect_equal(scene.run(scene.daemon, "export", "/nothing/*", scene.file).returncode, 2, "nothing matched")


@case("archives", "users' responses leave and come back with --private alone, to themselves, and through pipes")
def private(context):
    scene = Moved(context)
    everything = scene.shared + scene.own
    done = scene.run(scene.daemon, "export", "**", scene.file, "--private")
    expect_equal(done.returncode, 0, f"exit status of export: {done.stderr.decode()}")
    expect_equal(scene.file.stat().st_mode & 0o777, 0o600, "the mode of a private export")
    scene.shell.text("wipe", "--match", "**")
    done = scene.run(scene.daemon, "import", scene.file)
    expect_in("3 that may be one user's alone", done.stderr.decode(), "what is left out without --private")
    packed = context.directory / "moved.tar.gz"
    larder = f'"{context.program}"'
    socket = f'--socket "{scene.daemon.socket}"'
    shell = context.run(["bash", "-ec", f'set -o pipefail; gzip < "{scene.file}" > "{packed}"; '
                         f'{larder} wipe --match "**" {socket} > /dev/null; '
                         f'gzip -d < "{packed}" | {larder} import - --private --json {socket}'])
    answer = json.loads(shell.stdout)
    expect_equal(answer["imported"], len(everything), f"what came out of a pipe: {answer}")
    scene.check(scene.daemon, everything)
    shell = context.run(["bash", "-ec", f'set -o pipefail; {larder} export "**" - --private {socket} | tar -t | wc -l'])
    expect_equal(int(shell.stdout), 2 + 3 * len(everything), "files that went into a pipe")
    # Another installation does not know the users.
    other = scene.elsewhere("other")
    done = scene.run(other, "import", scene.file, "--private", "--json")
    answer = json.loads(done.stdout)
    expect_equal((done.returncode, answer["refused"]), (1, 2), f"users of another installation: {answer}")


@case("archives", "a cut or altered archive is taken as far as it is right, says so, and can be imported again")
def broken(context):
    scene = Moved(context)
    scene.shell.text("export", "**", scene.file)
    whole = scene.file.read_bytes()
    elsewhere = scene.elsewhere("elsewhere")
    scene.file.write_bytes(whole[: len(whole) // 2])
    done = scene.run(elsewhere, "import", scene.file)
    expect_equal(done.returncode, 1, "exit status of a cut import")
    expect_in("not taken in to its end", done.stderr.decode(), "what is said of it")
    scene.file.write_bytes(b"nothing of the kind\n" * 100)
    done = scene.run(elsewhere, "import", scene.file)
    expect_equal(done.returncode, 1, "exit status for what is none")
    expect_in("no export of Larder", done.stderr.decode(), "what is said of it")
    altered = bytearray(whole)
    altered[whole.index(scene.contents["/513"])] ^= 1
    scene.file.write_bytes(bytes(altered))
    done = scene.run(scene.elsewhere("third"), "import", scene.file)
    expect_equal(done.returncode, 1, "exit status of an altered import")
    expect_in("/513", done.stdout.decode(), "the refusals")
    scene.file.write_bytes(whole)
    Shell(context, elsewhere).text("import", scene.file)
    scene.check(elsewhere)
    expect_equal([path.name for path in context.directory.glob("*.part")], [], "unfinished files")


@case("archives", "whatever happens to an archive on its way, nothing is stored that was not exported")
def mutated(context):
    scene = Moved(context)
    small = [(path, fields) for path, fields in scene.shared if path != f"/{3 << 20}"]
    scene.shell.text("wipe", "--match", f"/{3 << 20}")
    scene.shell.text("export", "**", scene.file)
    whole = scene.file.read_bytes()
    chance = random.Random(15)
    elsewhere = scene.elsewhere("elsewhere")
    hits = 0
    for _ in range(500 if context.full else 40):
        octets = bytearray(whole)
        place = chance.randrange(len(octets))
        match chance.randrange(6):
            case 0: octets[place] ^= 1 << chance.randrange(8)
            case 1: del octets[place:]
            case 2: del octets[place:place + chance.randrange(1, 2000)]
            case 3: octets[place:place] = os.urandom(chance.randrange(1, 2000))
            case 4: octets[place:place + 512] = os.urandom(512)
            # A head of a file: its name, its size, its type.
            case 5:
                start = place // 512 * 512
                octets[start + chance.choice((0, 124, 125, 130, 156, 257))] = chance.randrange(256)
                octets[start + 148:start + 156] = b"%06o\0 " % (
                    sum(octets[start:start + 148]) + sum(octets[start + 156:start + 512]) + 8 * 0x20)
        scene.file.write_bytes(octets)
        done = scene.run(elsewhere, "import", scene.file)
        expect(done.returncode in (0, 1) and b"Fatal" not in done.stderr, f"import: {done.stderr.decode()}")
        hits += scene.check(elsewhere, small, may_miss=True)
        scene.run(elsewhere, "wipe", "--match", "**")
    expect(hits > 0, "no import took anything")


@case("archives", "an import that is killed leaves whole responses alone, and goes on when it is repeated")
def killed(context):
    contents = {f"/{number}": hashlib.sha256(str(number).encode()).digest() * (32 * KIB) for number in range(24)}
    origin = context.origin({path: fresh(content) for path, content in contents.items()})
    configuration = f"services:\n  api:\n    baseURL: {origin.url}\n"
    daemon = context.daemon(configuration)
    for path in contents:
        daemon.get(f"/api{path}")
    file = context.directory / "moved.tar"
    Shell(context, daemon).text("export", "**", file)
    elsewhere = context.daemon(configuration, name="elsewhere")
    importing = subprocess.Popen([context.program, "import", file, "--socket", elsewhere.socket],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 30
    while elsewhere.status()["store"]["entries"] < 4 and importing.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    elsewhere.kill()
    importing.communicate(timeout=30)
    elsewhere.start()
    asked = len(origin.asked)
    again = context.run([context.program, "import", file, "--json", "--socket", elsewhere.socket])
    answer = json.loads(again.stdout)
    expect_equal(answer["imported"] + answer["kept"], len(contents), f"what the second import leaves: {answer}")
    for path, content in contents.items():
        expect_equal(elsewhere.get(f"/api{path}")[2] == content, True, f"content of {path}")
    expect_equal(len(origin.asked), asked, "requests at the origin")
