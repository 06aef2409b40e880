"""Gadgets that are not Python: built-in ones, and tools of MCP servers."""

import sys
import textwrap

import pytest

from gadgetry import Agent, Approvals, ApprovalsMissing, McpServers, ScriptedModel, builtin_gadgets, gadget
from gadgetry.testing import call

SERVER = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        result = {"tools": [{"name": "double", "description": "Doubles.", "inputSchema": schema}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": str(2 * params["arguments"]["n"])}]}
    elif "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def test_files(tmp_path):
    (tmp_path / "a.txt").write_text("hello")
    model = ScriptedModel(call("ReadFile", filePath="a.txt"), call("WriteFile", filePath="b.txt", content="bye"), "Done.")
    gadgets = builtin_gadgets(tmp_path, ["ReadFile", "WriteFile"])
    assert [item.name for item in gadgets] == ["ReadFile", "WriteFile"]
    assert [item.permission for item in gadgets] == ["allow", "ask"] and gadgets[0].parameters["type"] == "object"
    with pytest.raises(ApprovalsMissing):
        Agent(model, gadgets=gadgets)
    shown = []

    async def approve(approval):
        shown.append((approval.gadget_name, approval.subject.kind, approval.subject.text, "+bye" in approval.diff))
        return True

    @gadget
    def own() -> None:
        """Is Python."""

    result = Agent(model, gadgets=[*gadgets, own], approvals=approve).ask_sync("?")
    assert [item.status for item in result.calls] == ["succeeded"] * 2
    assert "hello" in result.conversation.to_json()
    assert (tmp_path / "b.txt").read_text() == "bye"
    assert shown == [("WriteFile", "path", "b.txt", True)]
    with pytest.raises(ValueError, match="ReadFile"):
        builtin_gadgets(tmp_path, ["NoSuch"])
    with pytest.raises(Exception, match="."):
        builtin_gadgets(tmp_path / "nothing")


def test_a_server(run, tmp_path):
    program = tmp_path / "server.py"
    program.write_text(textwrap.dedent(SERVER))

    async def main():
        configs = {
            "math": {"command": sys.executable, "args": [str(program)]},
            "broken": {"command": sys.executable, "args": ["-c", "raise SystemExit(1)"], "startup-timeout": "20s"},
        }
        async with McpServers(configs) as servers:
            assert len(servers.problems) == 1 and "broken" in servers.problems[0]
            (double,) = servers.gadgets()
            assert (double.name, double.description, double.permission) == ("double", "Doubles.", "ask")
            approvals = Approvals(["allow double@math"])
            agent = Agent(ScriptedModel(call("double", n=21), "It is 42."), gadgets=servers.gadgets(), approvals=approvals)
            result = await agent.ask("?")
            assert [item.status for item in result.calls] == ["succeeded"]
            return result.conversation.to_json()

    assert "42" in run(main)


def test_mistakes_of_the_program(run):
    async def wrong():
        async with McpServers({"a": {"command": "x", "url": "http://localhost"}}):
            pass

    with pytest.raises(ValueError, match="a: "):
        run(wrong)
    with pytest.raises(RuntimeError, match="async with"):
        McpServers({}).gadgets()
