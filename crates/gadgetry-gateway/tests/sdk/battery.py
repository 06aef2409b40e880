"""The official Python SDKs before a gateway with a scripted model: `python battery.py BASE_URL`.

openai 3.54.0, anthropic 2.12.0, Python 3.11. `BASE_URL` is what the example `scripted` prints.
"""

import asyncio
import re
import sys
import time
import traceback
import urllib.request

import anthropic
import openai
from clients import MODEL, SCHEMAS, Chat, Messages, Reply, Responses, all_clients
from pydantic import BaseModel

BASE = sys.argv[1].rstrip("/")
PARIS = ("get_weather", {"city": "Paris"})
ROME = ("get_weather", {"city": "Rome"})
NESTED = {
    "user": {"name": 'Ada "the first"\nLovelace', "age": 36},
    "tags": ["a", "true"],
    "ratio": 0.5,
    "ok": True,
}
PATCH = '*** Begin Patch\n+ "line"\n*** End Patch'
passed, failed = 0, 0


def check(name, case):
    """Runs a case, which raises if it fails."""
    global passed, failed
    try:
        case()
    except Exception as error:
        failed += 1
        frame = traceback.extract_tb(error.__traceback__)[-1]
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:600]
        print(f"FAIL {name}: {reason} (line {frame.lineno} of {frame.filename.rsplit('/', 1)[-1]})", flush=True)
    else:
        passed += 1
        print(f"ok {name}", flush=True)


def equal(got, wanted):
    assert got == wanted, f"got {got!r}, wanted {wanted!r}"


def raised(kinds, run):
    """The error of `run`, which must be exactly of one of `kinds`."""
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    try:
        outcome = run()
    except Exception as error:
        if type(error) in kinds:
            return error
        raise
    raise AssertionError(f"no error, but {outcome!r}")


def start(client, scenario, **options):
    """The first reply of a scenario, and the conversation so far."""
    history = [client.user(f"scenario: {scenario}")]
    return client.ask(history, **options), history


def follow(client, history, reply, texts):
    """The reply to the results of calls."""
    history.extend(reply.native + client.results(reply, texts))
    return client.ask(history)


# One reply to one message: scenario, what is asked for, how it ends, its calls, the texts around them.
SINGLE = [
    ("text", {}, "stop", [("text", "Hello there.")]),
    ("one", {}, "calls", [("text", "Let me look."), ("call", *PARIS)]),
    ("parallel", {}, "calls", [("text", "Both:"), ("call", *PARIS), ("call", *ROME)]),
    ("noargs", {}, "calls", [("call", "ping", {})]),
    ("nested", {}, "calls", [("call", "create", NESTED)]),
    ("around", {}, "calls", [("text", "Before."), ("call", *PARIS), ("text", "After.")]),
    ("think", {}, "stop", [("text", "Forty-two.")]),
    ("repair", {}, "calls", [("call", *PARIS)]),
    ("hermes", {}, "calls", [("text", "Sure."), ("call", *PARIS)]),
    ("depends", {}, "calls", [("call", *PARIS)]),
    ("one", "auto", "calls", [("text", "Let me look."), ("call", *PARIS)]),
    ("text", "none", "stop", [("text", "Hello there.")]),
    ("obedient", "required", "calls", [("call", "get_weather", {"city": "Oslo"})]),
    ("obedient", "named", "calls", [("call", "get_weather", {"city": "Oslo"})]),
    ("parallel", "single", "calls", [("text", "Both:"), ("call", *PARIS)]),
]


def single(client, scenario, choice, finish, parts):
    reply, _ = start(client, scenario, **(client.choices[choice] if choice else {}))
    if client.keeps_order:
        equal(reply.shape, parts)
    else:
        equal(reply.text.split(), " ".join(part[1] for part in parts if part[0] == "text").split())
        equal(reply.calls, [part[1:] for part in parts if part[0] == "call"])
    equal(reply.finish, client.finishes[finish])
    if choice == "single":
        # The upstream was left before it said what it had used, so that is an estimate.
        assert min(reply.usage) > 0, reply.usage
    else:
        # The usage of a repaired reply is of two requests.
        equal(reply.usage, (200, 40) if scenario == "repair" else (100, 20))
    equal(len(set(reply.ids)), len(reply.calls))
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", it) for it in reply.ids), reply.ids


