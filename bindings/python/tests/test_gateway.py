"""The official SDKs on a model that writes text, without a server of ours."""

import asyncio
import contextlib
import functools
import json
import re
import time

import httpx
import pytest

from gadgetry import ConfigError
from gadgetry.anthropic import wrap as wrap_anthropic
from gadgetry.openai import wrap as wrap_openai
from text_server import Server

anthropic = pytest.importorskip("anthropic")
openai = pytest.importorskip("openai")

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "Get the weather.", "parameters": SCHEMA}}]
ASK = [{"role": "user", "content": "What is the weather in Paris?"}]


def test_chat_completions(server):
    client = wrap_openai(openai.OpenAI(base_url=server, api_key="secret", max_retries=0))
    answer = client.chat.completions.create(model="m", messages=ASK, tools=TOOLS)
    (call,) = answer.choices[0].message.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)) == ("weather", {"city": "Paris"})
    assert answer.choices[0].finish_reason == "tool_calls"
    body, key = Server.requests[0]
    assert "tools" not in body and key == "Bearer secret"
    talk = [*ASK, answer.choices[0].message.model_dump(exclude_none=True), {"role": "tool", "tool_call_id": call.id, "content": "sunny"}]
    last = client.chat.completions.create(model="m", messages=talk, tools=TOOLS)
    assert last.choices[0].message.content == "It is sunny in Paris."


@pytest.mark.parametrize(("is_own", "given", "sent"), [(False, None, None), (False, "other", "Bearer other"), (True, None, "Bearer secret")])
def test_the_key_of_a_client_is_for_its_own_server(server, is_own, given, sent):
    base = server if is_own else "http://127.0.0.1:9/v1"
    client = wrap_openai(openai.OpenAI(base_url=base, api_key="secret", max_retries=0), upstream=server, api_key=given)
    client.chat.completions.create(model="m", messages=ASK, tools=TOOLS)
    assert Server.requests[0][1] == sent


@pytest.mark.parametrize("is_async", [False, True])
def test_a_key_that_a_function_returns(server, is_async):
    keys = iter(["Bearer one", "Bearer one", "Bearer two"])
    asked = {"model": "m", "messages": ASK, "tools": TOOLS}

    def key():
        return next(keys).removeprefix("Bearer ")

    async def later():
        return key()

    async def main():
        client = wrap_openai(openai.AsyncOpenAI(base_url=server, api_key=later, max_retries=0))
        for _ in range(3):
            await client.chat.completions.create(**asked)

    if is_async:
        asyncio.run(main())
    else:
        client = wrap_openai(openai.OpenAI(base_url=server, api_key=key, max_retries=0))
        for _ in range(3):
            client.chat.completions.create(**asked)
    assert [sent for _, sent in Server.requests] == ["Bearer one", "Bearer one", "Bearer two"]


@pytest.mark.parametrize(("base", "given", "sent"), [("http://127.0.0.1:9/v1", None, None), (None, "other", "Bearer other"), (None, "", None)])
def test_a_key_that_a_function_returns_is_for_its_own_server(server, base, given, sent):
    client = openai.OpenAI(base_url=base or server, api_key=lambda: "secret", max_retries=0)
    wrap_openai(client, upstream=server, api_key=given).chat.completions.create(model="m", messages=ASK, tools=TOOLS)
    assert Server.requests[0][1] == sent


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    ("kind", "given", "api", "sent"),
    [
        ("Anthropic", {"api_key": "k"}, "chat", {"authorization": "Bearer k", "x-api-key": None}),
        ("Anthropic", {"auth_token": "t"}, "chat", {"authorization": "Bearer t", "x-api-key": None}),
        ("Anthropic", {"auth_token": "t"}, "messages", {"authorization": "Bearer t", "x-api-key": None}),
        # A key in the form of the server. That of earlier SDKs is in this header.
        ("Anthropic", {"default_headers": {"X-Api-Key": "k"}}, "chat", {"authorization": "Bearer k", "x-api-key": None}),
        ("Anthropic", {"default_headers": {"X-Api-Key": "k"}}, "messages", {"authorization": None, "x-api-key": "k"}),
        ("OpenAI", {"api_key": "k"}, "messages", {"authorization": None, "x-api-key": "k"}),
        ("OpenAI", {"api_key": "k", "default_headers": {"Authorization": "Basic Og=="}}, "chat", {"authorization": "Basic Og=="}),
        # The other headers of the client, but not those of its requests to the gateway.
        ("OpenAI", {"api_key": "k", "default_headers": {"X-Title": "a title", "Accept": "x/y"}}, "chat", {"x-title": "a title"}),
        ("Anthropic", {"api_key": "k", "default_headers": {"Proxy-Token": "t", "X-None": anthropic.Omit()}}, "chat", {"proxy-token": "t", "x-none": None}),
    ],
)
def test_what_a_client_sends_reaches_its_own_server(server, is_async, kind, given, api, sent):
    library, wrap = (openai, wrap_openai) if kind == "OpenAI" else (anthropic, wrap_anthropic)
    make = getattr(library, f"Async{kind}" if is_async else kind)

    def ask(client):
        create = client.chat.completions.create if library is openai else functools.partial(client.messages.create, max_tokens=100)
        return create(model="m", messages=ASK)

    async def main(client):
        await ask(client)

    for base, upstream in ((server, None), ("http://127.0.0.1:9/v1", server)):
        Server.heads.clear()
        client = wrap(make(base_url=base, max_retries=0, **given), upstream=upstream, api=api)
        # The server has no `messages`, but sees what it is sent.
        with contextlib.suppress(library.APIStatusError):
            asyncio.run(main(client)) if is_async else ask(client)
        expected = sent if upstream is None else dict.fromkeys(sent)
        assert {name: Server.heads[0].get(name) for name in sent} == expected
        assert Server.heads[0].get("accept") != "x/y"


