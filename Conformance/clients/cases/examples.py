# SPDX-License-Identifier: Apache-2.0
"""The programs in Examples and in the documentation, built and run.

They are built as targets beside those of the package, which sees no more of it than another package would: so what the
tests have built already is built no second time.
"""

import contextlib
import functools
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import threading

from cases.tls import Authority
from harness.case import Failed, Skipped, case, expect, expect_equal, expect_hit, expect_in
from harness.origin import Answer, Server, fresh
from harness.snippets import documented as collect
from harness.snippets import examples
from harness.tunnels import Tunnels

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGES = [ROOT / "README.md", ROOT / "docs" / "library.md"]


@functools.cache
def build():
    """The directory with the programs, the pages' programs with what they print, and how the tests are run."""
    if not shutil.which("swift"):
        raise Skipped("swift is not installed")
    targets, programs = collect(ROOT, PAGES, ROOT / ".build" / "documented")
    lines = [" ".join([kind, name, str(folder), *depends]) for kind, name, folder, depends in examples(ROOT) + targets]
    environment = {**os.environ, "LARDER_DOCUMENTED": "\n".join(lines)}

    def swift(*arguments):
        done = subprocess.run(
            ["swift", *arguments, "--package-path", ROOT], capture_output=True, text=True, timeout=1800,
            env=environment,
        )
        if done.returncode:
            raise Failed(f"swift {arguments[0]}:\n{done.stdout[-3000:]}{done.stderr[-1000:]}")
        return done.stdout

    swift("build", "--build-tests")
    return pathlib.Path(swift("build", "--show-bin-path").strip()), programs, swift


def run(program, *arguments, **environment):
    plain = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    done = subprocess.run(
        [program, *arguments], capture_output=True, text=True, timeout=60, env={**plain, **environment}
    )
    expect_equal(done.returncode, 0, f"{program.name}'s exit status ({done.stderr.strip()[:300]})")
    return done.stdout


@case("examples", "what the README and docs/library.md show compiles, and prints what they say")
def documented(context):
    programs, shown, _ = build()
    expect_equal(len(shown), 2, "programs in the documentation")
    authority = Authority(context)
    user = json.dumps({"login": "octocat", "followers": 20000})
    origin = context.origin(
        {"/users/octocat": fresh(user, "application/json")}, tls=authority.server("DNS:api.github.com")
    )
    with contextlib.closing(Tunnels(origin.port)) as proxy:
        for name, (page, output) in shown.items():
            origin.forget()
            printed = run(
                programs / name, https_proxy=proxy.url, SSL_CERT_FILE=str(authority.certificate), SSL_CERT_DIR="/none"
            )
            expect_equal(printed, output, f"what the program in {page} prints")
            expect_equal(len(origin.asked), 1, f"requests of the program in {page}")


@case("examples", "a command-line tool and a script with the library, and their tests")
def tools(context):
    programs, _, swift = build()
    origin = context.origin({
        "/users/ann": fresh('{"login":"ann","name":"Ann","followers":7}', "application/json"),
        "/users/bob": Answer(b'{"message":"No such user"}', 404, {"Content-Type": "application/json"}),
        "/list": lambda path: fresh(
            '[{"name":"b"}]' if "page=2" in path else '[{"name":"a"}]', "application/json",
            **({} if "page=2" in path else {"Link": '</list?page=2>; rel="next"'})),
    })
    printed = run(programs / "Stargazer", "--at", origin.url, "ann", "bob")
    expect_equal(sorted(printed.splitlines()), ["Ann: 7", "bob: No such user"], "what Stargazer prints")
    expect_equal(run(programs / "Notebook", f"{origin.url}/list"), "a\nb\n2 in all\n", "what Notebook prints")
    swift("test", "--skip-build", "--filter", "StargazerTests")


class Board(http.server.BaseHTTPRequestHandler):
    """A notice board with one post, which asks for the token that it gives away."""

    protocol_version = "HTTP/1.1"
    text = "hello"

    def log_message(self, *_):
        pass

    def respond(self):
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append((self.command, self.path))
        post, validator = {"id": 1, "text": Board.text}, f'"{Board.text}"'
        if self.path == "/login":
            return self.answer(200, {"token": "secret"})
        if self.path == "/posts":
            return self.answer(200, [post])
        if self.headers.get("Authorization") != "Bearer secret":
            return self.answer(401, {"message": "Who are you?"})
        if self.path != "/posts/1":
            return self.answer(404, {"message": "No such post"})
        if self.command == "PUT":
            Board.text = json.loads(content)["text"]
            return self.answer(200, {"id": 1, "text": Board.text})
        if self.headers.get("If-None-Match") == validator:
            return self.answer(304, None, ETag=validator)
        return self.answer(200, post, ETag=validator)

    def answer(self, status, content, **fields):
        octets = json.dumps(content).encode() if content is not None else b""
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **fields}.items():
            self.send_header(name, value)
        if octets:
            self.send_header("Content-Length", str(len(octets)))
        self.end_headers()
        self.wfile.write(octets)

    do_GET = do_POST = do_PUT = respond


