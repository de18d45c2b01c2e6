# SPDX-License-Identifier: Apache-2.0
"""A parent proxy whose tunnels all lead to one place, so that programs find any host there."""

import socket
import socketserver
import threading


class Tunnels(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port):
        self.place = ("127.0.0.1", port)
        super().__init__(("127.0.0.1", 0), Tunnel)
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def close(self):
        self.shutdown()
        self.server_close()


class Tunnel(socketserver.StreamRequestHandler):
    # The octets behind the request's head are the tunnel's.
    rbufsize = 0

    def handle(self):
        while self.rfile.readline().strip():
            pass
        with socket.create_connection(self.server.place) as origin:
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            back = threading.Thread(target=pour, args=(origin, self.connection), daemon=True)
            back.start()
            pour(self.connection, origin)
            back.join()


def pour(source, sink):
    try:
        while octets := source.recv(65536):
            sink.sendall(octets)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass
