#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A client that asks for one stored response again and again, and an operator who invalidates something now and then.

Runs as a program of its own, so that it waits for the daemon alone:

    bystander.py PORT SOCKET URL SECONDS

Prints the latencies in milliseconds as JSON: those of the bystander's requests, and of the operator's commands."""

import json
import socket
import sys
import time

PAUSE = 0.004
OPERATOR_PAUSE = 1.0
PATIENCE = 30


def exchange(connection, request):
    """Sends a request and reads its response, which has a length. Returns milliseconds."""
    began = time.perf_counter()
    connection.sendall(request)
    received = b""
    while b"\r\n\r\n" not in received:
        received += receive(connection)
    head, _, content = received.partition(b"\r\n\r\n")
    lines = head.decode("latin1").lower().split("\r\n")
    length = next(int(line.split(":")[1]) for line in lines if line.startswith("content-length:"))
    while len(content) < length:
        content += receive(connection)
    if lines[0].split()[1] != "200":
        raise OSError(f"answered with {lines[0]}")
    return (time.perf_counter() - began) * 1000


def receive(connection):
    piece = connection.recv(1 << 16)
    if not piece:
        raise OSError("the daemon closed the connection")
    return piece


def command(path, url):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE)
        began = time.perf_counter()
        connection.connect(path)
        exchange(
            connection,
            f"POST /-/resource/invalidate?url={url} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n".encode())
        return (time.perf_counter() - began) * 1000


def main():
    port, path, url, seconds = int(sys.argv[1]), sys.argv[2], sys.argv[3], float(sys.argv[4])
    authority = url.split("/")[2]
    request = f"GET {url} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode()
    bystander, operator = [], []
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        exchange(connection, request)
        end = time.monotonic() + seconds
        next_command = time.monotonic() + OPERATOR_PAUSE / 2
        while time.monotonic() < end:
            bystander.append(exchange(connection, request))
            if time.monotonic() > next_command:
                operator.append(command(path, f"http://{authority}/another"))
                next_command = time.monotonic() + OPERATOR_PAUSE
            time.sleep(PAUSE)
    json.dump({"bystander": bystander, "operator": operator}, sys.stdout)


if __name__ == "__main__":
    main()
