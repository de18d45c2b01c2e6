# SPDX-License-Identifier: Apache-2.0
"""Where Larder listens, what its TLS listener agrees to as checkers of TLS look at it, and certificates renewed."""

import socket
import ssl
import struct
import threading
import time

from cases.tls import LOOPBACK, Authority
from harness.case import case, expect, expect_equal, expect_in
from harness.daemon import free_port
from harness.origin import fresh

# Suites without forward secrecy or with ciphers that are given up, by what OpenSSL calls them.
WEAK = ["AES128-SHA", "AES256-SHA", "AES128-GCM-SHA256", "DES-CBC3-SHA", "RC4-SHA", "NULL-SHA256",
        "ECDHE-RSA-AES128-SHA", "ADH-AES128-SHA256", "PSK-AES128-CBC-SHA"]
# Key types of the certificate decide which of these can be agreed to at all.
STRONG = ["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305"]


class Listener:
    """A daemon with a TLS listener."""

    def __init__(self, context, extra=""):
        self.context = context
        self.authority = Authority(context)
        self.authority.server(LOOPBACK, "server")
        self.port = free_port()
        self.origin = context.origin({"/a": fresh("a thing\n")})
        directory = context.directory
        self.daemon = context.daemon(
            f"tls:\n  listen: 127.0.0.1:{self.port}\n  certificate: {directory}/server.pem\n"
            f"  key: {directory}/server.key\n{extra}")

    def client(self, minimum=None, maximum=None, ciphers=None):
        made = ssl.create_default_context(cafile=self.authority.certificate)
        if minimum:
            made.minimum_version = minimum
        if maximum:
            made.maximum_version = maximum
        if ciphers:
            made.set_ciphers(ciphers + ":@SECLEVEL=0")
        return made

    def agree(self, client, session=None):
        """The connection; an `OSError` (of which `ssl.SSLError` is one) if there is no agreement."""
        raw = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        try:
            return client.wrap_socket(raw, server_hostname="localhost", session=session)
        except Exception:
            raw.close()
            raise

    def refuses(self, client):
        try:
            self.agree(client).close()
        except OSError:
            return True
        return False


