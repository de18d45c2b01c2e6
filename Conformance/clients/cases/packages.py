# SPDX-License-Identifier: Apache-2.0
"""Package managers against local repositories: each runs twice from nothing, the second time out of the cache."""

import base64
import gzip
import hashlib
import io
import shutil
import sys
import zipfile

from harness.apt import Apt
from harness.case import Skipped, case, expect, expect_equal
from harness.origin import fresh


def sha256(content):
    return hashlib.sha256(content).hexdigest()


# apt

CONTROL = """Package: larder-demo
Version: 1.{number}
Architecture: all
Maintainer: nobody <nobody@example.org>
Description: a package that is only there to be fetched
"""


def debian_package(context, number):
    root = context.directory / f"demo-{number}"
    (root / "DEBIAN").mkdir(parents=True)
    (root / "DEBIAN/control").write_text(CONTROL.format(number=number))
    (root / "usr/share/larder-demo").mkdir(parents=True)
    (root / "usr/share/larder-demo/payload").write_bytes(hashlib.sha256(b"demo").digest() * 4096)
    file = context.directory / f"larder-demo_1.{number}_all.deb"
    context.run([context.command("dpkg-deb"), "--root-owner-group", "--build", root, file])
    return file.name, file.read_bytes()


def debian_repository(context):
    """A flat repository: the routes of an origin that serves it."""
    name, content = debian_package(context, 0)
    packages = (
        CONTROL.format(number=0) + f"Filename: ./{name}\nSize: {len(content)}\nSHA256: {sha256(content)}\n\n"
    ).encode()
    indexes = {"Packages": packages, "Packages.gz": gzip.compress(packages, mtime=0)}
    listed = "".join(f" {sha256(index)} {len(index)} {name}\n" for name, index in indexes.items())
    release = f"Origin: demo\nDate: Thu, 01 Jan 2026 00:00:00 UTC\nAcquire-By-Hash: no\nSHA256:\n{listed}".encode()
    files = {"Release": release, name: content, **indexes}
    return {f"/debian/{name}": fresh(file, ETag=f'"{sha256(file)[:16]}"') for name, file in files.items()}


def apt(context, origin, daemon, run, *more, source=None, proxy=None, forget=True):
    """`apt-get update` and a download; what they asked the origin."""
    source = source or f"{origin.url}/debian"
    manager = Apt(
        context, f"apt-{run}", f"deb [trusted=yes] {source} ./", *more, proxy=proxy or daemon.url,
        **{"APT::Architecture": "amd64", "APT::Get::List-Cleanup": "false"},
    )
    if forget:
        origin.forget()
    manager.update()
    downloaded = manager.download("larder-demo")
    expect_equal(len(downloaded), 1, "packages that apt-get downloaded")
    for name, content in downloaded.items():
        expect_equal(content, origin.routes[f"/debian/{name}"].content, "the package")
    return list(origin.asked)


@case("apt", "apt-get update and download from a local repository: the second run is all hits")
def apt_twice(context):
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise Skipped("apt-get and dpkg-deb are not installed")
    origin = context.origin(debian_repository(context))
    daemon = context.daemon()
    # apt demands that indexes are validated each time, unless it is told how old they may be.
    first = apt(context, origin, daemon, 1, "-oAcquire::http::Max-Age=600")
    expect(any(asked.path.endswith(".deb") for asked in first), "the first run did not reach the origin")
    second = apt(context, origin, daemon, 2, "-oAcquire::http::Max-Age=600")
    expect_equal([asked.path for asked in second], [], "what the second run asked the origin")
    third = apt(context, origin, daemon, 3)
    for asked in third:
        expect(asked.status in (304, 404), f"as it is, apt made the origin send {asked.path} again")


# pip

def wheel(name="larder_demo"):
    """The smallest wheel that pip takes."""
    metadata = f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 1.0\n"
    files = {
        f"{name}.py": b"answer = 42\n",
        f"{name}-1.0.dist-info/METADATA": metadata.encode(),
        f"{name}-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for file, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{file},sha256={digest},{len(content)}\n"
    files[f"{name}-1.0.dist-info/RECORD"] = record.encode() + f"{name}-1.0.dist-info/RECORD,,\n".encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, content in files.items():
            archive.writestr(zipfile.ZipInfo(file), content)
    return f"{name}-1.0-py3-none-any.whl", packed.getvalue()


def pip(context, origin, daemon, run):
    """Downloads the wheel with nothing kept from before; what pip asked the origin."""
    target = context.directory / f"pip-{run}"
    origin.forget()
    context.run(
        [sys.executable, "-m", "pip", "--isolated", "download", "--quiet", "--disable-pip-version-check",
         "--no-cache-dir", "--no-deps", "--proxy", daemon.url, "--trusted-host", "127.0.0.1",
         "--index-url", f"{origin.url}/simple/", "--dest", target, "larder-demo"],
        timeout=120, environment=context.environment(PIP_CONFIG_FILE="/dev/null"),
    )
    return target, list(origin.asked)


@case("pip", "pip download from a local index: the second run sends nothing but a validation of the index")
def pip_twice(context):
    if context.run([sys.executable, "-m", "pip", "--version"], check=False).returncode != 0:
        raise Skipped("pip is not installed")
    name, content = wheel()
    index = f'<!DOCTYPE html><a href="/files/{name}#sha256={sha256(content)}">{name}</a>\n'
    origin = context.origin({
        "/simple/larder-demo/": fresh(index, "text/html", ETag='"index"'),
        f"/files/{name}": fresh(content, "application/octet-stream", ETag='"wheel"'),
    })
    daemon = context.daemon()
    _, first = pip(context, origin, daemon, 1)
    expect_equal([asked.path for asked in first], ["/simple/larder-demo/", f"/files/{name}"], "the first run")
    target, second = pip(context, origin, daemon, 2)
    expect_equal((target / name).read_bytes(), content, "the wheel")
    # pip sends `Cache-Control: max-age=0` for the index page, and a cache obeys that (RFC 9111 §5.2.1.1).
    expect_equal(
        [(asked.path, asked.status) for asked in second], [("/simple/larder-demo/", 304)],
        "what the second run asked the origin",
    )