@case("examples", "everything of the model in a program of less than eighty lines")
def tour(context):
    programs, _, _ = build()
    lines = (ROOT / "Examples" / "Sources" / "Tour" / "main.swift").read_text(encoding="utf-8").splitlines()
    expect(len(lines) <= 80, f"the program has {len(lines)} lines")
    server = Server(("127.0.0.1", 0), Board)
    server.asked = []
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    printed = run(programs / "Tour", f"http://127.0.0.1:{server.server_address[1]}")
    server.shutdown()
    expect_equal(
        printed,
        "hello true\nas it was\nasked\n1 posts true\nhello again false\nhello again 404\nmine true\n"
        "observerAdded requested newData requested notModified requested newData requested error newData newData\n",
        "what Tour prints",
    )
    expect_equal(
        server.asked,
        [("GET", "/posts/1"), ("POST", "/login"), ("GET", "/posts/1"), ("GET", "/posts/1"), ("GET", "/posts"),
         ("PUT", "/posts/1"), ("GET", "/posts/1"), ("GET", "/posts/1/none")],
        "requests of Tour",
    )


@case("examples", "a daemon of one's own may be called anything and runs jq, and has a store of its own")
def cellar(context):
    origin = context.origin({"/bottles/1": fresh('{"name":"red","year":1999}', "application/json")})
    context.program = build()[0] / "Cellar"
    daemon = context.daemon(
        f"services:\n  wines:\n    baseURL: {origin.url}/\n    configure:\n      - match: /bottles/*\n"
        "        pipeline: { model: { add: [{ jq: .name }] } }\n"
    )
    status, _, content = daemon.get("/wines/bottles/1")
    expect_equal((status, json.loads(content)), (200, "red"), "what jq made of it")
    daemon.get("/wines/about")
    numbers = {asked.fields.get("x-request-number") for asked in origin.asked}
    expect(None not in numbers and len(numbers) == 2, f"the origin got the numbers {numbers}")


@case("examples", "a daemon of one's own serves what its Swift makes of an origin's JSON")
def pantry(context):
    serve(context, build()[0] / "Pantry")


@case("examples", "the same when it is built with optimization, as for production")
def optimized(context):
    if not shutil.which("swift"):
        raise Skipped("swift is not installed")
    # Its debug build is there already, with those of everything else; this one is of what it consists of alone.
    documented = "executable Pantry Examples/Sources/Pantry LarderDaemon"
    done = subprocess.run(
        ["swift", "build", "-c", "release", "--product", "Pantry", "--package-path", ROOT], capture_output=True,
        text=True, timeout=1800, env={**os.environ, "LARDER_DOCUMENTED": documented},
    )
    if done.returncode:
        raise Failed(f"swift build -c release:\n{done.stdout[-3000:]}{done.stderr[-1000:]}")
    serve(context, ROOT / ".build" / "release" / "Pantry")


def serve(context, program):
    product = {"name": "flour", "price": 3, "stock": 12}
    origin = context.origin(
        {
            "/products/1": fresh(json.dumps(product), "application/json"),
            "/products/2": fresh("{}", "application/json"),
            "/about": fresh("a shop\n"),
        }
    )
    context.program = program
    daemon = context.daemon(f"services:\n  shop:\n    baseURL: {origin.url}/\n")
    for attempt in ("the first", "the second"):
        status, fields, content = daemon.get("/shop/products/1")
        expect_equal(status, 200, f"{attempt} answer")
        expect_equal(json.loads(content), {"name": "flour", "price": 3}, f"{attempt} answer")
    expect_hit(fields, "the second answer")
    expect(fields.get("etag"), "the answer has no ETag of its own")
    expect_equal(daemon.get("/shop/about")[2], b"a shop\n", "what nothing transforms")
    status, _, content = daemon.get("/shop/products/2")
    expect_equal(status, 502, "a product without a price")
    expect_in("by ‘label’", json.loads(content)["detail"], "the problem")
    expect_in("shop", daemon.get("/-/status")[2].decode() + daemon.get("/-/resources")[2].decode(), "the listings")
