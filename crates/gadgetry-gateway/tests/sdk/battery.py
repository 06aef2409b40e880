"""The official Python SDKs before a gateway with a scripted model: `python battery.py BASE_URL`, after
`pip install -r requirements.txt`.

openai 3.54.0, anthropic 2.12.0, Python 3.11. `BASE_URL` is what the example `scripted` prints.
"""

import re
import time
import urllib.request

import anthropic
import openai
import special
from check import BASE, NESTED, PARIS, ROME, check, equal, follow, raised, start, summary
from clients import MODEL, Reply, all_clients

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
    assert all(re.fullmatch(client.id_prefix + "[a-zA-Z0-9_-]{1,58}", it) for it in reply.ids), reply.ids


def reasoning(client):
    reply, history = start(client, "think")
    equal((reply.reasoning, reply.text), ("Hm, well.", "Forty-two."))
    # The next request carries it; the model does not read it again.
    history.extend([*reply.native, client.user("scenario: prompt")])
    prompt = client.ask(history, tools=[]).text
    assert "Forty-two." in prompt and "Hm, well." not in prompt, prompt


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


def none_after_calls(client):
    """Without tools the calls before are still part of the conversation."""
    reply, history = start(client, "parallel")
    history.extend(reply.native + client.results(reply, ["rain", "sun"]))
    last = client.ask(history, **client.choices["none"])
    equal(last.shape, [("text", "The results: rain, sun.")])
    equal(last.finish, client.finishes["stop"])


def results_in_another_order(client):
    reply, history = start(client, "parallel")
    results = client.results(reply, ["rain", "sun"])
    if client.api == "messages":
        results[0]["content"].reverse()
    else:
        results.reverse()
    last = client.ask(history + reply.native + results)
    equal(last.text, "The results: rain, sun.")


def results_in_parts(client):
    """Results as lists of parts, one of them of a call that the client says has failed."""
    reply, history = start(client, "parallel")
    results = client.results(reply, [[client.part("rain")], [client.part("sun")]])
    if client.api == "messages":
        results[0]["content"][0]["is_error"] = True
    last = client.ask(history + reply.native + results)
    equal(last.text, "The results: rain, sun.")


def results_without_calls(client):
    """Histories that were cut: a result whose call is gone still reaches the model, and a call may have no result."""
    gone = Reply(ids=["call_gone"])
    reply = client.ask([client.user("scenario: one"), *client.results(gone, ["fog"])])
    equal(reply.text, "The results: fog.")
    reply, history = start(client, "one")
    reply = client.ask([*history, *reply.native, client.user("scenario: text")])
    equal(reply.text, "Hello there.")


def stop_sequences(client):
    if client.api == "responses":
        return
    options = {"stop_sequences": ["there"]} if client.api == "messages" else {"stop": ["there"]}
    reply, _ = start(client, "text", **options)
    equal(reply.text, "Hello ")
    equal(reply.finish, "stop_sequence" if client.api == "messages" else "stop")


def depends(client):
    stored = {"store": True} if client.api == "responses" else {}
    first, history = start(client, "depends", **stored)
    second = follow(client, history, first, ["Ada"], **stored)
    equal(second.shape, [("call", "create", {"user": {"name": "Ada", "age": 3}})])
    third = follow(client, history, second, ["made"], **stored)
    equal(third.shape, [("text", "The results: made.")])


def depends_without_a_store(client):
    """The call that waits is not kept; the model reads the result and goes by that."""
    if client.api != "responses":
        return
    first, history = start(client, "depends")
    equal(first.shape, [("call", *PARIS)])
    equal(follow(client, history, first, ["Ada"]).calls, [])


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
    """A demanded call that the model does not write is an error with a status: no text is streamed before the first call."""
    code, kind = "tool_choice_not_satisfied", "invalid_request_error"
    case = refused("BadRequestError", 400, "tool_choice not satisfied", code, kind)
    case(client, "stubborn", **client.choices[choice])
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
    reasoning, chain, parallel_results, none_after_calls, results_in_another_order, results_in_parts, results_without_calls,
    stop_sequences, depends, depends_without_a_store, image, length, length_in_call, cut, rate_limit, overloaded, too_long, broken,
    errors_have_request_ids, system_prompt, adjacent_messages,
]


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
    special.run_all()
    summary()


if __name__ == "__main__":
    main()
