"""Stands between an agent and the gateway, and keeps every request with its response."""

import http.client
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOP_BY_HOP = {"host", "connection", "transfer-encoding", "content-length"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def forward(self):
        recorder = self.server.recorder
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length) if length else b""
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        upstream = http.client.HTTPConnection("127.0.0.1", recorder.port, timeout=120)
        upstream.request(self.command, self.path, body, headers)
        response = upstream.getresponse()
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        received = b""
        try:
            while piece := response.read1(65536):
                received += piece
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.close_connection = True
        recorder.add(self.command, self.path, headers, body, response, received)

    do_GET = do_POST = do_HEAD = do_PUT = do_DELETE = forward

    def log_message(self, *_):
        pass


class Recorder:
    """A proxy in front of the gateway at a port."""

    def __init__(self, port, log):
        self.port, self.log = port, log
        self.exchanges, self.lock = [], threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.recorder = self
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def add(self, method, path, headers, body, response, received):
        exchange = {
            "request": f"{method} {path}",
            "headers": headers,
            "body": body.decode("utf-8", "replace"),
            "status": response.status,
            "warnings": [value for name, value in response.getheaders() if name.lower() == "x-gadgetry-warning"],
            "response": received.decode("utf-8", "replace"),
        }
        with self.lock:
            self.exchanges.append(exchange)
            with open(self.log, "a", encoding="utf-8") as log:
                log.write(json.dumps(exchange) + "\n")

    def failures(self):
        """The exchanges whose status is that of an error."""
        return [f"{it['request']}: {it['status']} {it['response'][:300]}" for it in self.exchanges if it["status"] >= 400]

    def warnings(self):
        return sorted({warning for it in self.exchanges for warning in it["warnings"]})
