# SPDX-License-Identifier: Apache-2.0
"""Presets against the package registries that this machine is configured for; with --full alone, and skipped where
there are none."""

import pathlib
import sys

from harness.apt import Apt
from harness.case import Skipped, case, expect_equal


def upstream(daemon):
    return daemon.status()["upstream"]["requests"]


def only_full(context):
    if not context.full:
        raise Skipped("it asks registries that are not on this machine (--full)")


def configured_index(context):
    """The index that pip uses here, without `simple/` at its end."""
    done = context.run([sys.executable, "-m", "pip", "config", "get", "global.index-url"], check=False)
    url = done.stdout.decode().strip() or "https://pypi.org/simple/"
    return url.rstrip("/").removesuffix("/simple") + "/"


@case("registry-pip", "pip against the index that is configured here: the second run asks it nothing")
def pip(context):
    only_full(context)
    base = configured_index(context)
    own = "" if base == "https://pypi.org/" else f", baseURL: '{base}'"
    daemon = context.daemon(f"services:\n  pypi: {{ preset: pypi{own} }}\n")
    counts, got = [], []
    for run in (1, 2):
        before = upstream(daemon)
        target = context.directory / f"real-{run}"
        done = context.run(
            [sys.executable, "-m", "pip", "--isolated", "download", "--quiet", "--disable-pip-version-check",
             "--no-cache-dir", "--no-deps", "--only-binary", ":all:", "--index-url", f"{daemon.url}/pypi/simple/",
             "--dest", target, "six", "idna"],
            timeout=300, environment=context.environment(PIP_CONFIG_FILE="/dev/null"), check=run > 1)
        if done.returncode != 0:
            raise Skipped("the index cannot be reached")
        got.append({file.name: file.read_bytes() for file in target.iterdir()})
        counts.append(upstream(daemon) - before)
    expect_equal(got[1], got[0], "what the second run got")
    expect_equal(counts[1], 0, "requests of the second run to the index")
    return f"requests to the origin: {counts[0]}, then {counts[1]}"


def configured_archive():
    """URI, suite and keyring of the first archive over http that apt is configured for."""
    for file in sorted(pathlib.Path("/etc/apt/sources.list.d").glob("*.sources")):
        for stanza in file.read_text().split("\n\n"):
            said = dict(line.split(":", 1) for line in stanza.splitlines() if ":" in line and not line.startswith("#"))
            uri = said.get("URIs", "").split()
            suites = said.get("Suites", "").split()
            if uri and suites and uri[0].startswith("http://") and "main" in said.get("Components", "").split():
                return uri[0], suites[0], said.get("Signed-By", "").strip()
    raise Skipped("apt is configured for no archive over http")


@case("registry-apt", "apt against the archive that is configured here: the second run asks it nothing")
def apt(context):
    only_full(context)
    uri, suite, keyring = configured_archive()
    daemon = context.daemon(f"services:\n  apt: {{ preset: apt, baseURL: '{uri.rstrip('/')}/' }}\n")
    signed = f"[signed-by={keyring}] " if keyring else ""
    counts, got = [], []
    for run in (1, 2):
        before = upstream(daemon)
        manager = Apt(context, f"apt-{run}", f"deb {signed}{daemon.url}/apt {suite} main")
        if manager.update(check=run > 1, timeout=300).returncode:
            raise Skipped("the archive cannot be reached")
        got.append(manager.download("hostname", timeout=300))
        counts.append(upstream(daemon) - before)
    expect_equal(got[1], got[0], "what the second run got")
    expect_equal(counts[1], 0, "requests of the second run to the archive")
    return f"requests to the origin: {counts[0]}, then {counts[1]}"
