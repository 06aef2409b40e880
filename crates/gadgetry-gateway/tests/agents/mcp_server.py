#!/usr/bin/env python3
"""A server of the Model Context Protocol with one tool, on stdin and stdout."""

import json
import sys

NUMBER = {"type": "number", "description": "A factor"}
TOOL = {
    "name": "multiply",
    "description": "Multiplies two numbers",
    "inputSchema": {"type": "object", "properties": {"a": NUMBER, "b": NUMBER}, "required": ["a", "b"]},
}


def result_of(method, params):
    if method == "initialize":
        version = params.get("protocolVersion", "2025-06-18")
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "demo", "version": "1"}}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        product = params["arguments"]["a"] * params["arguments"]["b"]
        return {"content": [{"type": "text", "text": f"{product:g}"}]}
    return {}


for line in sys.stdin:
    request = json.loads(line)
    # A notification has no id, and gets no answer.
    if "id" in request:
        result = result_of(request["method"], request.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