def without_reasoning_in_text(client):
    reply, _ = start(client, "think")
    equal(reply.text.strip(), "Forty-two.")
    assert reply.text == "Forty-two.", f"white space around the answer: {reply.text!r}"


def chain(client):
    first, history = start(client, "chain")
    equal(first.shape, [("call", *PARIS)])
    second = follow(client, history, first, ["rain"])
    equal(second.shape, [("text", "And Rome."), ("call", *ROME)])
    equal(len({*first.ids, *second.ids}), 2)
    third = follow(client, history, second, ["sun"])
    equal(third.shape, [("text", "The results: sun.")])
    equal(third.finish, client.finishes["stop"])


def parallel_results(client):
    reply, history = start(client, "parallel")
    last = follow(client, history, reply, ["rain", "sun"])
    equal(last.shape, [("text", "The results: rain, sun.")])


def results_in_another_order(client):
    reply, history = start(client, "parallel")
    results = client.results(reply, ["rain", "sun"])
    if client.api == "messages":
        results[0]["content"].reverse()
    else:
        results.reverse()
    last = client.ask(history + reply.native + results)
    equal(last.text, "The results: rain, sun.")


def depends(client):
    first, history = start(client, "depends")
    second = follow(client, history, first, ["Ada"])
    equal(second.shape, [("call", "create", {"user": {"name": "Ada", "age": 3}})])
    third = follow(client, history, second, ["made"])
    equal(third.shape, [("text", "The results: made.")])


def image(client):
    reply = client.ask([client.image("scenario: image")])
    equal(reply.text, "I see an image.")
    reply, _ = start(client, "image")
    equal(reply.text, "I see nothing.")


def length(client):
    if client.mode == "helper" and client.api == "chat":
        # As with the real API: the SDK demands whole calls where tools are strict.
        raised(openai.LengthFinishReasonError, lambda: start(client, "length"))
    elif client.mode == "helper" and client.api == "responses":
        error = raised(RuntimeError, lambda: start(client, "length"))
        equal(str(error), "Didn't receive a `response.completed` event.")
    else:
        reply, _ = start(client, "length")
        equal(reply.parts, [("text", "Half a sent")])
        equal(reply.finish, client.finishes["length"])
        equal(reply.usage, (100, 20))


def length_in_call(client):
    """The call that was whole is there; the one that was cut is not."""
    if client.mode == "helper" and client.api == "chat":
        error = raised(openai.LengthFinishReasonError, lambda: start(client, "length-call"))
        (call,) = error.completion.choices[0].message.tool_calls
        equal(call.function.arguments, '{"city":"Paris"}')
    elif client.mode == "helper" and client.api == "responses":
        raised(RuntimeError, lambda: start(client, "length-call"))
        equal(client.seen.calls, [PARIS])
    else:
        reply, _ = start(client, "length-call")
        equal(reply.shape, [("call", *PARIS)])
        # Clients of Messages drop calls unless the reason is tool_use.
        equal(reply.finish, client.finishes["calls" if client.api == "messages" else "length"])


def cut(client):
    sdk = client.sdk
    if client.mode == "plain":
        error = raised(sdk.InternalServerError, lambda: start(client, "cut"))
        equal(error.status_code, 502)
    elif client.api == "responses" and client.mode == "stream":
        reply, _ = start(client, "cut")
        equal(reply.finish, "failed")
    elif client.api == "responses":
        raised(RuntimeError, lambda: start(client, "cut"))
    elif client.api == "chat":
        error = raised(sdk.APIError, lambda: start(client, "cut"))
        assert "cut off" in error.message, error.message
        equal(client.seen.text.strip(), "Let me look." if client.mode == "stream" else "")
    else:
        error = raised((sdk.APIStatusError, sdk.InternalServerError), lambda: start(client, "cut"))
        equal(error.body["error"]["type"], "api_error")
    equal(client.seen.calls, [])


