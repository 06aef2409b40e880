"""The native part of the package."""

import asyncio
from collections.abc import Sequence
from typing import Any, Literal, Protocol, final

__all__ = [
    "Agent",
    "ArgumentDelta",
    "Call",
    "CallContext",
    "CallStart",
    "Conversation",
    "Done",
    "InProcess",
    "Journal",
    "McpServers",
    "MockModel",
    "Model",
    "NativeGadget",
    "Parser",
    "ParserDiagnostic",
    "Reply",
    "Run",
    "Tag",
    "TagDelta",
    "TagEnd",
    "TagStart",
    "Text",
    "Work",
    "builtins",
    "close",
    "count_events",
    "instructions",
    "parse_json",
    "write_call",
]

class _Waiter(Protocol):
    @property
    def loop(self) -> asyncio.AbstractEventLoop: ...
    @property
    def future(self) -> asyncio.Future[Any]: ...

_ParserEvent = Text | CallStart | ArgumentDelta | Call | TagStart | TagDelta | TagEnd | Tag | ParserDiagnostic

@final
class Text:
    """Visible text, never empty."""

    __match_args__ = ("text",)
    @property
    def text(self) -> str:
        """The text."""

@final
class CallStart:
    """The header of a call is complete."""

    __match_args__ = ("name", "id", "dependencies")
    @property
    def name(self) -> str:
        """The name of the gadget, as written."""
    @property
    def id(self) -> str:
        """The id of the call, as written, or `gadget_N`."""
    @property
    def dependencies(self) -> tuple[str, ...]:
        """Ids of the calls that must be done first."""

@final
class ArgumentDelta:
    """More text of an argument. The deltas of an argument add up to its value."""

    __match_args__ = ("name", "id", "pointer", "delta", "is_complete")
    @property
    def name(self) -> str:
        """The name of the gadget."""
    @property
    def id(self) -> str:
        """The id of the call."""
    @property
    def pointer(self) -> str:
        """The pointer of the value, such as `items/0`."""
    @property
    def delta(self) -> str:
        """More of the value; may be empty if it is complete."""
    @property
    def is_complete(self) -> bool:
        """True if the value is whole."""

@final
class Call:
    """A call is complete."""

    __match_args__ = ("name", "id", "dependencies", "parameters", "error", "raw", "terminated_by")
    @property
    def name(self) -> str:
        """The name of the gadget, as written."""
    @property
    def id(self) -> str:
        """The id of the call, as written, or `gadget_N`."""
    @property
    def dependencies(self) -> tuple[str, ...]:
        """Ids of the calls that must be done first."""
    @property
    def parameters(self) -> dict[str, Any] | None:
        """The parameters, with the types of the schema if the parser has one; `None` if they cannot be read."""
    @property
    def error(self) -> str | None:
        """The mistake of the model, if they cannot be read."""
    @property
    def raw(self) -> str:
        """The body, as written."""
    @property
    def terminated_by(self) -> Literal["end_marker", "next_start", "end_of_stream"]:
        """What ended the block."""

@final
class TagStart:
    """A tag opened."""

    __match_args__ = ("tag", "attributes", "block")
    @property
    def tag(self) -> str:
        """The name of the tag."""
    @property
    def attributes(self) -> dict[str, Any]:
        """Its attributes."""
    @property
    def block(self) -> int:
        """The number of the tag in the reply."""

@final
class TagDelta:
    """More content of a tag, never empty."""

    __match_args__ = ("tag", "delta", "block")
    @property
    def tag(self) -> str:
        """The name of the tag."""
    @property
    def delta(self) -> str:
        """More content."""
    @property
    def block(self) -> int:
        """The number of the tag in the reply."""

@final
class TagEnd:
    """A tag ended."""

    __match_args__ = ("tag", "reason", "block")
    @property
    def tag(self) -> str:
        """The name of the tag."""
    @property
    def reason(self) -> Literal["closed", "self_closing", "end_of_stream", "limit"]:
        """Why it ended."""
    @property
    def block(self) -> int:
        """The number of the tag in the reply."""

