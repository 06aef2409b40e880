"""LangChain and Pydantic AI, as they are published, on a model that writes text."""

import asyncio
import json

import langchain_openai
import openai
import pydantic_ai
import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from pydantic import BaseModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from gadgetry.langchain import wrap as wrap_langchain
from gadgetry.pydantic_ai import wrap as wrap_pydantic_ai
from text_server import Server, call

QUESTION = "What is the weather in Paris?"
ANSWER = "It is sunny in Paris."


class Forecast(BaseModel):
    """The weather of a city."""

    city: str
    celsius: int


def weather(city: str) -> str:
    """Get the weather."""
    return f"{city}: sunny"


def chat(server, **options):
    model = langchain_openai.ChatOpenAI(model="m", base_url=server, api_key="secret", max_retries=0, **options)
    return wrap_langchain(model)


def whole(pieces):
    text, calls = "", None
    for piece in pieces:
        text += piece.text if isinstance(piece.text, str) else piece.text()
        calls = piece if calls is None else calls + piece
    return text.strip(), [(item["name"], item["args"]) for item in calls.tool_calls]


PARIS = ("weather", {"city": "Paris"})


@pytest.mark.parametrize("is_async", [False, True])
def test_langchain_calls_a_tool(server, is_async):
    model = chat(server).bind_tools([weather])

    def invoke(messages):
        return asyncio.run(model.ainvoke(messages)) if is_async else model.invoke(messages)

    first = invoke([HumanMessage(QUESTION)])
    assert [(item["name"], item["args"]) for item in first.tool_calls] == [PARIS]
    body, key = Server.requests[0]
    assert "tools" not in body and key == "Bearer secret"
    results = [ToolMessage(weather(**item["args"]), tool_call_id=item["id"]) for item in first.tool_calls]
    assert invoke([HumanMessage(QUESTION), first, *results]).content == ANSWER


def test_langchain_streams(server):
    model = chat(server).bind_tools([weather])

    async def pieces():
        return [piece async for piece in model.astream(QUESTION)]

    for read in (list(model.stream(QUESTION)), asyncio.run(pieces())):
        assert len(read) > 3
        assert whole(read) == ("Let me look.", [PARIS])


@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
def test_langchain_has_typed_answers(server, method):
    is_call = method == "function_calling"
    Server.says = [call("Forecast", city="Paris", celsius=21) if is_call else json.dumps({"city": "Paris", "celsius": 21})]
    assert chat(server).with_structured_output(Forecast, method=method).invoke(QUESTION) == Forecast(city="Paris", celsius=21)


def test_langchain_raises_errors_of_the_sdk(server):
    Server.fails = True
    with pytest.raises(openai.RateLimitError, match="slow down"):
        chat(server).invoke(QUESTION)


def agent(server, **options):
    client = openai.AsyncOpenAI(base_url=server, api_key="secret", max_retries=0)
    model = OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client), settings={"temperature": 0.5})
    return pydantic_ai.Agent(wrap_pydantic_ai(model), tools=[weather], **options)


def test_pydantic_ai_calls_a_tool(server, run):
    async def main():
        return (await agent(server).run(QUESTION)).output

    assert run(main) == ANSWER
    (first, key), (last, _) = Server.requests
    assert "tools" not in first and key == "Bearer secret" and first["temperature"] == 0.5
    assert "Paris: sunny" in json.dumps(last["messages"])


def test_pydantic_ai_streams(server, run):
    async def main():
        async with agent(server).run_stream(QUESTION) as reply:
            return [text async for text in reply.stream_text(delta=True, debounce_by=None)]

    Server.says = [call("weather", city="Paris"), ANSWER]
    texts = run(main)
    assert "".join(texts) == ANSWER and len(texts) > 1


def test_pydantic_ai_has_typed_outputs(server):
    Server.says = [call("final_result", city="Paris", celsius=21)]
    assert agent(server, output_type=Forecast).run_sync(QUESTION).output == Forecast(city="Paris", celsius=21)


def test_pydantic_ai_raises_its_own_errors(server):
    Server.fails = True
    with pytest.raises(pydantic_ai.exceptions.ModelHTTPError, match="slow down") as error:
        agent(server).run_sync(QUESTION)
    assert error.value.status_code == 429 and isinstance(error.value.__cause__, openai.RateLimitError)
