"""The examples, as they are in the tree, with a script as their model."""

import asyncio
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import httpx
import pytest

from gadgetry import Agent, ScriptedModel, gadget
from gadgetry.testing import _line, call, reply


@pytest.fixture
def examples(root):
    return root / "bindings/python/examples"


@pytest.fixture
def script(tmp_path, monkeypatch):
    """Makes a script the model of the examples."""

    def write(*replies):
        file = tmp_path / "script.jsonl"
        file.write_text("\n".join(json.dumps(_line(item)) for item in replies))
        monkeypatch.setenv("MODEL", f"script:{file}")

    return write


def loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def asked(examples):
    app = loaded(examples / "fastapi_stream.py").app

    async def main():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.get("/ask", params={"prompt": "?"})

    response = asyncio.run(main())
    assert response.headers["content-type"].startswith("text/event-stream")
    frames = [dict(line.split(": ", 1) for line in frame.splitlines()) for frame in response.text.split("\n\n") if frame]
    return [(frame["event"], json.loads(frame["data"])) for frame in frames]


def test_fastapi(examples, script):
    script(reply("Let me look.\n", call("Weather", id="w", city="Paris")), "It is 21 degrees.")
    frames = asked(examples)
    texts = "".join(data["text"] for event, data in frames if event == "text")
    assert "Let me look." in texts and "It is 21 degrees." in texts
    others = [item for item in frames if item[0] != "text"]
    assert others[:2] == [
        ("call", {"id": "w", "name": "Weather", "parameters": {"city": "Paris"}}),
        ("result", {"id": "w", "result": "Paris: 21 degrees", "error": None}),
    ]
    assert [event for event, _ in others[2:]] == ["done"] and others[2][1]["iterations"] == 2


def test_fastapi_when_a_run_fails(examples, script):
    script(reply("I", error="no way"))
    assert [event for event, _ in asked(examples) if event != "text"] == ["error"]


def test_fastapi_when_the_client_leaves(examples, script):
    """The gadget that runs is cancelled."""
    script()
    module = loaded(examples / "fastapi_stream.py")

    async def main():
        began, ended = asyncio.Event(), asyncio.Event()

        @gadget
        async def hang() -> None:
            """Hangs."""
            began.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        module.agent = Agent(ScriptedModel(call("Hang")), gadgets=[hang])
        # The version is that of uvicorn.
        scope = {"type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "method": "GET", "path": "/ask"}
        scope |= {"query_string": b"prompt=x", "headers": [], "http_version": "1.1", "scheme": "http", "root_path": ""}
        received = iter([{"type": "http.request", "body": b"", "more_body": False}])

        async def receive():
            for message in received:
                return message
            await began.wait()
            return {"type": "http.disconnect"}

        async def send(_):
            pass

        async with asyncio.timeout(60):
            await module.app(scope, receive, send)
            await ended.wait()

    asyncio.run(main())


def test_langgraph(examples, script):
    script(call("Weather", city="Paris"), "It is 21 degrees.", "Yes, I am.")
    program = [sys.executable, examples / "langgraph_node.py", "What is the weather?", "Are you sure?"]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "It is 21 degrees.\nYes, I am.\n"), done.stderr


def test_the_graph_keeps_the_conversation(examples, script):
    from langchain_core.messages import HumanMessage

    script("It is 21 degrees.", "Yes, I am.")
    node = loaded(examples / "langgraph_node.py")
    thread = {"configurable": {"thread_id": "1"}}

    async def main():
        for prompt in ("What is the weather?", "Are you sure?"):
            state = await node.app.ainvoke({"messages": [HumanMessage(prompt)]}, thread)
        return [message.content for message in state["messages"]]

    assert asyncio.run(main()) == ["What is the weather?", "It is 21 degrees.", "Are you sure?", "Yes, I am."]


def outputs(notebook):
    cells = [cell for cell in json.loads(notebook)["cells"] if cell["cell_type"] == "code"]
    return [[{key: item for key, item in made.items() if key in ("data", "text")} for made in cell["outputs"]] for cell in cells]


def test_notebook(examples, tmp_path):
    """It runs, and its outputs are those that are shown."""
    notebook = examples / "notebook.ipynb"
    program = [sys.executable, "-m", "nbconvert", "--execute", "--to", "notebook", "--stdout", notebook]
    places = {name: str(tmp_path) for name in ("HOME", "IPYTHONDIR", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR")}
    done = subprocess.run(program, capture_output=True, text=True, timeout=300, env={**os.environ, **places}, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = outputs(pathlib.Path(notebook).read_text())
    assert outputs(done.stdout) == shown and all(shown)