def refused(kind, status, message, code=None, kinds=None):
    """A case of an HTTP error: class and status, text, code in the OpenAI APIs, type in Messages."""

    def case(client, scenario, **options):
        error = raised(getattr(client.sdk, kind), lambda: start(client, scenario, **options))
        equal(error.status_code, status if isinstance(status, int) else status[client.api])
        assert message in str(error), str(error)
        if client.api == "messages":
            equal(error.body["error"]["type"], kinds)
            equal(error.body["type"], "error")
        else:
            equal(error.code, code)
        equal(client.seen.parts, [])
        return error

    return case


def rate_limit(client):
    case = refused("RateLimitError", 429, "slow down", "rate_limit_error", "rate_limit_error")
    error = case(client, "rate-limit")
    equal(error.response.headers["retry-after"], "7")


def overloaded(client):
    # The SDK of Anthropic has a class of its own for its status 529.
    kind = "OverloadedError" if client.api == "messages" else "InternalServerError"
    status = {"chat": 503, "responses": 503, "messages": 529}
    refused(kind, status, "busy", None, "overloaded_error")(client, "overloaded")


def too_long(client):
    case = refused("BadRequestError", 400, "maximum context length", "context_length_exceeded", "invalid_request_error")
    case(client, "too-long")


def broken(client):
    refused("InternalServerError", 502, "not valid", "invalid_tool_call", "api_error")(client, "broken")


def stubborn(client, choice):
    """A demanded call that the model does not write is an error, in a stream after the text that it wrote instead."""
    run = lambda: start(client, "stubborn", **client.choices[choice])
    message = "tool_choice not satisfied"
    if client.mode == "plain":
        case = refused("BadRequestError", 400, message, "tool_choice_not_satisfied", "invalid_request_error")
        case(client, "stubborn", **client.choices[choice])
    elif client.api == "chat":
        error = raised(openai.APIError, run)
        assert message in error.message, error.message
        equal((error.code, error.type), ("tool_choice_not_satisfied", "invalid_request_error"))
    elif client.api == "messages":
        error = raised((anthropic.APIStatusError, anthropic.BadRequestError), run)
        assert message in error.body["error"]["message"], error.body
        equal(error.body["error"]["type"], "invalid_request_error")
    elif client.mode == "stream":
        reply, _ = run()
        equal(reply.finish, "failed")
    else:
        raised(RuntimeError, run)
    equal(client.seen.calls, [])


def errors_have_request_ids(client):
    error = raised(client.sdk.BadRequestError, lambda: start(client, "too-long"))
    assert error.request_id, "no request id"


def in_flight():
    with urllib.request.urlopen(f"{BASE}/metrics", timeout=30) as answer:
        return int(re.search(r"^gadgetry_requests_in_flight (\d+)$", answer.read().decode(), re.M)[1])


def disconnect(client):
    """A client that goes away ends its request."""
    history = [client.user("scenario: endless")]
    if client.api == "chat":
        stream = client.client.chat.completions.create(model=MODEL, messages=history, stream=True)
        texts = (it.choices[0].delta.content for it in stream)
    elif client.api == "responses":
        stream = client.client.responses.create(model=MODEL, input=history, stream=True)
        texts = (it.delta for it in stream if it.type == "response.output_text.delta")
    else:
        stream = client.client.messages.create(model=MODEL, messages=history, max_tokens=10, stream=True)
        texts = (it.delta.text for it in stream if it.type == "content_block_delta")
    got = ""
    while got.count("tick") < 3:
        got += next(texts) or ""
    equal(in_flight(), 1)
    stream.close()
    deadline = time.monotonic() + 60
    while in_flight() != 0:
        assert time.monotonic() < deadline, "the request is still in flight"
        time.sleep(0.05)


