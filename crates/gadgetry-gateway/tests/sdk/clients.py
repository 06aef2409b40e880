"""The official Python SDKs behind one interface, so that one table of cases runs over all of them.

Each class is one API, in three modes: `plain` (one body), `stream` (raw events, put together here as simple agents do) and
`helper` (the SDK's own accumulator, which asserts the order of what is on the wire).
"""

import json
from dataclasses import dataclass, field

import anthropic
import openai

MODEL = "scripted"
MODES = ("plain", "stream", "helper")
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def _object(required, **properties):
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


_USER = _object(["name", "age"], name={"type": "string"}, age={"type": "integer"})
SCHEMAS = {
    "get_weather": _object(["city"], city={"type": "string"}),
    "ping": _object([]),
    "create": _object(
        ["user"],
        user=_USER,
        tags={"type": "array", "items": {"type": "string"}},
        ratio={"type": "number"},
        ok={"type": "boolean"},
    ),
}


@dataclass
class Reply:
    """What an SDK made of a reply."""

    # ("text", text) or ("call", name, input), in the order in which they came.
    parts: list = field(default_factory=list)
    ids: list = field(default_factory=list)
    finish: str | None = None
    reasoning: str = ""
    # Input and output tokens.
    usage: tuple | None = None
    # What goes back into the conversation.
    native: list = field(default_factory=list)

    def say(self, text):
        if self.parts and self.parts[-1][0] == "text":
            text = self.parts.pop()[1] + text
        self.parts.append(("text", text))

    def call(self, call_id, name, arguments):
        self.ids.append(call_id)
        self.parts.append(("call", name, arguments))

    @property
    def text(self):
        return "".join(part[1] for part in self.parts if part[0] == "text")

    @property
    def calls(self):
        return [part[1:] for part in self.parts if part[0] == "call"]

    @property
    def shape(self):
        """The parts without the white space around text: where a line break belongs is not what a case is about."""
        parts = [(part[0], part[1].strip()) if part[0] == "text" else part for part in self.parts]
        return [part for part in parts if part != ("text", "")]


class Client:
    """One API in one mode."""

    def __init__(self, base, mode):
        self.base = base
        self.mode = mode
        # What has been seen of the last reply, also when the SDK raised.
        self.seen = Reply()

    @property
    def name(self):
        return f"{self.api}/{self.mode}"

    @property
    def keeps_order(self):
        """Whether the place of text between calls can be known."""
        return True

    def user(self, text):
        return {"role": "user", "content": text}

    def part(self, text):
        """Text as a part of a message or a result."""
        return {"type": "text", "text": text}

    def ask(self, history, tools=None, **options):
        self.seen = Reply()
        options.update(model=MODEL)
        if tools != []:
            options["tools"] = self.tools() if tools is None else tools
        self.send(history, options)
        return self.seen

    def last(self, finish, final):
        """The calls of the events must be those of the whole."""
        seen, self.seen = self.seen, Reply()
        finish(final)
        assert seen.calls == self.seen.calls, f"{seen.calls} in events, {self.seen.calls} at the end"


