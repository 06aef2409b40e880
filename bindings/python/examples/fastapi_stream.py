"""Streams the events of an agent to a browser, as server-sent events.

    pip install fastapi uvicorn
    MODEL=ollama:llama3.2 uvicorn fastapi_stream:app
    curl --no-buffer 'localhost:8000/ask?prompt=What+is+the+weather+in+Paris%3F'
"""

import json
import os
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from gadgetry import Agent, GadgetResult, GadgetStart, RunError, TextEvent, gadget


@gadget(timeout=10)
async def weather(city: Annotated[str, "City name, like Paris"]) -> str:
    """Get the weather for a city."""
    return f"{city}: 21 degrees"


app = FastAPI()
agent = Agent(os.environ.get("MODEL", "ollama:llama3.2"), gadgets=[weather], system="Be brief.")


def frame(event: str, **data: Any) -> str:
    """Writes a server-sent event."""
    return f"event: {event}\ndata: {json.dumps(data)}\n\n"


async def frames(prompt: str) -> AsyncIterator[str]:
    """Runs the agent. A client that disconnects ends the block, and with it the run."""
    async with agent.stream(prompt) as run:
        async for event in run:
            match event:
                case TextEvent(text=text):
                    yield frame("text", text=text)
                case GadgetStart(invocation_id=id, gadget_name=name, parameters=parameters):
                    yield frame("call", id=id, name=name, parameters=parameters)
                case GadgetResult(invocation_id=id, result=text, error=error):
                    yield frame("result", id=id, result=text, error=error)
                case _:
                    pass
        try:
            result = await run.result()
        except RunError as error:
            # The status was sent before the run failed.
            yield frame("error", message=str(error))
        else:
            yield frame("done", iterations=result.iterations, tokens=result.usage.total_tokens)


@app.get("/ask")
async def ask(prompt: str) -> StreamingResponse:
    """Answers a prompt."""
    return StreamingResponse(frames(prompt), media_type="text/event-stream", headers={"cache-control": "no-store"})
