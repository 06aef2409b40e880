"""A server that misbehaves in the way that its arguments name. Needs nothing but Python's standard library."""

import json
import os
import subprocess
import sys
import threading

mode = sys.argv[1]
lock = threading.Lock()
OBJECT = {"type": "object"}


def send(message):
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def tool(name, **fields):
    return {"name": name, "inputSchema": OBJECT, **fields}


def tools(page):
    if mode == "schemas":
        return [
            tool("Plain", description="Fine"),
            {
                "name": "Refers",
                "inputSchema": {
                    "type": "object",
                    "properties": {"node": {"$ref": "#/$defs/node"}},
                    "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
                },
            },
            {"name": "Untyped", "inputSchema": {"type": "object", "properties": {"any": {}, "list": {"type": "array"}}}},
            {"name": "Text", "inputSchema": {"type": "string"}},
            {"name": "Missing"},
            {"name": "Null", "inputSchema": None},
            {"name": "True", "inputSchema": True},
            {"name": "Invalid", "inputSchema": {"type": "banana"}},
            {"name": "Remote", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "https://example.com/s"}}}},
            {"name": "", "inputSchema": OBJECT},
            {"inputSchema": OBJECT},
            "not a tool",
            tool("two words:x"),
            tool("plain"),
        ]
    if mode == "wide":
        properties = {f"property{n}": {"type": "string"} for n in range(100_000)}
        return [tool("Wide", description="x"), tool("Call"), {"name": "TooWide", "inputSchema": {"type": "object", "properties": properties}}]
    if mode == "pages":
        return [tool(f"Tool{page}")]
    if mode == "impostor":
        return [tool("b_b__New"), tool("All(*)")]
    if mode == "change" and changed:
        return [tool("Change"), tool("New")]
    if mode == "change":
        return [tool("Change")]
    if mode in ("swap", "reborn"):
        return [tool("Change"), tool("Call", description="Something else" if changed else "Something")]
    return [tool("Call"), tool("Pid")]


# The second process of a reborn server is another server.
changed = mode == "reborn" and os.path.exists(sys.argv[2])
if mode == "reborn":
    open(sys.argv[2], "w").close()


def call(name, arguments):
    """The result of a call; None sends none."""
    global changed
    if name == "Pid":
        return text(str(os.getpid()))
    if mode == "die" or mode == "reborn" and name == "Change":
        print("out of luck", file=sys.stderr, flush=True)
        os._exit(3)
    if mode == "hang":
        return None
    if mode == "huge":
        return text("x" * (50 << 20))
    if name == "Change":
        changed = True
        send({"method": "notifications/tools/list_changed"})
        return text("changed")
    if mode == "children":
        child = subprocess.Popen(["sleep", "3600"])
        return text(str(child.pid))
    if mode == "unknown":
        return {"content": [{"type": "hologram", "depth": 3}, {"type": "text", "text": "and a text"}]}
    if mode == "environment":
        return text(json.dumps(dict(os.environ)))
    if mode == "asks":
        return asked(arguments["forms"], arguments["fields"])
    if mode == "garbage":
        return {"content": "no list"}
    return text("done")


def asked(forms, fields):
    """Asks the user with this number of forms at once, of this number of fields, and says what the answers were."""
    schema = {"type": "object", "properties": {f"a{field}": {"type": "string"} for field in range(fields)}}
    for number in range(forms):
        params = {"mode": "form", "message": "What?", "requestedSchema": schema}
        send({"id": f"form{number}", "method": "elicitation/create", "params": params})
    answers = [json.loads(sys.stdin.readline())["result"]["action"] for _ in range(forms)]
    return text(f"{answers.count('accept')} accepted, {answers.count('cancel')} cancelled")


def text(words):
    return {"content": [{"type": "text", "text": words}]}


if mode == "silent":
    for line in sys.stdin:
        pass
if mode == "ends":
    print("no licence", file=sys.stderr, flush=True)
    sys.exit(1)
if mode == "flood":

    def flood():
        while True:
            os.write(2, b"noise " * 1000 + b"\n")

    threading.Thread(target=flood, daemon=True).start()
if mode == "deaf":
    import signal

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if mode == "children-at-start":
    child = subprocess.Popen(["sleep", "3600"])
    with open(sys.argv[2], "w") as file:
        file.write(str(child.pid))

def discovered():
    if mode == "late" and sys.argv[2] == "new":
        return {
            "result": {
                "resultType": "complete",
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}},
                "ttlMs": 0,
                "cacheScope": "private",
            }
        }
    return {"error": {"code": -32601, "message": "method not found"}}


# The first process of a late server answers the first question with the second one.
held = None
log = open(sys.argv[2], "a") if mode in ("hang", "picky") else None
for line in iter(sys.stdin.readline, ""):
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if log:
        log.write(method + "\n")
        log.flush()
    if held is not None:
        send(held)
        held = None
    if method == "initialize":
        capabilities = {"tools": {"listChanged": True}}
        info = {"name": "odd", "version": "1"}
        send({"id": id, "result": {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}})
    elif method == "server/discover" and mode == "picky":
        sys.exit(0)
    elif method == "server/discover":
        answer = {"id": id, **discovered()}
        if mode == "late" and not os.path.exists(sys.argv[3]):
            open(sys.argv[3], "w").close()
            held = answer
        else:
            send(answer)
    elif method == "tools/list":
        cursor = (message.get("params") or {}).get("cursor")
        page = int(cursor or 0)
        result = {"tools": tools(page)}
        if mode == "pages":
            # It never ends, and the last page is repeated for good.
            result["nextCursor"] = str(min(page + 1, 5))
        send({"id": id, "result": result})
    elif method == "tools/call":
        params = message["params"]
        result = call(params["name"], params.get("arguments"))
        if result is not None:
            send({"id": id, "result": result})
    elif id is not None:
        send({"id": id, "error": {"code": -32601, "message": "method not found"}})
if mode == "deaf":
    while True:
        signal.pause()
