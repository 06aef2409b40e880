"""A server whose model knows no tools, for the official SDKs and what is built on them."""

import contextlib
import http.server
import json
import re
import threading


class Server(http.server.BaseHTTPRequestHandler):
    """A server of Chat Completions whose model knows no tools: it writes text."""

    protocol_version = "HTTP/1.1"
    requests: list = []
    heads: list = []
    fails = False
    says: list = []
    hangs: str | None = None

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer(404, b"{}", "application/json")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.heads.append({"target": self.path} | {name.lower(): value for name, value in self.headers.items()})
        if self.path.endswith("/messages"):
            return self.answer(401, b"{}", "application/json")
        if not self.path.endswith("/chat/completions"):
            return self.answer(404, b"{}", "application/json")
        self.requests.append((body, self.headers.get("authorization")))
        if self.fails:
            error = json.dumps({"error": {"message": "slow down", "type": "rate_limit"}})
            return self.answer(429, error.encode(), "application/json")
        if self.says:
            text = self.says.pop(0)
        else:
            text = "It is sunny in Paris." if "sunny" in str(body["messages"]) else CALL
        text = marked(text, body)
        if not body.get("stream"):
            message = {"role": "assistant", "content": text}
            whole = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
            whole["choices"] = [{"index": 0, "message": message, "finish_reason": "stop"}]
            return self.answer(200, json.dumps(whole).encode(), "application/json")
        frames = []
        for at in range(0, len(text), 7):
            frames.append({"choices": [{"index": 0, "delta": {"content": text[at : at + 7]}, "finish_reason": None}]})
        frames.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        head = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        stream = "".join(f"data: {json.dumps({**head, **frame})}\n\n" for frame in frames) + "data: [DONE]\n\n"
        return self.answer(200, stream.encode(), "text/event-stream")

    def answer(self, status, body, kind):
        if self.hangs == "head":
            threading.Event().wait(20)
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        half = len(body) // 2 if self.hangs == "body" else 0
        self.wfile.write(body[:half])
        if half:
            threading.Event().wait(20)
        self.wfile.write(body[half:])


def call(name, **arguments):
    """The text of a call."""
    lines = "".join(f"!!!ARG:{key}\n{value}\n" for key, value in arguments.items())
    return f"!!!GADGET_START:{name}:c\n{lines}!!!GADGET_END\n"


def marked(text, body):
    """A text with the markers that the prompt asks for."""
    found = re.search(r"!!!GADGET_START([^:\\\"]*):", json.dumps(body["messages"]))
    word = found[1] if found else ""
    return re.sub(r"!!!(GADGET_START|GADGET_END|ARG)", rf"!!!\1{word}", text)


CALL = "Let me look.\n" + call("weather", city="Paris")


@contextlib.contextmanager
def served():
    """Starts the server. Yields its base URL."""
    Server.requests, Server.heads, Server.says, Server.fails, Server.hangs = [], [], [], False, None
    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{made.server_port}/v1"
    made.shutdown()
