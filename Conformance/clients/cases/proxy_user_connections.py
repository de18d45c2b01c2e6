# SPDX-License-Identifier: Apache-2.0
"""Connections that belong to a user: tunnels, https that is opened, TLS with a certificate, and partitions."""

import socket
import ssl
import subprocess

from cases.proxy_users import ANNA, BEN, Team, basic
from cases.tls import LOOPBACK, Authority
from harness.case import case, expect, expect_equal, expect_hit, expect_in
from harness.daemon import free_port
from harness.origin import Answer, fresh
from harness.wire import Wire


@case("proxy-users", "users of a partitioned service get what is theirs, in every way, and the access log names them")
def partitions(context):
    origin = context.origin({"/a": Answer(b"flour\n", 200, {"Cache-Control": "private, max-age=3600"})})
    log = context.directory / "access.log"
    team = Team(
        context, f"  accessFormat: combined\n  accessFile: {log}\n"
        f"services:\n  api: {{ baseURL: '{origin.url}/', privacy: partitioned, identity: [user] }}\n", origin)
    for attempt in range(5):
        for user in (ANNA, BEN):
            for target in (f"{origin.url}/a", "/api/a"):
                status, fields, content = team.daemon.get(target, {"Proxy-Authorization": basic(*user)})
                expect_equal((status, content), (200, b"flour\n"), f"the answer for {user[0]}")
                if attempt:
                    expect_hit(fields, f"{user[0]}'s answer number {attempt}")
    expect_equal(len(origin.asked), 2, "requests at the origin: one for each user")
    explained = [
        context.run([
            context.program, "explain", f"{origin.url}/a", "--socket", team.daemon.socket, *words]).stdout.decode()
        for words in (["--user", "anna"], ["--user", "cleo"], [])]
    expect_in("a digest of user", explained[0], "larder explain --user anna")
    expect_in("nothing", explained[1].lower(), "larder explain --user cleo")
    expect_in("larder explain --user NAME", explained[2], "larder explain")
    lines = log.read_text().splitlines()
    expect_equal(sum(" - anna [" in line for line in lines), 10, "lines of the access log about anna")
    expect_equal(sum(" - ben [" in line for line in lines), 10, "lines of the access log about ben")


class Connections:
    """A daemon that opens the https of one host and tunnels that of another, and connections to both."""

    def __init__(self, context):
        authority = Authority(context)
        self.secure = context.origin({"/a": fresh("secret\n")}, tls=authority.server(LOOPBACK, "server"))
        self.team = Team(
            context, f"tunnels:\n  ports: [443, {self.secure.port}]\nupstream:\n  caFile: {authority.certificate}\n"
            "intercept:\n  hosts: [localhost]\n")
        self.trust = ssl.create_default_context(cafile=authority.certificate)
        self.trust.load_verify_locations(cadata=self.team.daemon.get("/-/ca.pem")[2].decode())

    def connect(self, host, user=None):
        """A tunnel, or the status in its place."""
        wire = Wire.connect(self.team.daemon.port)
        authority = f"{host}:{self.secure.port}"
        said = f"Proxy-Authorization: {basic(*user)}\r\n" if user else ""
        wire.send(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{said}\r\n")
        line, _ = wire.head()
        status = int(line.split()[1])
        return wire if status == 200 else status

    def speak_tls(self, wire, host):
        wire.connection = self.trust.wrap_socket(wire.connection, server_hostname=host)

    def get(self, wire, host):
        wire.send(f"GET /a HTTP/1.1\r\nHost: {host}:{self.secure.port}\r\n\r\n")
        return wire.response()


def has_ended(wire):
    try:
        wire.connection.settimeout(10)
        return wire.connection.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


@case("proxy-users", "tunnels, and connections inside of opened https, end with their user, and those of others go on")
def connections(context):
    scene = Connections(context)
    for host in ("localhost", "127.0.0.1"):
        expect_equal(scene.connect(host), 407, f"CONNECT to {host} without a user")
        expect_equal(scene.connect(host, ("anna", "wrong")), 407, f"CONNECT to {host} with a wrong password")
    opened = [scene.connect("localhost", user) for user in (ANNA, BEN)]
    blind = [scene.connect("127.0.0.1", user) for user in (ANNA, BEN)]
    for wire in opened:
        scene.speak_tls(wire, "localhost")
        for _ in range(5):
            expect_equal(scene.get(wire, "localhost")[::2], (200, b"secret\n"), "the answer inside")
    expect_equal(len(scene.secure.asked), 1, "requests at the origin")
    scene.team.user("remove", "anna")
    scene.team.reload()
    expect(has_ended(opened[0]), "the connection inside of opened https did not end with its user")
    expect(has_ended(blind[0]), "the tunnel did not end with its user")
    for _ in range(5):
        expect_equal(scene.get(opened[1], "localhost")[::2], (200, b"secret\n"), "the other user's answer inside")
    scene.speak_tls(blind[1], "127.0.0.1")
    expect_equal(scene.get(blind[1], "127.0.0.1")[::2], (200, b"secret\n"), "the answer through the other's tunnel")
    expect_equal(scene.connect("localhost", ANNA), 407, "CONNECT of the user who is gone")
    for wire in (*opened, *blind):
        wire.close()


@case("proxy-users", "over TLS a password is asked for, unless a certificate says who the client is")
def over_tls(context):
    authority, team_authority = Authority(context), Authority(context, "team")
    authority.server(LOOPBACK, "server")
    team_authority.server("DNS:cleo", "cleo", usage="clientAuth")
    port = free_port()
    extra = (
        f"tls:\n  listen: 127.0.0.1:{port}\n  certificate: {context.directory}/server.pem\n"
        f"  key: {context.directory}/server.key\n")
    team = Team(context, extra)

    def ask(certificate=None, said=""):
        client = ssl.create_default_context(cafile=authority.certificate)
        if certificate:
            client.load_cert_chain(context.directory / f"{certificate}.pem", context.directory / f"{certificate}.key")
        raw = socket.create_connection(("127.0.0.1", port), timeout=20)
        with Wire(client.wrap_socket(raw, server_hostname="localhost")) as wire:
            wire.send(f"GET {team.origin.url}/a HTTP/1.1\r\nHost: {team.origin.authority}\r\n{said}\r\n")
            return wire.response()[0]

    expect_equal(ask(), 407, "the status over TLS without a user")
    expect_equal(ask(said=f"Proxy-Authorization: {basic(*ANNA)}\r\n"), 200, "the status over TLS with a user")
    team.daemon.file.write_text(
        team.daemon.file.read_text().replace("tls:\n", f"tls:\n  clientCA: {team_authority.certificate}\n"))
    team.reload()
    for _ in range(5):
        expect_equal(ask("cleo"), 200, "the status with a certificate")
    curl = context.command("curl")
    done = context.run([
        curl, "-sS", "--noproxy", "", "-x", f"https://localhost:{port}", "--proxy-cacert", authority.certificate,
        "--proxy-cert", context.directory / "cleo.pem", "--proxy-key", context.directory / "cleo.key",
        f"{team.origin.url}/a"], check=False)
    expect_equal(done.stdout, b"flour\n", f"what curl gets with a certificate ({done.stderr.decode()})")
    expect_equal(subprocess.call(
        [str(curl), "-s", "-o", "/dev/null", "--noproxy", "", "-x", f"http://127.0.0.1:{team.daemon.port}", "-f",
         f"{team.origin.url}/a"]), 22, "curl's exit status without TLS and without a user")