@pytest.mark.parametrize(("is_trusting", "named"), [(True, False), (True, True), (False, True)])
def test_proxies(server, monkeypatch, is_trusting, named):
    proxy = server.removesuffix("/v1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9" if named else proxy)
    client = openai.OpenAI(base_url="http://model.invalid/v1", api_key="k", max_retries=0, http_client=httpx.Client(trust_env=is_trusting))
    client = wrap_openai(client, proxy=proxy if named else None)
    client.chat.completions.create(model="m", messages=ASK)
    assert Server.heads[0]["target"] == "http://model.invalid/v1/chat/completions"
    with pytest.raises(ConfigError, match="proxy"):
        wrap_openai(client, proxy="no address")


@pytest.mark.parametrize("kind", ["OpenAI", "AsyncOpenAI", "Anthropic", "AsyncAnthropic"])
# The SDKs leave an error in the middle of a stream as it is.
@pytest.mark.parametrize(("hangs", "error"), [("head", "APITimeoutError"), ("body", "APITimeoutError|ReadTimeout")])
def test_the_timeout_of_a_client(server, kind, hangs, error):
    Server.hangs = hangs
    library, wrap = (openai, wrap_openai) if "OpenAI" in kind else (anthropic, wrap_anthropic)
    client = wrap(getattr(library, kind)(base_url=server, api_key="none", max_retries=0, timeout=0.5))
    create = client.chat.completions.create if library is openai else functools.partial(client.messages.create, max_tokens=100)

    def ask():
        answer = create(model="m", messages=ASK, stream=hangs == "body")
        if hangs == "body":
            list(answer)

    async def ask_later():
        answer = await create(model="m", messages=ASK, stream=hangs == "body")
        if hangs == "body":
            [chunk async for chunk in answer]

    began = time.monotonic()
    with pytest.raises(Exception) as caught:
        asyncio.run(ask_later()) if "Async" in kind else ask()
    assert re.fullmatch(error, caught.type.__name__), caught.value
    assert 0.4 < time.monotonic() - began < 10


def test_streams(server):
    client = wrap_openai(openai.OpenAI(base_url=server, api_key="none", max_retries=0))
    text, arguments, names = "", "", []
    for chunk in client.chat.completions.create(model="m", messages=ASK, tools=TOOLS, stream=True):
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for call in choice.delta.tool_calls or []:
                names += [call.function.name] if call.function.name else []
                arguments += call.function.arguments or ""
    assert (text.strip(), names, json.loads(arguments)) == ("Let me look.", ["weather"], {"city": "Paris"})
    # A stream that is left ends its request.
    stream = client.chat.completions.create(model="m", messages=ASK, tools=TOOLS, stream=True)
    next(iter(stream))
    stream.close()


def test_asyncio_and_responses(server, run):
    async def main():
        client = wrap_openai(openai.AsyncOpenAI(base_url=server, api_key="none", max_retries=0))
        tool = {"type": "function", "name": "weather", "description": "Get the weather.", "parameters": SCHEMA, "strict": False}
        answer = await client.responses.create(model="m", input="What is the weather in Paris?", tools=[tool])
        calls = [item for item in answer.output if item.type == "function_call"]
        names = []
        async for chunk in await client.chat.completions.create(model="m", messages=ASK, tools=TOOLS, stream=True):
            for choice in chunk.choices:
                names += [call.function.name for call in choice.delta.tool_calls or [] if call.function.name]
        await client.close()
        return [(call.name, json.loads(call.arguments)) for call in calls], names

    assert run(main) == ([("weather", {"city": "Paris"})], ["weather"])


TOOL = {"name": "weather", "description": "Get the weather.", "input_schema": SCHEMA}


def test_messages(server, run):
    client = wrap_anthropic(anthropic.Anthropic(base_url=server, api_key="secret", max_retries=0))
    answer = client.messages.create(model="m", max_tokens=100, messages=ASK, tools=[TOOL])
    assert [(block.name, block.input) for block in answer.content if block.type == "tool_use"] == [("weather", {"city": "Paris"})]
    assert answer.stop_reason == "tool_use"

    async def main():
        client = wrap_anthropic(anthropic.AsyncAnthropic(base_url=server, api_key="secret", max_retries=0))
        async with client.messages.stream(model="m", max_tokens=100, messages=ASK, tools=[TOOL]) as stream:
            text = "".join([text async for text in stream.text_stream])
            answer = await stream.get_final_message()
        return text.strip(), [block.input for block in answer.content if block.type == "tool_use"]

    assert run(main) == ("Let me look.", [{"city": "Paris"}])


def test_errors_are_those_of_the_sdk(server):
    client = wrap_openai(openai.OpenAI(base_url=server, api_key="none", max_retries=0))
    Server.fails = True
    with pytest.raises(openai.RateLimitError, match="slow down"):
        client.chat.completions.create(model="m", messages=ASK, tools=TOOLS)
    away = wrap_openai(openai.OpenAI(base_url="http://127.0.0.1:9/v1", api_key="none", max_retries=0))
    with pytest.raises(openai.APIError):
        away.chat.completions.create(model="m", messages=ASK)
    with pytest.raises(ConfigError):
        wrap_openai(openai.OpenAI(base_url=server, api_key="none"), api="soap")
