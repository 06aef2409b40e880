"""Cases of one API or of one helper."""

import asyncio

import anthropic
import openai
from check import BASE, PARIS, PATCH, check, equal, raised, start
from clients import MODEL, Chat, Messages, Responses
from pydantic import BaseModel


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


def replies_have_request_ids():
    for client in (Chat(BASE, "plain"), Messages(BASE, "plain")):
        create = client.client.messages.create if client.api == "messages" else client.client.chat.completions.create
        reply = create(model=MODEL, max_tokens=10, messages=[client.user("scenario: text")])
        assert reply._request_id, client.api


def several_choices():
    chat = Chat(BASE, "plain")
    raised(openai.BadRequestError, lambda: start(chat, "text", n=2))


def hosted_tools():
    """Tools that run at the provider are left out with a warning, and the request goes on."""
    client = Responses(BASE, "plain").client.responses.with_raw_response
    raw = client.create(model=MODEL, input="scenario: text", tools=[{"type": "web_search"}])
    assert "web_search" in raw.headers["x-gadgetry-warning"], raw.headers
    equal(raw.parse().output_text, "Hello there.")
    client = Messages(BASE, "plain").client.messages.with_raw_response
    messages = [{"role": "user", "content": "scenario: text"}]
    tools = [{"type": "web_search_20250305", "name": "web_search"}]
    raw = client.create(model=MODEL, max_tokens=10, messages=messages, tools=tools)
    assert "web_search" in raw.headers["x-gadgetry-warning"], raw.headers
    equal([it.text for it in raw.parse().content], ["Hello there."])


def responses_statuses():
    """A message that was cut off is not complete, for whatever reason."""
    for mode, scenario in (("plain", "length"), ("stream", "length"), ("stream", "cut")):
        reply, _ = start(Responses(BASE, mode), scenario)
        equal((scenario, mode, reply.native[-1]["status"]), (scenario, mode, "incomplete"))


def responses_fail_after_done():
    """What has been opened is closed before the response fails."""
    client = Responses(BASE, "stream")
    stream = client.client.responses.create(model=MODEL, input="scenario: cut", tools=client.tools(), stream=True)
    kinds = [it.type for it in stream]
    equal(kinds[-1], "response.failed")
    for word in ("output_item", "content_part"):
        equal(kinds.count(f"response.{word}.done"), kinds.count(f"response.{word}.added"))


def messages_stop_sequence():
    """The sequence that matched is named."""
    client, tools = Messages(BASE, "plain").client, Messages(BASE, "plain").tools()
    messages = [{"role": "user", "content": "scenario: text"}]
    # Without tools they are the upstream's affair.
    options = {"model": MODEL, "max_tokens": 10, "messages": messages, "tools": tools, "stop_sequences": ["none", "there"]}
    reply = client.messages.create(**options)
    equal((reply.stop_reason, reply.stop_sequence), ("stop_sequence", "there"))
    with client.messages.stream(**options) as stream:
        equal(stream.get_final_message().stop_sequence, "there")


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


def messages_eager_input():
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tools = [{"name": "get_weather", "input_schema": schema, "eager_input_streaming": True}]
    client = Messages(BASE, "stream").client
    parts = []
    with client.messages.stream(
        model=MODEL, max_tokens=1000, messages=[{"role": "user", "content": "scenario: parallel"}], tools=tools
    ) as stream:
        for event in stream:
            if event.type == "input_json":
                parts.append(event.partial_json)
        message = stream.get_final_message()
    calls = [part.input for part in message.content if part.type == "tool_use"]
    equal((calls, message.stop_reason), ([{"city": "Paris"}, {"city": "Rome"}], "tool_use"))
    equal([part for part in parts if part], ['{"city":"Paris"}', '{"city":"Rome"}'])


def run_all():
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
        usage_on_demand, responses_custom_events, responses_reject_ids, responses_probe, responses_objects, responses_statuses,
        responses_fail_after_done, chat_parse, chat_helper_events, several_choices, messages_stop_sequence, messages_eager_input,
        messages_text_stream, count_tokens, replies_have_request_ids, hosted_tools, models, unknown_paths, concurrent,
    ):
        check(case.__name__, case)