def system_prompt(client):
    """The client's own instructions reach the model."""
    history = [client.user("scenario: prompt")]
    if client.api == "chat":
        history.insert(0, {"role": "system", "content": "You are terse."})
        reply = client.ask(history, tools=[])
    elif client.api == "responses":
        reply = client.ask(history, tools=[], instructions="You are terse.")
    else:
        system = [{"type": "text", "text": "You are terse.", "cache_control": {"type": "ephemeral"}}]
        reply = client.ask(history, tools=[], system=system)
    assert "You are terse." in reply.text, reply.text


def adjacent_messages(client):
    """Two messages of the user are two texts for the model, not one word."""
    reply = client.ask([client.user("scenario: echo"), client.user("second")], tools=[])
    equal(reply.text.split(), ["scenario:", "echo", "second"])


MULTI = [
    without_reasoning_in_text, chain, parallel_results, results_in_another_order, depends, image, length, length_in_call, cut,
    rate_limit, overloaded, too_long, broken, errors_have_request_ids, system_prompt, adjacent_messages,
]


# Cases of one API or SDK.


def usage_on_demand():
    chat = Chat(BASE, "stream")
    reply, _ = start(chat, "one", stream_options={"include_usage": False})
    equal((reply.usage, reply.calls), (None, [PARIS]))


def chat_custom(is_streaming):
    chat = Chat(BASE, "plain")
    tools = [{"type": "custom", "custom": {"name": "apply_patch", "description": "Edits.", "format": {"type": "text"}}}]
    history = [chat.user("scenario: patch")]
    create = chat.client.chat.completions.create
    if is_streaming:
        call = {}
        for chunk in create(model=MODEL, messages=history, tools=tools, stream=True):
            for delta in chunk.choices[0].delta.tool_calls or []:
                delta = delta.to_dict()
                equal(delta.pop("index"), 0)
                custom = delta.pop("custom")
                call.update(delta)
                call.setdefault("custom", {"input": ""})
                call["custom"]["input"] += custom.pop("input", "")
                call["custom"].update(custom)
            finish = chunk.choices[0].finish_reason or "none yet"
    else:
        (choice,) = create(model=MODEL, messages=history, tools=tools).choices
        finish = choice.finish_reason
        (call,) = [it.to_dict() for it in choice.message.tool_calls]
    equal(finish, "tool_calls")
    equal((call["type"], call["custom"]), ("custom", {"name": "apply_patch", "input": PATCH}))
    history.append({"role": "assistant", "content": None, "tool_calls": [call]})
    history.append({"role": "tool", "tool_call_id": call["id"], "content": "done"})
    (choice,) = create(model=MODEL, messages=history, tools=tools).choices
    equal(choice.message.content, "The results: done.")


def responses_custom(mode):
    client = Responses(BASE, mode)
    tools = [{"type": "custom", "name": "apply_patch", "description": "Edits.", "format": {"type": "text"}}]
    reply, history = start(client, "patch", tools=tools)
    equal(reply.parts, [("call", "apply_patch", PATCH)])
    (item,) = reply.native
    equal(item["type"], "custom_tool_call")
    result = {"type": "custom_tool_call_output", "call_id": reply.ids[0], "output": "done"}
    last = client.ask([*history, item, result], tools=tools)
    equal(last.text, "The results: done.")


def responses_custom_events():
    client = Responses(BASE, "stream").client
    tools = [{"type": "custom", "name": "apply_patch"}]
    events = list(client.responses.create(model=MODEL, input="scenario: patch", tools=tools, stream=True))
    deltas = "".join(it.delta for it in events if it.type == "response.custom_tool_call_input.delta")
    equal(deltas, PATCH)
    (done,) = [it for it in events if it.type == "response.custom_tool_call_input.done"]
    equal(done.input, PATCH)
    equal([it for it in events if "function_call_arguments" in it.type], [])


