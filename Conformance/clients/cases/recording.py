# SPDX-License-Identifier: Apache-2.0
"""A test suite that is recorded once and then runs without its origin, and what leaves the daemon of that."""

import itertools
import json

from cases.interception import Opened
from harness.case import Skipped, case, expect, expect_equal, expect_in
from harness.har import SCHEMA, problems
from harness.origin import Answer

SUITE = '''
import json, os, unittest, urllib.request

BASE = os.environ["BASE"]
SEEN = []

def ask(path, data=None, method=None):
    fields = {"Authorization": "Bearer hush", "Content-Type": "application/json"}
    request = urllib.request.Request(BASE + path, data=data, method=method, headers=fields)
    with urllib.request.urlopen(request) as answer:
        content = answer.read()
        SEEN.append([answer.status, answer.headers["X-Number"], content.hex()])
        return content

class Things(unittest.TestCase):
    def test_list(self):
        self.assertTrue(ask("/things?api_key=hush"))
    def test_changes(self):
        self.assertNotEqual(ask("/poll"), ask("/poll"))
    def test_made(self):
        first = ask("/things", b'{"name": "a", "password": "hush"}')
        second = ask("/things", b'{"name": "b", "password": "hush"}')
        self.assertNotEqual(first, second)
    def test_replaced(self):
        ask("/things/1", b"{}", "PUT")
        ask("/things/1", None, "DELETE")
    def test_binary(self):
        self.assertEqual(len(ask("/binary")), 257)

unittest.main(exit=False, verbosity=0)
print(json.dumps(sorted(SEEN)))
'''


class Recorded(Opened):
    """An origin that never gives the same answer twice, and a suite that asks it."""

    def __init__(self, context):
        numbers = itertools.count(1)

        def answer(path):
            number = next(numbers)
            content = bytes(range(256)) + bytes([number]) if path == "/binary" else json.dumps(
                {"number": number, "access_token": "hush"}).encode()
            kind = "application/octet-stream" if path == "/binary" else "application/json"
            return Answer(content, 200, {
                "X-Number": str(number), "Content-Type": kind, "Set-Cookie": "session=hush",
                "Cache-Control": "no-store"})

        super().__init__(context, hosts="[]", routes={None: answer})
        self.suite = context.directory / "suite.py"
        self.suite.write_text(SUITE)

    def test(self, *options, check=True):
        return self.run(
            "env", f"BASE=https://localhost:{self.origin.port}", "python3", self.suite, options=options, check=check)

    def lane(self, *words, check=True):
        return self.context.run(
            [self.context.program, "lane", *words, "--socket", self.daemon.socket], check=check)


@case("recording", "a unittest suite is recorded once, and runs again with the origin off, octet for octet")
def replayed(context):
    scene = Recorded(context)
    first = scene.test("--record", "suite")
    expect_in("recorded as suite: 8 requests", first.stderr.decode(), "the summary")
    expect_equal(len(scene.origin.asked), 8, "requests at the origin")
    scene.origin.close()
    context.origins.remove(scene.origin)
    for _ in range(2):
        again = scene.test("--replay", "suite", "--fail-on-miss")
        expect_equal(again.stdout, first.stdout, "what the suite got")
    expect_in("8 requests, 8 from the cache", again.stderr.decode(), "the summary of the replay")
    other = scene.run(
        "curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", f"https://localhost:{scene.origin.port}/other",
        options=["--replay", "suite", "--fail-on-miss"], check=False)
    expect_equal((other.stdout, other.returncode), (b"504", 113), "what was never recorded")
    missing = scene.test("--replay", "nothing", check=False)
    expect_in("nothing", missing.stderr.decode(), "what is said of a recording that is not there")


@case("recording", "a recording leaves the daemon as HAR 1.2 without secrets, and works where it is imported")
def exported(context):
    scene = Recorded(context)
    first = scene.test("--record", "suite")
    file = context.directory / "suite.har"
    scene.lane("export", "suite", file)
    text = file.read_text()
    expect("hush" not in text, "a secret is in the archive")
    archive = json.loads(text)
    expect_equal(problems(archive, SCHEMA), [], "what is wrong with the archive")
    expect_equal(len(archive["log"]["entries"]), 8, "its entries")
    elsewhere = context.daemon(name="elsewhere")
    scene.daemon = elsewhere
    scene.lane("import", "copy", file)
    scene.origin.close()
    context.origins.remove(scene.origin)
    again = scene.test("--replay", "copy", "--fail-on-miss")
    names = [line[:2] for line in json.loads(first.stdout)]
    expect_equal([line[:2] for line in json.loads(again.stdout)], names, "statuses and fields of the copy")
    expect_equal(scene.lane("diff", "copy", file).stdout, b"", "differences to where it comes from")
    archive["log"]["entries"][0]["response"]["status"] = 500
    archive["log"]["entries"].pop()
    changed = context.directory / "changed.har"
    changed.write_text(json.dumps(archive))
    done = scene.lane("diff", "copy", changed, check=False)
    expect_equal(done.returncode, 1, "exit status of diff")
    expect_equal(sorted(line[:1] for line in done.stdout.splitlines()), [b"-", b"~"], "the kinds of differences")
    listed = scene.lane("list").stdout.decode()
    expect_in("recording copy", listed, "the list")
    scene.lane("remove", "copy")
    expect("copy" not in scene.lane("list").stdout.decode(), "it is still listed")
    files = list(context.directory.rglob("recordings/*.har"))
    expect_equal([path.stat().st_mode & 0o777 for path in files], [0o600] * len(files), "permissions of recordings")


@case("recording", "the archive satisfies its schema by jsonschema as well")
def judged(context):
    try:
        import jsonschema
    except ImportError:
        raise Skipped("python's jsonschema is not installed") from None
    scene = Recorded(context)
    scene.test("--record", "suite")
    archive = json.loads(scene.lane("export", "suite").stdout)
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.Draft202012Validator(SCHEMA).validate(archive)
