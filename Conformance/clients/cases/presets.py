# SPDX-License-Identifier: Apache-2.0
"""Presets with the clients they are for, against local registries of the same shape: each client runs twice from
nothing, and the second run asks the registry nothing but what docs/presets.md says."""

import base64
import gzip
import hashlib
import io
import json
import os
import shutil
import sys
import tarfile
import zipfile

from cases import packages
from harness.case import Skipped, case, expect, expect_equal, expect_in
from harness.origin import Answer


def found(content, kind="application/octet-stream", **fields):
    """An answer that says nothing about how long it is good."""
    content = content.encode() if isinstance(content, str) else content
    named = {name.replace("_", "-"): value for name, value in fields.items()}
    return Answer(content, 200, {"Content-Type": kind, **named})


def packed(files):
    """A tar.gz with these files, the same each time."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(raw.getvalue(), mtime=0)


def twice(origins, run, leftover=()):
    """Runs a client twice; what the second run may ask is `leftover`. Returns what to say of it."""
    asked = []
    results = []
    for number in (1, 2):
        for origin in origins:
            origin.forget()
        results.append(run(number))
        asked.append([request.path for origin in origins for request in origin.asked])
    expect(len(asked[0]) > 0, "the first run did not reach the origin")
    expect_equal(results[1], results[0], "what the second run got")
    expect_equal([path for path in asked[1] if path not in leftover], [], "what the second run asked the origin")
    return f"requests to the origin: {len(asked[0])}, then {len(asked[1])}"


# pypi

def pip_download(context, url, run):
    target = context.directory / f"pip-{run}"
    context.run(
        [sys.executable, "-m", "pip", "--isolated", "download", "--quiet", "--disable-pip-version-check",
         "--no-cache-dir", "--no-deps", "--trusted-host", "127.0.0.1", "--index-url", f"{url}/simple/", "--dest",
         target, "larder-demo"],
        timeout=120, environment=context.environment(PIP_CONFIG_FILE="/dev/null", no_proxy="*"),
    )
    return {file.name: file.read_bytes() for file in target.iterdir()}


def index_of(name, content, url, kind):
    digest = hashlib.sha256(content).hexdigest()
    if kind == "html":
        page = f'<!DOCTYPE html><html><body><a href="{url}#sha256={digest}">{name}</a></body></html>\n'
        return found(page, "text/html; charset=utf-8", ETag='"page"', Cache_Control="max-age=600, public")
    page = {"meta": {"api-version": "1.1"}, "name": "larder-demo", "files": [
        {"filename": name, "url": url, "hashes": {"sha256": digest}, "size": len(content)}]}
    return found(json.dumps(page), "application/vnd.pypi.simple.v1+json", ETag='"page"')


@case("preset-pypi", "pip and the preset: HTML and JSON, links to another host and without one, and coded pages")
def pypi(context):
    if context.run([sys.executable, "-m", "pip", "--version"], check=False).returncode != 0:
        raise Skipped("pip is not installed")
    name, content = packages.wheel()
    said = []
    for number, (kind, is_far, is_coded) in enumerate(
            [("html", True, False), ("html", False, False), ("json", True, False), ("html", True, True)]):
        files = context.origin({f"/packages/ab/{name}": found(content, ETag='"wheel"')})
        index = context.origin({f"/packages/ab/{name}": found(content)} if not is_far else {})
        url = (files.url if is_far else "") + f"/packages/ab/{name}"
        page = index_of(name, content, url, kind)
        if is_coded:
            page = Answer(gzip.compress(page.content), 200, {**page.fields, "Content-Encoding": "gzip"})
        index.routes["/simple/larder-demo/"] = page
        daemon = context.daemon(
            f"services:\n  pypi: {{ preset: pypi, baseURL: '{index.url}/' }}\n"
            f"  pypi-files: {{ baseURL: '{files.url}/' }}\n", name=f"larder-{number}")

        def run(time, daemon=daemon, number=number):
            got = pip_download(context, daemon.url + "/pypi", f"{number}-{time}")
            expect_equal(got, {name: content}, "what pip downloaded")
            return got

        said.append(twice([index, files], run))
        expect_equal(len({*said}), 1, "requests of the ways")
        if is_far:
            look_at_links(daemon, files)
    return said[0]


def look_at_links(daemon, files):
    """The same stored page by several names, each with links of its own."""
    port = daemon.port
    for host, path, wanted in [
        (f"127.0.0.1:{port}", "/pypi/simple/larder-demo/", f"http://127.0.0.1:{port}/pypi-files/packages/"),
        (f"localhost:{port}", "/pypi/simple/larder-demo/", f"http://localhost:{port}/pypi-files/packages/"),
        (f"pypi.localhost:{port}", "/simple/larder-demo/", f"http://pypi-files.localhost:{port}/packages/"),
    ]:
        status, fields, page = daemon.get(path, {"Host": host})
        expect_equal(status, 200, f"{host}{path}")
        expect_in(wanted, page.decode(), "links for " + host)
        expect(files.url not in page.decode(), "a link leads past Larder")
        expect("content-length" not in fields and "accept-ranges" not in fields, "octets are counted")
        tag = fields["etag"]
        status, again, _ = daemon.get(path, {"Host": host, "If-None-Match": tag})
        expect_equal((status, again["etag"]), (304, tag), "the page again, by its tag")
        status, _, part = daemon.get(path, {"Host": host, "Range": "bytes=0-9"})
        expect_equal((status, part), (200, page), "a part of the page")
    status, _, page = daemon.get(path, {"Host": f"localhost:{port}", "If-None-Match": tag})
    expect(status != 304, "the tag of another name's links is taken for this one's")


# npm

@case("preset-npm", "npm install through the preset: the document's tarballs lead back to Larder")
def npm(context):
    program = context.command("npm")
    tarball = packed({"package/package.json": b'{"name":"larder-demo","version":"1.0.0"}',
                      "package/index.js": b"module.exports = 42\n" * 500})
    origin = context.origin()
    url = f"{origin.url}/larder-demo/-/larder-demo-1.0.0.tgz"
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(tarball).digest()).decode()
    document = {"name": "larder-demo", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
        "name": "larder-demo", "version": "1.0.0", "dist": {"tarball": url, "integrity": integrity}}}}
    origin.routes = {
        "/larder-demo": found(json.dumps(document), "application/vnd.npm.install-v1+json", ETag='"document"'),
        "/larder-demo/-/larder-demo-1.0.0.tgz": found(tarball),
    }
    daemon = context.daemon(f"services:\n  npm: {{ preset: npm, baseURL: '{origin.url}/' }}\n")

    def run(number):
        target = context.directory / f"npm-{number}"
        target.mkdir()
        context.run([program, "install", "--prefix", target, "--cache", target / "cache", "--registry",
                     f"{daemon.url}/npm/", "--no-audit", "--no-fund", "--ignore-scripts", "--no-update-notifier",
                     "--fetch-retries=0", "larder-demo"],
                    environment=context.environment(no_proxy="*"))
        return (target / "node_modules/larder-demo/index.js").read_bytes()

    return twice([origin], run)


# crates

@case("preset-crates", "cargo fetch through the preset: config.json leads back to Larder")
def crates(context):
    program = context.command("cargo")
    home = os.environ.get("RUSTUP_HOME") or os.path.join(os.path.expanduser("~"), ".rustup")
    crate = packed({"larder-demo-1.0.0/Cargo.toml": b'[package]\nname = "larder-demo"\nversion = "1.0.0"\n',
                    "larder-demo-1.0.0/src/lib.rs": b"pub fn answer() -> u8 { 42 }\n"})
    files = context.origin({"/crates/larder-demo/1.0.0/download": found(crate)})
    index = context.origin()
    entry = {"name": "larder-demo", "vers": "1.0.0", "deps": [], "cksum": hashlib.sha256(crate).hexdigest(),
             "features": {}, "yanked": False}
    index.routes = {
        "/config.json": found(json.dumps({"dl": f"{files.url}/crates", "api": files.url}), "application/json"),
        "/la/rd/larder-demo": found(json.dumps(entry) + "\n", "text/plain", ETag='"entry"'),
    }
    daemon = context.daemon(
        f"services:\n  crates: {{ preset: crates, baseURL: '{index.url}/' }}\n"
        f"  crates-files: {{ baseURL: '{files.url}/crates/' }}\n")

    def run(number):
        target = context.directory / f"cargo-{number}"
        (target / "src").mkdir(parents=True)
        (target / "home").mkdir()
        (target / "src/lib.rs").touch()
        (target / "Cargo.toml").write_text(
            '[package]\nname = "user"\nversion = "0.1.0"\n[dependencies]\nlarder-demo = "1"\n')
        (target / "home/config.toml").write_text(
            '[source.crates-io]\nreplace-with = "larder"\n[source.larder]\n'
            f'registry = "sparse+{daemon.url}/crates/"\n')
        environment = context.environment(CARGO_HOME=target / "home", RUSTUP_HOME=home, CARGO_NET_RETRY=0)
        if context.run([program, "--version"], environment=environment, check=False).returncode != 0:
            raise Skipped("cargo has no toolchain")
        context.run([program, "fetch", "--quiet", "--manifest-path", target / "Cargo.toml"], environment=environment)
        kept = list((target / "home/registry/cache").glob("*/larder-demo-1.0.0.crate"))
        return [file.read_bytes() for file in kept]

    return twice([index, files], run)


# go

@case("preset-go", "go mod download through the preset")
def go(context):
    module, version = "example.com/demo", "v1.0.0"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(f"{module}@{version}/go.mod", f"module {module}\n")
        archive.writestr(f"{module}@{version}/demo.go", "package demo\n")
    below = f"/{module}/@v"
    origin = context.origin({
        f"{below}/list": found(f"{version}\n", "text/plain"),
        f"{below}/{version}.info": found(json.dumps({"Version": version, "Time": "2026-01-01T00:00:00Z"}),
                                         "application/json"),
        f"{below}/{version}.mod": found(f"module {module}\n", "text/plain"),
        f"{below}/{version}.zip": found(packed.getvalue(), "application/zip"),
    })
    daemon = context.daemon(f"services:\n  go: {{ preset: go, baseURL: '{origin.url}/' }}\n")
    program = shutil.which("go")

    def fetch(number):
        return [daemon.get(f"/go{below}/{name}")[2] for name in ("list", f"{version}.info", f"{version}.zip")]

    def run(number):
        target = context.directory / f"go-{number}"
        target.mkdir()
        done = context.run(
            [program, "mod", "download", "-json", f"{module}@latest"],
            environment=context.environment(
                GOPATH=target / "path", GOCACHE=target / "cache", GOPROXY=f"{daemon.url}/go", GOSUMDB="off",
                GOFLAGS="-modcacherw", GO111MODULE="on"))
        with open(json.loads(done.stdout)["Zip"], "rb") as file:
            return file.read()

    return twice([origin], run if program else fetch) + ("" if program else " (go is not installed: as it would ask)")


# maven

@case("preset-maven", "what Maven asks for, through the preset")
def maven(context):
    below = "/maven2/org/example/demo"
    origin = context.origin({
        f"{below}/maven-metadata.xml": found("<metadata/>", "text/xml"),
        f"{below}/1.0/demo-1.0.pom": found("<project/>", "text/xml"),
        f"{below}/1.0/demo-1.0.jar": found(b"PK" + bytes(100_000), "application/java-archive", ETag='"jar"'),
        f"{below}/1.0/demo-1.0.jar.sha1": found("da39", "text/plain"),
    })
    daemon = context.daemon(f"services:\n  maven: {{ preset: maven, baseURL: '{origin.url}/maven2/' }}\n")
    paths = [path.replace("/maven2/", "/maven/") for path in origin.routes]

    def run(number):
        return [daemon.get(path, {"Cache-Control": "no-cache", "Pragma": "no-cache"})[2] for path in paths]

    said = twice([origin], run)
    lifetimes = [int(daemon.get(path)[1]["cache-status"].split("ttl=")[1].split(";")[0]) for path in paths]
    expect(lifetimes[0] <= 600 and min(lifetimes[1:]) > 86_400 * 300, f"lifetimes are {lifetimes}")
    return said


# nuget

@case("preset-nuget", "what dotnet restore asks for, through the preset: but for signatures, links lead back")
def nuget(context):
    below = "/v3-flatcontainer/demo"
    files = context.origin({
        f"{below}/index.json": found('{"versions": ["1.0.0"]}', "application/json"),
        f"{below}/1.0.0/demo.nuspec": found("<package/>", "text/xml"),
        f"{below}/1.0.0/demo.1.0.0.nupkg": found(b"PK" + bytes(100_000)),
    })
    # Clients refuse certificates of signatures over http.
    signatures = "https://api.nuget.org/v3-index/repository-signatures/5.0.0/index.json"
    places = {"PackageBaseAddress/3.0.0": f"{files.url}/v3-flatcontainer/", "RepositorySignatures/5.0.0": signatures}
    resources = [{"@id": url, "@type": kind} for kind, url in places.items()]
    index = context.origin({
        "/v3/index.json": found(json.dumps({"version": "3.0.0", "resources": resources}), "application/json")})
    daemon = context.daemon(
        f"services:\n  nuget: {{ preset: nuget, baseURL: '{index.url}/v3/' }}\n"
        f"  nuget-packages: {{ baseURL: '{files.url}/v3-flatcontainer/' }}\n")
    paths = [path.replace("/v3-flatcontainer/", "/nuget-packages/") for path in files.routes]

    def run(number):
        found_index = json.loads(daemon.get("/nuget/index.json", {"Cache-Control": "no-cache"})[2])
        led = {resource["@type"]: resource["@id"] for resource in found_index["resources"]}
        expect_equal(led["PackageBaseAddress/3.0.0"], f"{daemon.url}/nuget-packages/", "where packages are")
        expect_equal(led["RepositorySignatures/5.0.0"], signatures, "where signatures are")
        return [daemon.get(path, {"Cache-Control": "no-cache"})[2] for path in paths]

    said = twice([index, files], run)
    lifetimes = [int(daemon.get(path)[1]["cache-status"].split("ttl=")[1].split(";")[0]) for path in paths]
    expect(lifetimes[0] <= 600 and min(lifetimes[1:]) > 86_400 * 300, f"lifetimes are {lifetimes}")
    return said


# apt

@case("preset-apt", "apt-get update and download through the preset, though apt says max-age=0")
def apt(context):
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise Skipped("apt-get and dpkg-deb are not installed")
    origin = context.origin(packages.debian_repository(context))
    for answer in origin.routes.values():
        answer.fields.pop("Cache-Control")
    # A missing file is asked for once as well: 404 is kept for a minute.
    daemon = context.daemon(f"services:\n  apt: {{ preset: apt, baseURL: '{origin.url}/debian/' }}\n")

    def run(number):
        packages.apt(context, origin, daemon, number, source=f"{daemon.url}/apt", proxy="DIRECT", forget=False)
        return [file.read_bytes() for file in (context.directory / f"apt-{number}/got").glob("*.deb")]

    return twice([origin], run)


# rubygems

@case("preset-rubygems", "gem fetch through the preset")
def rubygems(context):
    gem, ruby = context.command("gem"), context.command("ruby")
    root = context.directory / "gems"
    (root / "gems").mkdir(parents=True)
    (root / "demo.gemspec").write_text(
        'Gem::Specification.new { |s| s.name = "larder-demo"; s.version = "1.0.0"; s.summary = "demo"\n'
        's.authors = ["nobody"]; s.license = "MIT"; s.homepage = "https://example.org"; s.files = [] }\n')
    context.run([ruby, "-C", root, "-S", gem, "build", "-q", "demo.gemspec", "-o", root / "gems/larder-demo-1.0.0.gem"])
    if context.run([gem, "generate_index", "-q", "-d", root], check=False).returncode != 0:
        raise Skipped("gem makes no index")
    origin = context.origin({
        "/" + str(file.relative_to(root)): found(file.read_bytes()) for file in root.rglob("*") if file.is_file()})
    daemon = context.daemon(f"services:\n  rubygems: {{ preset: rubygems, baseURL: '{origin.url}/' }}\n")

    def run(number):
        target = context.directory / f"gem-{number}"
        target.mkdir()
        context.run(["sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", target, gem, "fetch", "--clear-sources",
                     "--source", f"{daemon.url}/rubygems/", "larder-demo"],
                    environment=context.environment(HOME=target, GEM_SPEC_CACHE=target / "specs"))
        return (target / "larder-demo-1.0.0.gem").read_bytes()

    return twice([origin], run)


# conda

@case("preset-conda", "what conda asks for, through the preset: packages that are elsewhere are kept under their names")
def conda(context):
    elsewhere = context.origin({"/bucket/demo.conda": found(b"PK" + bytes(10_000), ETag='"conda"')})
    origin = context.origin({
        "/conda-forge/noarch/repodata.json.zst": found(b"index", "application/zstd"),
        "/conda-forge/noarch/demo-1.0-0.conda": Answer(
            b"", 302, {"Location": f"{elsewhere.url}/bucket/demo.conda?signed=now"}),
    })
    daemon = context.daemon(f"services:\n  conda: {{ preset: conda, baseURL: '{origin.url}/' }}\n")

    def run(number):
        answers = [daemon.get("/conda" + path) for path in origin.routes]
        expect_equal([answer[0] for answer in answers], [200, 200], "statuses")
        return [answer[2] for answer in answers]

    return twice([origin, elsewhere], run)


# github

@case("preset-github", "the API of GitHub: a token for all, validation after a minute, and a reserve of the quota")
def github(context):
    left = [50]

    def user(_):
        left[0] -= 1
        return found("{}", "application/json", ETag='"user"', Cache_Control="private, max-age=0, s-maxage=0",
                     X_RateLimit_Limit="60", X_RateLimit_Remaining=str(left[0]), X_RateLimit_Reset="600")

    origin = context.origin({"/users/octocat": user, None: user})
    daemon = context.daemon(
        f"services:\n  github: {{ preset: github, baseURL: '{origin.url}/', token: abc, quota: {{ reserve: 45 }} }}\n")
    for number in range(4):
        expect_equal(daemon.get("/github/users/octocat")[0], 200, "the status")
    expect_equal({asked.fields.get("authorization") for asked in origin.asked}, {"Bearer abc"}, "credentials")
    expect_equal([asked.status for asked in origin.asked], [200, 304, 304, 304], "what the origin answered")
    quota = daemon.status()["quotas"][0]
    expect_equal((quota["service"], quota["remaining"], quota["limit"]), ("github", 46, 60), "the quota")
    daemon.get("/github/users/octocat")
    origin.forget()
    status, fields, _ = daemon.get("/github/users/octocat")
    expect_equal(status, 200, "the status while the reserve is kept")
    expect_in("quota", fields["cache-status"], "why it is stale")
    status, fields, _ = daemon.get("/github/users/else")
    expect_equal((status, "retry-after" in fields), (429, True), "what is not stored while the reserve is kept")
    expect_equal(len(origin.asked), 0, "requests that the reserve does not allow")
    expect_equal(daemon.get("/github/users/octocat", {"Cache-Control": "no-cache"})[0], 200, "a request that insists")
    expect_equal(len(origin.asked), 1, "requests that insist")