def responses_namespace(mode):
    client = Responses(BASE, mode)
    find = {"type": "function", "name": "find", "parameters": {"type": "object", "properties": {"id": {"type": "string"}}}}
    tools = [{"type": "namespace", "name": "crm", "description": "Customers.", "tools": [find]}]
    reply, history = start(client, "crm", tools=tools)
    equal(reply.parts, [("call", "find", {"id": "7"})])
    equal(reply.native[0]["namespace"], "crm")
    result = {"type": "function_call_output", "call_id": reply.ids[0], "output": "Ada"}
    last = client.ask([*history, *reply.native, result], tools=tools)
    equal(last.text, "The results: Ada.")


def responses_reject_ids():
    client = Responses(BASE, "plain").client
    run = lambda: client.responses.create(model=MODEL, input="scenario: text", previous_response_id="resp_none")
    error = raised(openai.NotFoundError, run)
    equal(error.code, "previous_response_not_found")


def responses_probe():
    """Codex asks with an empty input whether the server is there."""
    reply = Responses(BASE, "plain").client.responses.create(model=MODEL, input=[], max_output_tokens=1)
    equal(reply.output_text, "Hello there.")


def responses_objects():
    """Fields without which typed clients do not read a response."""
    client = Responses(BASE, "plain").client
    tools = Responses(BASE, "plain").tools()
    response = client.responses.create(model=MODEL, input="scenario: one", tools=tools)
    for name in ("tools", "tool_choice", "parallel_tool_calls", "metadata", "instructions", "temperature", "top_p"):
        assert name in response.model_fields_set, f"no {name}"


def chat_parse():
    class Weather(BaseModel):
        """Looks."""

        city: str

    tool = openai.pydantic_function_tool(Weather, name="get_weather")
    client = Chat(BASE, "plain").client
    messages = [{"role": "user", "content": "scenario: one"}]
    completion = client.chat.completions.parse(model=MODEL, messages=messages, tools=[tool])
    (call,) = completion.choices[0].message.tool_calls
    equal(call.function.parsed_arguments, Weather(city="Paris"))
    with client.chat.completions.stream(model=MODEL, messages=messages, tools=[tool]) as stream:
        done = [it for it in stream if it.type == "tool_calls.function.arguments.done"]
    equal([it.parsed_arguments for it in done], [Weather(city="Paris")])


def chat_helper_events():
    """The helper's own text and argument events, in order."""
    client = Chat(BASE, "helper")
    kinds = []
    messages = [client.user("scenario: around")]
    with client.client.chat.completions.stream(model=MODEL, messages=messages, tools=client.tools()) as stream:
        for event in stream:
            if event.type != "chunk" and (not kinds or kinds[-1] != event.type):
                kinds.append(event.type)
    arguments = "tool_calls.function.arguments"
    equal(
        kinds,
        # The helper takes the start of a call for the end of the text.
        ["content.delta", f"{arguments}.delta", "content.done", f"{arguments}.delta", "content.delta", f"{arguments}.done"],
    )


def messages_text_stream():
    client = Messages(BASE, "helper").client
    messages = [{"role": "user", "content": "scenario: text"}]
    with client.messages.stream(model=MODEL, max_tokens=10, messages=messages) as stream:
        equal("".join(stream.text_stream), "Hello there.")


def messages_tool_runner(is_streaming, scenario, wanted, cities):
    """The runner asks for a thread that the server holds, and goes on without one if that is refused in the right words."""
    asked = []

    @anthropic.beta_tool
    def get_weather(city: str) -> str:
        """Looks.

        Args:
            city: Where.
        """
        asked.append(city)
        return {"Paris": "rain", "Rome": "sun"}[city]

    client = Messages(BASE, "plain").client
    messages = [{"role": "user", "content": f"scenario: {scenario}"}]
    runner = client.beta.messages.tool_runner(
        model=MODEL, max_tokens=100, messages=messages, tools=[get_weather], stream=is_streaming
    )
    last = None
    for turn in runner:
        last = turn.get_final_message() if is_streaming else turn
    equal(asked, cities)
    equal([it.text for it in last.content], [wanted])


