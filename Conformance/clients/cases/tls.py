# SPDX-License-Identifier: Apache-2.0
"""TLS: tunnels through the proxy, and https upstreams of the gateway, with a certificate authority of our own."""

import ssl

from cases.curl import curl
from harness.case import case, expect, expect_equal, expect_hit, expect_in
from harness.daemon import free_port
from harness.origin import fresh
from harness.wire import Wire


class Authority:
    """A certificate authority, made with the openssl command."""

    def __init__(self, context, name="ca"):
        self.context = context
        self.openssl = context.command("openssl")
        self.key = context.directory / f"{name}.key"
        self.certificate = context.directory / f"{name}.pem"
        context.run([
            self.openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-keyout", self.key, "-out", self.certificate, "-days", "2", "-subj", f"/CN=Test authority {name}",
            "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign",
        ])

    def server(self, names, label="leaf", usage="serverAuth"):
        """A server's TLS context, with a certificate for these names (`DNS:…`, `IP:…`)."""
        directory = self.context.directory
        key, request, leaf = (directory / f"{label}.{kind}" for kind in ("key", "csr", "pem"))
        extensions = directory / f"{label}.ext"
        extensions.write_text(f"subjectAltName={names}\nextendedKeyUsage={usage}\n")
        self.context.run([
            self.openssl, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-keyout", key, "-out", request, "-subj", "/CN=leaf",
        ])
        self.context.run([
            self.openssl, "x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key,
            "-CAcreateserial", "-out", leaf, "-days", "2", "-extfile", extensions,
        ])
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(leaf, key)
        return tls


LOOPBACK = "DNS:localhost,IP:127.0.0.1"


@case("tunnel", "curl through CONNECT to a TLS server: bytes pass unseen, and are counted as a tunnel")
def tunnel(context):
    authority = Authority(context)
    content = bytes(range(256)) * 4096
    origin = context.origin({"/secret": fresh(content)}, tls=authority.server(LOOPBACK))
    daemon = context.daemon()
    for _ in range(2):
        done = context.run([
            context.command("curl"), "-sS", "--noproxy", "", "-x", daemon.url, "--cacert", authority.certificate,
            f"https://localhost:{origin.port}/secret",
        ])
        expect_equal(done.stdout, content, "content through the tunnel")
    expect_equal(len(origin.asked), 2, "requests at the origin")
    expect_equal(daemon.requests("tunnel", expected=(2,)), (2,), "tunnels in /-/status")


@case("tunnel", "a CONNECT to a port nobody listens on is refused with its reason")
def tunnel_to_nobody(context):
    daemon = context.daemon()
    target = f"127.0.0.1:{free_port()}"
    with Wire.connect(daemon.port) as client:
        client.send(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n")
        status, fields, _ = client.response()
    expect_equal(status, 502, "status")
    expect_in("connection_refused", fields.get("proxy-status", ""), "Proxy-Status")


@case("https", "the gateway to an https origin whose authority is trusted: verified, cached")
def gateway(context):
    authority = Authority(context)
    origin = context.origin({"/v1/thing": fresh("a thing\n")}, tls=authority.server(LOOPBACK))
    daemon = context.daemon(
        f"upstream:\n  caFile: {authority.certificate}\n"
        f"services:\n  api:\n    baseURL: https://localhost:{origin.port}/v1\n"
    )
    for attempt in (1, 2):
        status, fields, content = curl(context, f"{daemon.url}/api/thing")
        expect_equal((status, content), (200, b"a thing\n"), "answer")
    expect_hit(fields, "second time")
    status, fields, content = curl(context, f"{daemon.url}/https/localhost:{origin.port}/v1/thing")
    expect_equal((status, content), (200, b"a thing\n"), "by any-host path")
    expect_hit(fields, "by any-host path")
    expect_equal(len(origin.asked), 1, "requests at the origin")


@case("https", "an origin with a certificate of an unknown authority is not spoken to")
def unknown_authority(context):
    authority = Authority(context)
    origin = context.origin({"/": fresh("never\n")}, tls=authority.server(LOOPBACK))
    daemon = context.daemon()
    status, fields, content = curl(context, f"{daemon.url}/https/localhost:{origin.port}/")
    expect_equal(status, 502, "status")
    expect_in("tls_certificate_error", fields.get("proxy-status", ""), "Proxy-Status")
    expect("never" not in content.decode(), "the content of an unverified origin was passed on")
    expect_equal(len(origin.asked), 0, "requests at the origin")


@case("https", "an origin whose certificate is for another host is not spoken to")
def other_host(context):
    authority = Authority(context)
    origin = context.origin({"/": fresh("never\n")}, tls=authority.server("DNS:other.example"))
    daemon = context.daemon(f"upstream:\n  caFile: {authority.certificate}\n")
    status, fields, _ = curl(context, f"{daemon.url}/https/localhost:{origin.port}/")
    expect_equal(status, 502, "status")
    expect_in("tls_certificate_error", fields.get("proxy-status", ""), "Proxy-Status")
    expect_equal(len(origin.asked), 0, "requests at the origin")
