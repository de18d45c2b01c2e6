# SPDX-License-Identifier: Apache-2.0
"""The programs in Examples and in the documentation, built as their users build them."""

import json
import os
import pathlib
import shutil
import socket
import socketserver
import subprocess
import threading

from cases.tls import Authority
from harness.case import Failed, Skipped, case, expect, expect_equal, expect_hit, expect_in
from harness.origin import Answer, fresh
from harness.snippets import fragment, package, snippets

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAMS = {}


def write(path, text):
    """Writes what is not there already, so that nothing is built twice."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def collect(where):
    """Puts Examples, and all Swift of the documentation, into one package."""
    for folder in ("Sources", "Tests"):
        for file in (ROOT / "Examples" / folder).rglob("*.swift"):
            write(where / file.relative_to(ROOT / "Examples"), file.read_text(encoding="utf-8"))
    targets, fragments, declarations = [], [], []
    for page in (ROOT / "README.md", ROOT / "docs" / "library.md"):
        for mark, code, output in snippets(page):
            name = f"{page.stem.capitalize()}{len(targets)}"
            if mark == "fragment":
                fragments.append(fragment(len(fragments), code))
            elif mark == "declarations":
                declarations.append(code)
            elif mark == "testing":
                write(where / "Sources" / name / "Testing.swift", code)
                targets.append(("target", name, ["Larder", "LarderTesting"]))
            elif "@main" in code:
                write(where / "Sources" / name / "Program.swift", code)
                targets.append(("executableTarget", name, ["LarderDaemon"]))
            else:
                write(where / "Sources" / name / "main.swift", code)
                targets.append(("executableTarget", name, ["Larder"]))
                PROGRAMS[name] = (page.name, output)
    expect(fragments and declarations and len(PROGRAMS) == 2, "the documentation's snippets were not found")
    write(where / "Sources" / "Fragments" / "Fragments.swift", "import Larder\n\n" + "\n".join(fragments))
    targets.append(("target", "Fragments", ["Larder"]))
    for number, code in enumerate(declarations):
        write(where / "Sources" / f"Declarations{number}" / "Declarations.swift", "import Larder\n\n" + code)
        targets.append(("target", f"Declarations{number}", ["Larder"]))
    write(where / "Package.swift", package(ROOT, targets))


def build():
    """The directory with the programs. What was built the last time is built no more."""
    if not shutil.which("swift"):
        raise Skipped("swift is not installed")
    package_path = ROOT / ".build" / "documented"
    collect(package_path)
    where = ["--package-path", package_path, "--scratch-path", ROOT / ".build" / "examples"]
    built = subprocess.run(["swift", "build", "--build-tests", *where], capture_output=True, text=True, timeout=3600)
    if built.returncode:
        raise Failed(f"the examples do not build:\n{built.stdout[-3000:]}{built.stderr[-1000:]}")
    shown = subprocess.run(["swift", "build", "--show-bin-path", *where], capture_output=True, text=True, check=True)
    return pathlib.Path(shown.stdout.strip())


class Everywhere(socketserver.ThreadingTCPServer):
    """A proxy whose tunnels all lead to one place, so that programs find any host there."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, port):
        self.place = ("127.0.0.1", port)
        super().__init__(("127.0.0.1", 0), Tunnel)
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Tunnel(socketserver.StreamRequestHandler):
    def handle(self):
        while self.rfile.readline().strip():
            pass
        with socket.create_connection(self.server.place) as far:
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            threading.Thread(target=pump, args=(far, self.connection), daemon=True).start()
            pump(self.connection, far)


def pump(source, target):
    try:
        while octets := source.recv(65536):
            target.sendall(octets)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def run(program, *arguments, **environment):
    plain = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    done = subprocess.run(
        [program, *arguments], capture_output=True, text=True, timeout=60, env={**plain, **environment}
    )
    expect_equal(done.returncode, 0, f"{program.name}'s exit status ({done.stderr.strip()[:300]})")
    return done.stdout


@case("examples", "what the README and docs/library.md show compiles, and prints what they say")
def documented(context):
    programs = build()
    authority = Authority(context)
    user = json.dumps({"login": "octocat", "followers": 20000})
    origin = context.origin(
        {"/users/octocat": fresh(user, "application/json")}, tls=authority.server("DNS:api.github.com")
    )
    with Everywhere(origin.port) as proxy:
        for name, (page, output) in PROGRAMS.items():
            origin.forget()
            printed = run(
                programs / name, https_proxy=proxy.url, SSL_CERT_FILE=str(authority.certificate), SSL_CERT_DIR="/none"
            )
            expect_equal(printed, output, f"what the program in {page} prints")
            expect_equal(len(origin.asked), 1, f"requests of the program in {page}")
        proxy.shutdown()


@case("examples", "a command-line tool and a script with the library, and their tests")
def tools(context):
    programs = build()
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
    where = ["--package-path", ROOT / ".build" / "documented", "--scratch-path", ROOT / ".build" / "examples"]
    tested = subprocess.run(["swift", "test", "--skip-build", *where], capture_output=True, text=True, timeout=600)
    expect(tested.returncode == 0, f"the tests in Examples fail:\n{tested.stdout[-2000:]}{tested.stderr[-500:]}")


@case("examples", "a daemon of one's own may be called anything and runs jq, and has a store of its own")
def cellar(context):
    origin = context.origin({"/bottles/1": fresh('{"name":"red","year":1999}', "application/json")})
    context.program = build() / "Cellar"
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
    product = {"name": "flour", "price": 3, "stock": 12}
    origin = context.origin(
        {
            "/products/1": fresh(json.dumps(product), "application/json"),
            "/products/2": fresh("{}", "application/json"),
            "/about": fresh("a shop\n"),
        }
    )
    context.program = build() / "Pantry"
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
