#!/usr/bin/env python3
# A server of files with the manners, good and bad, of servers on the internet. The first part of a
# path says how to behave, the second names the file: /ok/x.bin, /cut-1000/x.bin.
# SPDX-License-Identifier: MIT
"""usage: serve.py FOLDER

Serves the files of FOLDER on 127.0.0.1, prints the port, and appends one line per request to
FOLDER/requests.log: the path and the range that was asked for. Nothing else is remembered. Ends with
standard input.
"""
import http.server
import pathlib
import sys
import threading
import time
import urllib.parse

folder = pathlib.Path(sys.argv[1])
lock = threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"

    def log_message(self, *args):
        pass

    def do_GET(self):
        self.path = urllib.parse.urlsplit(self.path).path  # a proxy gets whole addresses
        _, mode, name = self.path.split("/", 2)
        asked = self.headers.get("Range", "")
        with lock:
            with open(folder / "requests.log", "a+") as log:
                log.write(f"{self.path} {asked or 'all'}\n")
                log.seek(0)
                self.count = sum(line.split()[0] == self.path for line in log)
        word, _, number = mode.partition("-")
        body = (folder / name).read_bytes()
        getattr(self, "serve_" + word)(name, body, asked, int(number or 0))

    def send(self, status, headers, body):
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)

    def send_part(self, body, asked, most=None, shift=0, total=None, length=True):
        """What a good server does; `most` cuts the connection after so many bytes."""
        start = int(asked.removeprefix("bytes=").split("-")[0]) if asked else 0
        rest = body[start:]
        headers = {"Content-Length": len(rest)} if length else {}
        if asked and start >= len(body):
            return self.send(416, {"Content-Range": f"bytes */{len(body)}"}, b"")
        if asked:
            first = start + shift
            headers["Content-Range"] = f"bytes {first}-{len(body) - 1}/{total or len(body)}"
        self.send(206 if asked else 200, headers, rest if most is None else rest[:most])

    def serve_ok(self, name, body, asked, number):
        self.send_part(body, asked)

    def serve_whole(self, name, body, asked, number):
        self.send_part(body, "")

    def serve_cut(self, name, body, asked, number):
        self.send_part(body, asked, most=number)

    def serve_unsized(self, name, body, asked, number):
        self.send_part(body, asked, most=number or None, length=False)

    def serve_cutwhole(self, name, body, asked, number):
        self.send_part(body, "", most=number)

    def serve_busy(self, name, body, asked, number):
        if self.count <= number:
            return self.send(503, {}, b"busy")
        self.send_part(body, asked)

    def serve_later(self, name, body, asked, number):
        if self.count <= number:
            return self.send(429, {"Retry-After": "1"}, b"later")
        self.send_part(body, asked)

    def serve_missing(self, name, body, asked, number):
        self.send(404, {}, b"not here")

    def serve_wrong(self, name, body, asked, number):
        self.send_part(bytes(255 - byte for byte in body), asked)

    def serve_longer(self, name, body, asked, number):
        self.send_part(body + b"more", asked)

    def serve_endless(self, name, body, asked, number):
        self.send_part(body + b"more", asked, length=False)

    def serve_badrange(self, name, body, asked, number):
        if asked:
            return self.send(416, {}, b"")
        self.send_part(body, asked)

    def serve_never(self, name, body, asked, number):
        self.send(416, {}, b"")

    def serve_shifted(self, name, body, asked, number):
        self.send_part(body, asked, shift=7)

    def serve_unranged(self, name, body, asked, number):
        self.send(206, {"Content-Length": len(body)}, body)

    def serve_other(self, name, body, asked, number):
        self.send_part(body, asked, total=len(body) + 1)

    def serve_redirect(self, name, body, asked, number):
        self.send(302, {"Location": f"/ok/{name}"}, b"")

    def serve_circle(self, name, body, asked, number):
        self.send(302, {"Location": self.path}, b"")

    def serve_tofile(self, name, body, asked, number):
        self.send(302, {"Location": f"file://{folder}/{name}"}, b"")

    def serve_stall(self, name, body, asked, number):
        self.send_part(body, "", most=number)
        self.wfile.flush()
        time.sleep(60)

    def serve_trickle(self, name, body, asked, number):
        self.send_part(body, asked, most=0)
        for byte in body:
            self.wfile.write(bytes([byte]))
            time.sleep(0.05)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # the client may leave when it likes


def main():
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