class Chat(Client):
    api = "chat"
    id_prefix = "call_"
    sdk = openai
    finishes = {"stop": "stop", "calls": "tool_calls", "length": "length"}
    choices = {
        "auto": {"tool_choice": "auto"},
        "none": {"tool_choice": "none"},
        "required": {"tool_choice": "required"},
        "named": {"tool_choice": {"type": "function", "function": {"name": "get_weather"}}},
        "single": {"parallel_tool_calls": False},
    }

    def __init__(self, base, mode):
        super().__init__(base, mode)
        self.client = openai.OpenAI(base_url=f"{base}/v1", api_key="none", max_retries=0, timeout=120)

    @property
    def keeps_order(self):
        return self.mode == "stream"

    def tools(self):
        kinds = SCHEMAS.items()
        return [
            {"type": "function", "function": {"name": name, "parameters": schema, "strict": True}} for name, schema in kinds
        ]

    def image(self, text):
        url = f"data:image/png;base64,{PNG}"
        return {"role": "user", "content": [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}]}

    def results(self, reply, texts):
        results = zip(reply.ids, texts, strict=True)
        return [{"role": "tool", "tool_call_id": call_id, "content": text} for call_id, text in results]

    def send(self, history, options):
        create = self.client.chat.completions.create
        if self.mode == "plain":
            self.finish(create(messages=history, **options))
        elif self.mode == "stream":
            options.setdefault("stream_options", {"include_usage": True})
            self.read(create(messages=history, stream=True, **options))
        else:
            options.setdefault("stream_options", {"include_usage": True})
            with self.client.chat.completions.stream(messages=history, **options) as stream:
                for event in stream:
                    if event.type == "tool_calls.function.arguments.done":
                        self.seen.call(None, event.name, json.loads(event.arguments))
                self.last(self.finish, stream.get_final_completion())

    def finish(self, completion):
        (choice,) = completion.choices
        message = choice.message
        assert message.role == "assistant", message.role
        seen = self.seen
        seen.reasoning = message.to_dict().get("reasoning_content") or ""
        if message.content:
            seen.say(message.content)
        for call in message.tool_calls or []:
            assert call.type == "function", call.type
            seen.call(call.id, call.function.name, json.loads(call.function.arguments))
        seen.finish = choice.finish_reason
        seen.usage = (completion.usage.prompt_tokens, completion.usage.completion_tokens)
        fields = {"role": "assistant", "content": message.content}
        if message.tool_calls:
            fields["tool_calls"] = [
                {"id": it.id, "type": it.type, "function": {"name": it.function.name, "arguments": it.function.arguments}}
                for it in message.tool_calls
            ]
        seen.native = [fields]

    def read(self, stream):
        seen, calls, chunks, chunk_id = self.seen, {}, 0, None
        for chunk in stream:
            assert chunk_id in (None, chunk.id), "the chunks have several ids"
            chunk_id = chunk.id
            assert chunk.object == "chat.completion.chunk" and chunk.id and chunk.created and chunk.model == MODEL
            if chunk.usage:
                assert chunk.choices == [], chunk.choices
                seen.usage = (chunk.usage.prompt_tokens, chunk.usage.completion_tokens)
            for choice in chunk.choices:
                assert seen.finish is None, "something came after the finish reason"
                chunks += 1
                assert chunks > 1 or choice.delta.role == "assistant", "the first delta has no role"
                seen.reasoning += choice.delta.to_dict().get("reasoning_content") or ""
                if choice.delta.content:
                    seen.say(choice.delta.content)
                for delta in choice.delta.tool_calls or []:
                    if delta.index not in calls:
                        assert delta.index == len(calls), f"index {delta.index} after {len(calls)} calls"
                        assert delta.type == "function" and delta.id and delta.function.name
                        calls[delta.index] = [len(seen.parts), ""]
                        seen.call(delta.id, delta.function.name, None)
                    else:
                        assert delta.id is None and delta.function.name is None, "the start of a call is repeated"
                    calls[delta.index][1] += delta.function.arguments
                seen.finish = choice.finish_reason
        for place, arguments in calls.values():
            seen.parts[place] = ("call", seen.parts[place][1], json.loads(arguments))
        made = zip(seen.ids, seen.calls, strict=True)
        tool_calls = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for call_id, (name, arguments) in made
        ]
        seen.native = [{"role": "assistant", "content": seen.text or None, **({"tool_calls": tool_calls} if tool_calls else {})}]


class Responses(Client):
    api = "responses"
    id_prefix = "call_"
    sdk = openai
    finishes = {"stop": "completed", "calls": "completed", "length": "incomplete: max_output_tokens"}
    choices = {**Chat.choices, "named": {"tool_choice": {"type": "function", "name": "get_weather"}}}

    def __init__(self, base, mode):
        super().__init__(base, mode)
        self.client = openai.OpenAI(base_url=f"{base}/v1", api_key="none", max_retries=0, timeout=120)

    def tools(self):
        kinds = SCHEMAS.items()
        return [{"type": "function", "name": name, "parameters": schema, "strict": True} for name, schema in kinds]

    def image(self, text):
        url = f"data:image/png;base64,{PNG}"
        return {"role": "user", "content": [{"type": "input_text", "text": text}, {"type": "input_image", "image_url": url}]}

    def results(self, reply, texts):
        results = zip(reply.ids, texts, strict=True)
        return [{"type": "function_call_output", "call_id": call_id, "output": text} for call_id, text in results]

    def part(self, text):
        return {"type": "input_text", "text": text}

    def send(self, history, options):
        options.setdefault("store", False)
        options.update(input=history)
        if self.mode == "plain":
            self.finish(self.client.responses.create(**options))
        elif self.mode == "stream":
            self.read(self.client.responses.create(stream=True, **options))
        else:
            with self.client.responses.stream(**options) as stream:
                for event in stream:
                    if event.type == "response.output_item.done":
                        self.item(event.item)
                self.last(self.finish, stream.get_final_response())

    def finish(self, response):
        for item in response.output:
            self.item(item)
        seen = self.seen
        details = response.incomplete_details
        seen.finish = f"{response.status}: {details.reason}" if details else response.status
        if response.usage:
            seen.usage = (response.usage.input_tokens, response.usage.output_tokens)
        seen.native = [item.to_dict() for item in response.output]

    def item(self, item):
        if item.type == "message":
            for part in item.content:
                self.seen.say(part.text)
        elif item.type == "function_call":
            self.seen.call(item.call_id, item.name, json.loads(item.arguments))
        elif item.type == "reasoning":
            self.seen.reasoning += "".join(part.text for part in item.summary)
        elif item.type == "custom_tool_call":
            self.seen.call(item.call_id, item.name, item.input)

    def read(self, stream):
        text, open_items, done, number = "", {}, [], 0
        for event in stream:
            assert event.sequence_number == number, f"event {event.sequence_number} in place {number}"
            number += 1
            kind = event.type
            if kind == "response.output_item.added":
                assert event.output_index == len(done) == len(open_items), "the indices have a gap"
                open_items[event.output_index] = event.item
            elif kind == "response.output_text.delta":
                assert event.item_id == open_items[event.output_index].id
                text += event.delta
            elif kind == "response.function_call_arguments.done":
                assert event.item_id == open_items[event.output_index].id
            elif kind == "response.output_item.done":
                assert event.item.id == open_items[event.output_index].id, "the item has another id"
                done.append(event.item)
                self.item(event.item)
            elif kind in ("response.completed", "response.incomplete", "response.failed"):
                seen, self.seen = self.seen, Reply()
                self.finish(event.response)
                if kind != "response.failed":
                    assert self.seen.parts == seen.parts, "the output differs from the items before"
                    assert self.seen.text == text, "the output differs from the deltas"
        assert self.seen.finish, "the stream has no end"