@final
class Tag:
    """A tag is complete."""

    __match_args__ = ("tag", "content", "attributes", "is_self_closing", "block")
    @property
    def tag(self) -> str:
        """The name of the tag."""
    @property
    def content(self) -> str:
        """Everything between the opening and the closing tag."""
    @property
    def attributes(self) -> dict[str, Any]:
        """Its attributes."""
    @property
    def is_self_closing(self) -> bool:
        """True if the tag closed itself."""
    @property
    def block(self) -> int:
        """The number of the tag in the reply."""

@final
class ParserDiagnostic:
    """A problem or a correction in the reply."""

    __match_args__ = ("code", "message", "start", "end")
    @property
    def code(self) -> str:
        """The kind; stable."""
    @property
    def message(self) -> str:
        """One sentence."""
    @property
    def start(self) -> int:
        """Where it begins, in bytes of the reply."""
    @property
    def end(self) -> int:
        """Where it ends."""

@final
class Parser:
    """Reads a reply piece by piece: blocks of calls, and tags, are taken out of the text.

    ```python
    parser = Parser()
    for chunk in chunks:
        for event in parser.feed(chunk):
            match event:
                case Text(text): print(text, end="")
                case Call(name=name, parameters=parameters): print(name, parameters)
    events = parser.finish()
    ```

    How the text is cut never matters, but for where deltas end.
    """

    def __new__(
        cls,
        *,
        tags: Sequence[str] = ...,
        reasoning: Sequence[str] = ...,
        markers: tuple[str, str, str] | None = None,
        anchoring: Literal["anywhere", "line_start"] = "anywhere",
        schemas: dict[str, Any] | None = None,
    ) -> Parser:
        """Makes a parser.

        Args:
            tags: The names of tags that are taken out.
            reasoning: The names of tags whose content is reasoning.
            markers: The markers of blocks: start, end, argument.
            anchoring: Where markers count.
            schemas: JSON Schemas of parameters, by the names of gadgets: values then have the types of the schema.
        """

    def feed(self, chunk: str) -> list[_ParserEvent]:
        """Reads more of the reply."""

    def finish(self) -> list[_ParserEvent]:
        """Ends the reply. The parser is ready for the next one."""

def write_call(
    name: str,
    parameters: Any,
    *,
    id: str | None = None,
    dependencies: Sequence[str] = ...,
    markers: tuple[str, str, str] | None = None,
    anchoring: Literal["anywhere", "line_start"] = "anywhere",
    schema: Any = None,
) -> str:
    """Writes a call as a block that the parser reads as the same call."""

def instructions(
    specs: Any,
    *,
    form: Literal["block", "json"] = "block",
    markers: tuple[str, str, str] | None = None,
    anchoring: Literal["anywhere", "line_start"] = "anywhere",
) -> str: ...
def parse_json(
    chunks: Sequence[str],
    *,
    tags: Sequence[str] = ...,
    reasoning: Sequence[str] = ...,
    markers: tuple[str, str, str] | None = None,
    anchoring: Literal["anywhere", "line_start"] = "anywhere",
) -> str: ...
def count_events(chunks: Sequence[str]) -> int: ...
def close() -> None: ...

@final
class Work:
    def cancel(self) -> None: ...

@final
class Done:
    def __call__(self, kind: str, text: str) -> None: ...

@final
class CallContext:
    @staticmethod
    def for_test(gadget_name: str, deps: Any) -> CallContext: ...
    @property
    def deps(self) -> Any: ...
    @property
    def gadget_name(self) -> str: ...
    @property
    def invocation_id(self) -> str: ...
    @property
    def iteration(self) -> int: ...
    @property
    def depth(self) -> int: ...
    @property
    def idempotency_key(self) -> str: ...
    @property
    def run_id(self) -> str | None: ...
    @property
    def metadata(self) -> dict[str, Any]: ...
    @property
    def dependencies(self) -> dict[str, str]: ...
    @property
    def is_cancelled(self) -> bool: ...
    @property
    def budget_left(self) -> float | None: ...
    @property
    def reported_cost(self) -> float: ...
    def report_cost(self, dollars: float) -> None: ...
    def progress(self, message: str) -> None: ...
    def ask_human(self, waiter: _Waiter, question: str) -> Work: ...