def count_tokens():
    client = Messages(BASE, "plain")
    messages = [client.user("scenario: text")]
    few = client.client.messages.count_tokens(model=MODEL, messages=messages).input_tokens
    many = client.client.messages.count_tokens(model=MODEL, messages=messages, tools=client.tools()).input_tokens
    assert 0 < few < many, (few, many)


def models():
    client = openai.OpenAI(base_url=f"{BASE}/v1", api_key="none", max_retries=0)
    equal([(it.id, it.object) for it in client.models.list()], [(MODEL, "model")])
    equal(client.models.retrieve(MODEL).id, MODEL)
    client = anthropic.Anthropic(base_url=BASE, api_key="none", max_retries=0)
    equal([(it.id, it.type, it.display_name) for it in client.models.list()], [(MODEL, "model", MODEL)])
    equal(client.models.retrieve(MODEL).id, MODEL)


def unknown_paths():
    client = openai.OpenAI(base_url=f"{BASE}/v1", api_key="none", max_retries=0)
    error = raised(openai.NotFoundError, lambda: client.embeddings.create(model=MODEL, input="x"))
    equal(error.type, "invalid_request_error")
    client = anthropic.Anthropic(base_url=BASE, api_key="none", max_retries=0)
    error = raised(anthropic.NotFoundError, lambda: client.messages.batches.list())
    equal(error.body["error"]["type"], "not_found_error")


def concurrent():
    """Requests at the same time do not mix."""

    async def one(client, number):
        tools = Chat(BASE, "plain").tools()
        messages = [{"role": "user", "content": f"I am number {number}.\nscenario: {'one' if number % 2 else 'nested'}"}]
        parts = ["", ""]
        async for chunk in await client.chat.completions.create(model=MODEL, messages=messages, tools=tools, stream=True):
            for call in chunk.choices[0].delta.tool_calls or []:
                parts[0] += call.id or ""
                parts[1] += call.function.arguments
        return parts

    async def run():
        async with openai.AsyncOpenAI(base_url=f"{BASE}/v1", api_key="none", max_retries=0) as client:
            return await asyncio.gather(*[one(client, number) for number in range(16)])

    replies = asyncio.run(run())
    equal(len({call_id for call_id, _ in replies}), 16)
    for number, (_, arguments) in enumerate(replies):
        assert ("Paris" in arguments) == (number % 2 == 1), arguments


def main():
    clients = all_clients(BASE)
    for client in clients:
        for scenario, choice, finish, parts in SINGLE:
            name = f"{scenario}, tool_choice {choice}" if choice else scenario
            check(f"{client.name}: {name}", lambda: single(client, scenario, choice, finish, parts))
        for case in MULTI:
            check(f"{client.name}: {case.__name__}", lambda: case(client))
        for choice in ("required", "named"):
            check(f"{client.name}: stubborn, tool_choice {choice}", lambda: stubborn(client, choice))
        if client.mode != "helper":
            check(f"{client.name}: disconnect", lambda: disconnect(client))
    for mode in ("plain", "stream", "helper"):
        check(f"responses/{mode}: custom tool", lambda: responses_custom(mode))
        check(f"responses/{mode}: namespace", lambda: responses_namespace(mode))
    check("chat/plain: custom tool", lambda: chat_custom(False))
    check("chat/stream: custom tool", lambda: chat_custom(True))
    for is_streaming in (False, True):
        name = f"messages/tool_runner{' stream' if is_streaming else ''}"
        wanted = "The results: sun."
        check(f"{name}: chain", lambda: messages_tool_runner(is_streaming, "chain", wanted, ["Paris", "Rome"]))
        wanted = "The results: rain, sun."
        check(f"{name}: parallel", lambda: messages_tool_runner(is_streaming, "parallel", wanted, ["Paris", "Rome"]))
    for case in (
        usage_on_demand, responses_custom_events, responses_reject_ids, responses_probe, responses_objects, chat_parse,
        chat_helper_events, messages_text_stream, count_tokens, models, unknown_paths, concurrent,
    ):
        check(case.__name__, case)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