class Messages(Client):
    api = "messages"
    id_prefix = "toolu_"
    sdk = anthropic
    finishes = {"stop": "end_turn", "calls": "tool_use", "length": "max_tokens"}
    choices = {
        "auto": {"tool_choice": {"type": "auto"}},
        "none": {"tool_choice": {"type": "none"}},
        "required": {"tool_choice": {"type": "any"}},
        "named": {"tool_choice": {"type": "tool", "name": "get_weather"}},
        "single": {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
    }

    def __init__(self, base, mode):
        super().__init__(base, mode)
        self.client = anthropic.Anthropic(base_url=base, api_key="none", max_retries=0, timeout=120)

    def tools(self):
        return [{"name": name, "description": name, "input_schema": schema} for name, schema in SCHEMAS.items()]

    def image(self, text):
        source = {"type": "base64", "media_type": "image/png", "data": PNG}
        return {"role": "user", "content": [{"type": "image", "source": source}, {"type": "text", "text": text}]}

    def results(self, reply, texts):
        results = zip(reply.ids, texts, strict=True)
        blocks = [{"type": "tool_result", "tool_use_id": call_id, "content": text} for call_id, text in results]
        return [{"role": "user", "content": blocks}]

    def send(self, history, options):
        options.update(messages=history, max_tokens=1000)
        if self.mode == "plain":
            self.finish(self.client.messages.create(**options))
        elif self.mode == "stream":
            self.read(self.client.messages.create(stream=True, **options))
        else:
            with self.client.messages.stream(**options) as stream:
                for event in stream:
                    if event.type == "content_block_stop" and event.content_block.type == "tool_use":
                        self.seen.call(event.content_block.id, event.content_block.name, event.content_block.input)
                self.last(self.finish, stream.get_final_message())

    def finish(self, message):
        assert message.type == "message" and message.role == "assistant" and message.model == MODEL
        seen = self.seen
        for block in message.content:
            if block.type == "text":
                seen.say(block.text)
            elif block.type == "tool_use":
                seen.call(block.id, block.name, block.input)
            elif block.type == "thinking":
                seen.reasoning += block.thinking
        seen.finish = message.stop_reason
        seen.usage = (message.usage.input_tokens, message.usage.output_tokens)
        content = [block.to_dict() for block in message.content]
        seen.native = [{"role": "assistant", "content": content}]

    def read(self, stream):
        seen, content, open_block, is_over, usage = self.seen, [], None, False, None
        for event in stream:
            assert not is_over, "something came after message_stop"
            if event.type == "message_start":
                assert event.message.content == [] and event.message.stop_reason is None
                usage = event.message.usage
            elif event.type == "content_block_start":
                assert open_block is None and event.index == len(content), "the indices have a gap"
                open_block = event.content_block.to_dict()
                content.append(open_block)
                json_text = ""
            elif event.type == "content_block_delta":
                assert event.index == len(content) - 1 and open_block is not None
                if event.delta.type == "text_delta":
                    open_block["text"] += event.delta.text
                elif event.delta.type == "thinking_delta":
                    open_block["thinking"] += event.delta.thinking
                    seen.reasoning += event.delta.thinking
                elif event.delta.type == "input_json_delta":
                    json_text += event.delta.partial_json
            elif event.type == "content_block_stop":
                assert event.index == len(content) - 1
                if open_block["type"] == "tool_use":
                    open_block["input"] = json.loads(json_text) if json_text else open_block["input"]
                    seen.call(open_block["id"], open_block["name"], open_block["input"])
                elif open_block["type"] == "text":
                    assert open_block["text"], "an empty text block"
                    seen.say(open_block["text"])
                open_block = None
            elif event.type == "message_delta":
                assert open_block is None
                seen.finish = event.delta.stop_reason
                seen.usage = (event.usage.input_tokens or usage.input_tokens, event.usage.output_tokens)
            elif event.type == "message_stop":
                is_over = True
        assert is_over, "the stream has no end"
        seen.native = [{"role": "assistant", "content": content}]


def all_clients(base):
    return [kind(base, mode) for kind in (Chat, Responses, Messages) for mode in MODES]
