# SPDX-License-Identifier: Apache-2.0
"""Configurations that are refused: each names the place, what was found there and what was expected."""

import dataclasses
import pathlib
import re

from harness.case import Failed, case, expect

SERVICE = "services:\n  api:\n    baseURL: http://example.org\n"


@dataclasses.dataclass
class Malformed:
    """One kind of mistake. `§` in the text marks where it is; `also` must be said too, as a hint or a name."""

    kind: str
    marked: str
    also: str = ""

    @property
    def text(self):
        return self.marked.replace("§", "")

    @property
    def place(self):
        before = self.marked[: self.marked.index("§")]
        return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


MALFORMED = [
    Malformed("an unknown key", "§cahce:\n  disk: 1 GiB\n", "cache"),
    Malformed("an unknown key inside a section", "cache:\n  §memroy: 1 GiB\n", "memory"),
    Malformed("an unknown key of a service", SERVICE + "    §mout: /x/\n", "mount"),
    Malformed("an unknown key of a block",
              SERVICE + "    configure:\n      - §expiratonTime: 1 s\n", "expirationTime"),
    Malformed("a list where a map belongs", "services:\n  §- api\n", "services"),
    Malformed("a map where a value belongs", "threads:\n  §count: 4\n", "threads"),
    Malformed("a size without a unit", "cache:\n  memory: §256\n", "256 MiB"),
    Malformed("a unit that does not exist", "timeouts:\n  idle: §10 minuets\n", "minutes"),
    Malformed("a negative size", "cache:\n  disk: §-1 GiB\n", "cache.disk"),
    Malformed("a number out of bounds", "threads: §0\n", "threads"),
    Malformed("a word where yes or no belongs", "log:\n  access: §maybe\n", "true"),
    Malformed("a choice that there is not", "log:\n  level: §loud\n", "info"),
    Malformed("an address without a port", 'listen: [§"127.0.0.1"]\n', "listen"),
    Malformed("a port out of range", 'listen: [§"127.0.0.1:70000"]\n', "listen"),
    Malformed("a service without its URL", "services:\n  §api:\n    mount: /x/\n", "baseURL"),
    Malformed("a URL of another scheme", "services:\n  api:\n    baseURL: §ftp://example.org/\n", "http"),
    Malformed("the same key twice", "threads: 2\n§threads: 3\n", "threads"),
    Malformed("a bracket that is not closed", 'listen: ["127.0.0.1:3128"\n§threads: 2\n'),
    Malformed("a tab as indentation", "cache:\n§\tdisk: 1 GiB\n"),
    Malformed("a variable that is not set",
              "admin:\n  token: §${LARDER_THIS_IS_NOT_SET}\n", "LARDER_THIS_IS_NOT_SET"),
    Malformed("a secret's file that is not there",
              "admin:\n  token: §${file:/nonexistent/secret}\n", "/nonexistent/secret"),
    Malformed("two services at one mount",
              SERVICE + "    mount: /x/\n  other:\n    baseURL: http://example.com\n    §mount: /x/\n", "/x/"),
    Malformed("a regular expression that is none", SERVICE + '    configure:\n      - regex: §"(unclosed"\n', "regex"),
    Malformed("a field name that is none",
              SERVICE + "    configure:\n      - headers: { §Bad Name: x }\n", "Bad Name"),
    Malformed("a key without its value", "cache:\n  disk:§\n", "cache.disk"),
    Malformed("no map at all", "§just a word\n"),
]


def complaint(said, file, malformed):
    """The part that is missing from a message about `malformed`, or None."""
    line, column = malformed.place
    places = re.findall(re.escape(str(file)) + r":(\d+):(\d+)", said)
    if not places:
        return f"{malformed.kind}: no {file.name}:LINE:COLUMN in: {said.strip()}"
    if (str(line), str(column)) not in places:
        return f"{malformed.kind}: is at {line}:{column}, the message says {':'.join(places[0])}: {said.strip()}"
    for word in ("found", "expected", malformed.also):
        # `expected` begins a sentence behind a suggestion.
        if word not in said and word.capitalize() not in said:
            return f"{malformed.kind}: the message does not say {word!r}: {said.strip()}"
    return None


@case("configuration", f"{len(MALFORMED)} kinds of malformed configuration: place, finding and expectation are named")
def refused(context):
    complaints = []
    for number, malformed in enumerate(MALFORMED):
        file = context.directory / f"malformed-{number}.yaml"
        file.write_text(malformed.text)
        done = context.run([context.program, "check", file], check=False)
        said = done.stderr.decode() + done.stdout.decode()
        if done.returncode == 0:
            complaints.append(f"{malformed.kind}: accepted: {said.strip()}")
        elif done.returncode < 0 or "Fatal error" in said:
            complaints.append(f"{malformed.kind}: larder crashed: {said.strip()[:300]}")
        elif missing := complaint(said, file, malformed):
            complaints.append(missing)
    if complaints:
        raise Failed(f"{len(complaints)} of {len(MALFORMED)}:\n" + "\n".join(complaints))


@case("configuration", "larder serve refuses a malformed configuration as larder check does, and starts nothing")
def not_served(context):
    file = context.directory / "malformed.yaml"
    file.write_text("cache:\n  memroy: 1 GiB\n")
    done = context.run([context.program, "serve", "--config", file], check=False, timeout=20)
    expect(done.returncode > 0, f"larder serve ended with {done.returncode}")
    expect(f"{file}:2:3" in done.stderr.decode(), f"no place in: {done.stderr.decode()}")


@case("configuration", "the configuration that Larder ships and documents is accepted")
def shipped(context):
    file = pathlib.Path(__file__).resolve().parents[3] / "etc/larder.yaml"
    context.run([context.program, "check", file])
    # The settings commented out there (`#key`, unlike `# prose`) are examples, so they must be right as well.
    text = re.sub(r"(?m)^( *)#(?=[a-z]|  +[a-z-])", r"\1", file.read_text())
    expect("\n    configure:" in text, "the example of a service was not found")
    # These name files that are only there on a machine that has them.
    text = re.sub(r"(?m)^  (token|caFile): .*$", "", text)
    for name in ("server.pem", "server.key", "users"):
        text = text.replace(f"/etc/larder/{name}", str(context.directory / name))
    context.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=a",
         "-keyout", context.directory / "server.key", "-out", context.directory / "server.pem"])
    context.run(
        [context.program, "user", "add", "anna", "--file", context.directory / "users"], data=b"flour and water\n")
    uncommented = context.directory / "uncommented.yaml"
    uncommented.write_text(text)
    context.run([context.program, "check", uncommented])


@case("configuration", "the reference page lists what the program knows")
def documented(context):
    page = context.run([context.program, "settings", "--markdown"]).stdout.decode()
    file = pathlib.Path(__file__).resolve().parents[3] / "docs/configuration.md"
    expect(page == file.read_text(), f"{file.name} differs; write it anew with: larder settings --markdown")