@final
class Model:
    @staticmethod
    def named(name: str, options: dict[str, Any]) -> Model: ...
    @staticmethod
    def script(script: str) -> Model: ...
    @staticmethod
    def script_file(path: str) -> Model: ...
    @property
    def name(self) -> str: ...

@final
class MockModel:
    def __new__(cls, rules: list[dict[str, Any]], options: dict[str, Any]) -> MockModel: ...
    def model(self) -> Model: ...
    def requests(self) -> list[dict[str, Any]]: ...
    def complaints(self) -> str | None: ...

@final
class Conversation:
    def __new__(cls) -> Conversation: ...
    @staticmethod
    def from_json(text: str) -> Conversation: ...
    @staticmethod
    def from_messages(messages: list[dict[str, Any]]) -> Conversation: ...
    def to_json(self) -> str: ...
    def messages(self) -> list[dict[str, Any]]: ...
    def __len__(self) -> int: ...

@final
class Run:
    @property
    def id(self) -> str: ...
    def next(self, waiter: _Waiter, approvals_only: bool) -> Work: ...
    def finish(self, waiter: _Waiter) -> Work: ...
    def output(self) -> list[Any] | None: ...
    def cancel(self) -> None: ...
    def close(self) -> None: ...
    def inject(self, text: str) -> None: ...
    def compact(self) -> None: ...
    def approvals(self) -> list[dict[str, Any]]: ...
    def answer(self, approval: str, kind: str, detail: str | None) -> None: ...

@final
class Journal:
    def __new__(cls, path: str) -> Journal: ...
    def runs(self, waiter: _Waiter) -> Work: ...
    def cancel(self, waiter: _Waiter, run_id: str) -> Work: ...

@final
class InProcess:
    def __new__(
        cls,
        base_url: str,
        api: str,
        api_key: str | None,
        headers: list[tuple[str, str]],
        proxy: str | None,
        reads_environment: bool,
    ) -> InProcess: ...
    def send(
        self, waiter: _Waiter, method: str, target: str, headers: list[tuple[str, str]], body: bytes
    ) -> Work: ...
    def send_blocking(self, method: str, target: str, headers: list[tuple[str, str]], body: bytes) -> Reply: ...

@final
class Reply:
    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> list[tuple[bytes, bytes]]: ...
    def next(self, waiter: _Waiter) -> Work: ...
    def next_blocking(self) -> bytes | None: ...
    def close(self) -> None: ...

@final
class NativeGadget:
    """A gadget that is not Python: a built-in one, or a tool of an MCP server."""

    @property
    def name(self) -> str:
        """The name by which the model calls it."""
    @property
    def description(self) -> str:
        """What the model reads about it."""
    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of its parameters."""
    @property
    def spec(self) -> dict[str, Any]:
        """Its specification, as JSON."""
    @property
    def permission(self) -> str:
        """What holds for its calls without a rule: `allow`, `ask` or `deny`."""

@final
class McpServers:
    @staticmethod
    def connect(waiter: _Waiter, configs: dict[str, Any]) -> Work: ...
    def gadgets(self, reserved: list[str]) -> tuple[list[NativeGadget], list[str]]: ...
    def close(self, waiter: _Waiter) -> Work: ...

def builtins(folder: str, names: list[str] | None = None) -> list[NativeGadget]: ...

@final
class Agent:
    def __new__(cls, model: Model, gadgets: Sequence[Any], options: dict[str, Any]) -> Agent: ...
    def ask(self, prompt: str, options: dict[str, Any]) -> Run: ...
    def durable(self, waiter: _Waiter, journal: Journal, prompt: str | None, options: dict[str, Any]) -> Work: ...