def get(stream, port, path="/a"):
    stream.sendall(f"GET http://127.0.0.1:{port}{path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    answer = b""
    while b"a thing\n" not in answer:
        part = stream.recv(65536)
        if not part:
            raise OSError(f"the connection ended after {answer!r}")
        answer += part
    return answer


@case("tls-listener", "protocols, ciphers, renegotiation, compression and tickets of the TLS listener")
def checked(context):
    scene = Listener(context)
    version = ssl.TLSVersion
    for wanted, name in ((version.TLSv1_2, "TLSv1.2"), (version.TLSv1_3, "TLSv1.3")):
        with scene.agree(scene.client(wanted, wanted)) as stream:
            expect_equal(stream.version(), name, "the version agreed on")
            expect_equal(stream.compression(), None, "compression")
            expect_in(b"200 OK", get(stream, scene.origin.port), f"the answer over {name}")
    for old in (version.TLSv1, version.TLSv1_1):
        try:
            client = scene.client(version.MINIMUM_SUPPORTED, old, "ALL")
        except ValueError:
            continue
        expect(scene.refuses(client), f"{old.name} is agreed to")
    for suite in WEAK:
        try:
            client = scene.client(maximum=version.TLSv1_2, ciphers=suite)
        except ssl.SSLError:
            continue
        expect(scene.refuses(client), f"{suite} is agreed to")
    agreed = [suite for suite in STRONG if not scene.refuses(scene.client(maximum=version.TLSv1_2, ciphers=suite))]
    expect_equal(agreed, STRONG, "suites that are agreed to")
    refused_old(scene)
    renegotiation(scene)
    resumption(scene)


def refused_old(scene):
    """SSL 3 and a hello of SSL 2, which no library here can send any more."""
    hello = bytes([3, 0]) + bytes(32) + b"\0" + struct.pack(">H", 2) + b"\x00\x2f" + b"\x01\0"
    ssl3 = b"\x16\x03\0" + struct.pack(">H", len(hello) + 4) + b"\x01" + len(hello).to_bytes(3, "big") + hello
    ssl2 = b"\x80\x1c\x01\x00\x02\x00\x03\x00\x00\x00\x10\x01\x00\x80" + bytes(16)
    for name, octets in (("SSL 3", ssl3), ("SSL 2", ssl2)):
        with socket.create_connection(("127.0.0.1", scene.port), timeout=20) as raw:
            raw.sendall(octets)
            answer = raw.recv(4096)
            expect(answer[:1] != b"\x16", f"{name} is answered by a handshake: {answer[:20]!r}")


def renegotiation(scene):
    """A client that asks for another handshake in TLS 1.2 does not get one."""
    openssl = scene.context.command("openssl")
    done = scene.context.run([
        openssl, "s_client", "-connect", f"127.0.0.1:{scene.port}", "-tls1_2", "-CAfile", scene.authority.certificate,
    ], data=b"R\n", check=False)
    said = (done.stdout + done.stderr).decode(errors="replace")
    expect_in("Secure Renegotiation IS supported", said, "the extension that keeps others' handshakes out")
    expect_in("no renegotiation", said.lower(), "the answer to a renegotiation")


def resumption(scene):
    """Clients keep the sessions, as tickets; what they send early is not read."""
    for maximum in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        client = scene.client(maximum=maximum)
        with scene.agree(client) as stream:
            get(stream, scene.origin.port)
            session = stream.session
        expect(session is not None and session.has_ticket, f"no ticket from {maximum.name}")
        with scene.agree(client, session) as stream:
            expect(stream.session_reused, f"a session of {maximum.name} is not resumed")
            get(stream, scene.origin.port)
    done = scene.context.run([
        scene.context.command("openssl"), "s_client", "-connect", f"127.0.0.1:{scene.port}", "-CAfile",
        scene.authority.certificate,
    ], data=b"", check=False)
    expect_in("Early data was not sent", done.stdout.decode(), "early data")


@case("tls-listener", "certificates are renewed by reloads under load, without an error for anybody")
def renewed(context):
    scene = Listener(context)
    client = scene.client()
    seconds = 20 if context.full else 4
    end = time.monotonic() + seconds
    failures, served, serials = [], [0], set()

    def load(lasting):
        stream = None
        while time.monotonic() < end and not failures:
            try:
                if stream is None:
                    stream = scene.agree(client)
                    serials.add(stream.getpeercert()["serialNumber"])
                get(stream, scene.origin.port)
                served[0] += 1
                if not lasting:
                    stream.close()
                    stream = None
            except OSError as error:
                failures.append(repr(error))
        if stream:
            stream.close()

    threads = [threading.Thread(target=load, args=(number % 2 == 0,)) for number in range(4)]
    for thread in threads:
        thread.start()
    renewals = 0
    while time.monotonic() < end - 0.5:
        scene.authority.server(LOOPBACK, "server")
        scene.daemon.reload()
        renewals += 1
        time.sleep(0.3)
    for thread in threads:
        thread.join()
    expect_equal(failures, [], f"what failed in {renewals} renewals")
    expect(served[0] > 100, f"only {served[0]} requests were answered")
    expect(len(serials) > 2, f"only {len(serials)} certificates were seen in {renewals} renewals")


@case("tls-listener", "curl proves who it is with a certificate where tls.clientCA asks for one")
def proven(context):
    authority = Authority(context, "team")
    authority.server("DNS:anna", "anna", usage="clientAuth")
    scene = Listener(context, f"  clientCA: {authority.certificate}\n")
    url = f"http://127.0.0.1:{scene.origin.port}/a"
    curl = [
        context.command("curl"), "-sS", "--noproxy", "", "--proxy-cacert", scene.authority.certificate, "-x",
        f"https://localhost:{scene.port}",
    ]
    expect(context.run([*curl, url], check=False).returncode != 0, "a client without a certificate is served")
    done = context.run([
        *curl, "--proxy-cert", context.directory / "anna.pem", "--proxy-key", context.directory / "anna.key", url])
    expect_equal(done.stdout, b"a thing\n", "the content")


@case("listen", "all addresses of IPv4 and of IPv6 side by side, in either order; [::] alone is both")
def addresses(context):
    for number, listen in enumerate((
            ["0.0.0.0", "[::]"], ["[::]", "0.0.0.0"], ["127.0.0.1", "[::]"], ["[::]"])):
        quoted = ", ".join(f'"{address}:{{port}}"' for address in listen)
        daemon = context.daemon(sets={"listen": f"[{quoted}]"}, name=f"listening-{number}")
        for address in ("127.0.0.1", "::1"):
            with socket.create_connection((address, daemon.port), timeout=20) as stream:
                stream.sendall(
                    f"GET /-/ready HTTP/1.1\r\nHost: localhost:{daemon.port}\r\nConnection: close\r\n\r\n".encode())
                expect_in(b"200 OK", stream.recv(4096), f"the answer at {address} of a daemon at {listen}")
