"""The events of a run, as classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from ._names import snake
from ._usage import Usage
from .approvals import Approval
from .errors import FinishReason, ModelError, _model_error  # pyright: ignore[reportPrivateUsage]

__all__ = [
    "Ancestor",
    "ApprovalAnswered",
    "ApprovalRequired",
    "Compaction",
    "CustomBlockDelta",
    "CustomBlockEnd",
    "CustomBlockEvent",
    "CustomBlockStart",
    "Diagnostic",
    "Event",
    "GadgetArgsPartial",
    "GadgetCall",
    "GadgetCallStart",
    "GadgetCost",
    "GadgetProgress",
    "GadgetRestarted",
    "GadgetResult",
    "GadgetSkipped",
    "GadgetStart",
    "HumanInputReceived",
    "HumanInputRequired",
    "IterationEnd",
    "ModelCallEnd",
    "ModelCallStart",
    "ModelRetry",
    "RateLimited",
    "ReasoningEvent",
    "ReplyWithdrawn",
    "RunEvent",
    "RunFinished",
    "RunStart",
    "TextEvent",
    "Usage",
]


@dataclass(frozen=True, slots=True)
class Ancestor:
    """A call that has started a subagent."""

    call: int
    invocation_id: str
    agent: int
    """The number of the subagent among those of the call, from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What all events have."""

    seq: int
    """The number of the event in its run, from 0."""
    time: float
    """Seconds since the run began."""
    run: str | None = None
    """The id of the run; of an event of a subagent, that of the subagent."""
    path: tuple[Ancestor, ...] = ()
    """The calls that started the subagent, the outermost first; empty for events of the run itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStart(Event):
    """The run begins."""

    type: Literal["run_start"] = "run_start"
    id: str
    """The id of the run."""
    model: str
    """The name of the model; empty for a single call."""
    single_call: bool = False
    """True if the run is one call that no model has written."""
    start: float | None = None
    """The time at which the run was created, in seconds since 1970."""
    agent: str | None = None
    """The name of the agent."""
    parent: dict[str, Any] | None = None
    """The run and the call that started it, if it is a subagent."""
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the caller of the run has given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCallStart(Event):
    """A request is sent to the model."""

    type: Literal["model_call_start"] = "model_call_start"
    iteration: int
    """The number of the reply, from 1."""
    purpose: Literal["reply", "summary"] = "reply"
    """`reply`, or `summary` of what compaction takes out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCallEnd(Event):
    """The reply has ended. Its gadgets may still run."""

    type: Literal["model_call_end"] = "model_call_end"
    iteration: int
    """The number of the reply, from 1."""
    stop_reason: str
    """The reason the model stopped."""
    usage: Usage
    """The token counts."""
    cost: float | None = None
    """US dollars; `None` if the price is not known."""
    purpose: Literal["reply", "summary"] = "reply"
    """`reply`, or `summary` of what compaction takes out."""
    error: ModelError | None = None
    """The error, if the call failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyWithdrawn(Event):
    """The visible part of the current reply is withdrawn: it was cut off, and another one replaces it."""

    type: Literal["reply_withdrawn"] = "reply_withdrawn"
    iteration: int
    """The number of the reply, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRetry(Event):
    """A request failed and will be sent again."""

    type: Literal["model_retry"] = "model_retry"
    iteration: int
    """The number of the reply, from 1."""
    attempt: int
    """The number of the retry, from 1."""
    left: int
    """The number of retries that may follow."""
    delay: float
    """Seconds before the retry."""
    error: ModelError
    """The error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimited(Event):
    """A request waited for a rate limit."""

    type: Literal["rate_limited"] = "rate_limited"
    delay: float
    """Seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction(Event):
    """Older parts of the conversation were removed or summarised."""

    type: Literal["compaction"] = "compaction"
    strategy: Literal["sliding_window", "summary", "hybrid"]
    """The way in which it was shortened."""
    removed_turns: int = 0
    """Replies that were removed."""
    removed_messages: int = 0
    """Messages that were removed."""
    cut_texts: int = 0
    """Texts that were cut."""
    tokens_before: int = 0
    """Estimated tokens before."""
    tokens_after: int = 0
    """Estimated tokens after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextEvent(Event):
    """A piece of the visible text."""

    type: Literal["text"] = "text"
    text: str
    """More text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningEvent(Event):
    """A piece of the model's reasoning."""

    type: Literal["reasoning"] = "reasoning"
    text: str
    """More text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GadgetCallStart(Event):
    """The header of a call is complete."""

    type: Literal["gadget_call_start"] = "gadget_call_start"
    call: int
    """The number of the call in its run, which no other call has."""
    gadget_name: str
    """The gadget, as the model wrote its name."""
    invocation_id: str
    """The id of the call, as the model wrote it."""
    dependencies: list[str]
    """Ids of the calls that must be done first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GadgetArgsPartial(Event):
    """More text of an argument."""

    type: Literal["gadget_args_partial"] = "gadget_args_partial"
    call: int
    """The number of the call in its run, which no other call has."""
    invocation_id: str
    """The id of the call, as the model wrote it."""
    gadget_name: str
    """The gadget, as the model wrote its name."""
    field_path: str
    """The pointer of the value."""
    delta: str
    """More of the value."""
    is_field_complete: bool
    """True if the value is whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GadgetCall(Event):
    """A call is complete."""

    type: Literal["gadget_call"] = "gadget_call"
    call: int
    """The number of the call in its run, which no other call has."""
    gadget_name: str
    """The gadget, as the model wrote its name."""
    invocation_id: str
    """The id of the call, as the model wrote it."""
    dependencies: list[str]
    """Ids of the calls that must be done first."""
    parameters_raw: str
    """The body, as written."""
    terminated_by: Literal["end_marker", "next_start", "end_of_stream"]
    """The end of the block."""
    parameters: dict[str, Any] | None = None
    """The parameters, if they could be read."""
    parse_error: str | None = None
    """The mistake of the model, if not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequired(Event):
    """A call waits for approval. Other gadgets run meanwhile."""

    type: Literal["approval_required"] = "approval_required"
    call: int
    """The number of the call in its run, which no other call has."""
    invocation_id: str
    """The id of the call, as the model wrote it."""
    approval: Approval
    """What the user is shown, with the id for `Run.answer`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalAnswered(Event):
    """An approval was answered or withdrawn."""

    type: Literal["approval_answered"] = "approval_answered"
    call: int
    """The number of the call in its run, which no other call has."""
    invocation_id: str
    """The id of the call, as the model wrote it."""
    approval_id: str
    """The approval."""
    answer: str
    """`allowed`, `denied` or `withdrawn`."""
    reason: str | None = None
    """Why it was denied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GadgetStart(Event):
    """A gadget starts."""

    type: Literal["gadget_start"] = "gadget_start"
    call: int
    """The number of the call in its run, which no other call has."""
    invocation_id: str
    """The id of the call, as the model wrote it."""
    gadget_name: str
    """The gadget, as the model wrote its name."""
    parameters: dict[str, Any]
    """What the gadget receives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GadgetRestarted(Event):
    """A gadget starts again, because the program ended while it was running."""

    type: Literal["gadget_restarted"] = "gadget_restarted"
    call: int
    """The number of the call in its run, which no other call has."""
    invocation_id: str
    """The id of the call, as the model wrote it."""
    gadget_name: str
    """The gadget, as the model wrote its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GadgetResult(Event):
    """A call was answered with a result or an error."""

    type: Literal["gadget_result"] = "gadget_result"
    call: int
    """The number of the call in its run, which no other call has."""
    invocation_id: str
    """The id of the call, as the model wrote it."""
    gadget_name: str
    """The gadget, as the model wrote its name."""
    duration: float
    """Seconds that the gadget took."""
    cost: float = 0.0
    """US dollars, without subagents."""
    result: str | None = None
    """What the model reads, if the call succeeded."""
    error: str | None = None
    """What the model reads, if it failed."""
    media: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """Pictures, sounds and files."""
    completes_run: bool = False
    """True if the run ends with this result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GadgetCost(Event):
    """The cost of a gadget that ended after its call was answered."""

    type: Literal["gadget_cost"] = "gadget_cost"
    call: int
    """The number of the call in its run, which no other call has."""
    invocation_id: str
    """The id of the call, as the model wrote it."""
    gadget_name: str
    """The gadget, as the model wrote its name."""
    cost: float
    """US dollars."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GadgetProgress(Event):
    """A running gadget reports progress."""

    type: Literal["gadget_progress"] = "gadget_progress"
    call: int
    """The number of the call in its run, which no other call has."""
    invocation_id: str
    """The id of the call, as the model wrote it."""
    gadget_name: str
    """The gadget, as the model wrote its name."""
    message: str
    """The report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanInputRequired(Event):
    """A gadget, or the run itself, waits for input of the user."""

    type: Literal["human_input_required"] = "human_input_required"
    question: str
    """The question."""
    call: int | None = None
    """The call, if a gadget asks."""
    invocation_id: str | None = None
    """Its id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanInputReceived(Event):
    """The user has answered, or is not available."""

    type: Literal["human_input_received"] = "human_input_received"
    answered: bool
    """True if there was an answer."""
    call: int | None = None
    """The call, if a gadget asked."""
    invocation_id: str | None = None
    """Its id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GadgetSkipped(Event):
    """A call was not executed because of a dependency or a limit."""

    type: Literal["gadget_skipped"] = "gadget_skipped"
    call: int
    """The number of the call in its run, which no other call has."""
    invocation_id: str
    """The id of the call, as the model wrote it."""
    gadget_name: str
    """The gadget, as the model wrote its name."""
    failed_dependency: str
    """The dependency, or the name of the limit."""
    error: str
    """What the model reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomBlockStart(Event):
    """A custom block opens."""

    type: Literal["custom_block_start"] = "custom_block_start"
    block_id: str
    """The block."""
    tag: str
    """The key of its definition."""
    attrs: dict[str, Any]
    """The attributes of the opening tag."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomBlockDelta(Event):
    """More content of a custom block."""

    type: Literal["custom_block_delta"] = "custom_block_delta"
    block_id: str
    """The block."""
    tag: str
    """The key of its definition."""
    delta: str
    """More content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomBlockEnd(Event):
    """A custom block ends."""

    type: Literal["custom_block_end"] = "custom_block_end"
    block_id: str
    """The block."""
    tag: str
    """The key of its definition."""
    reason: Literal["closed", "self_closing", "end_of_stream", "limit"]
    """The end of the block; `limit` if it is too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomBlockEvent(Event):
    """A custom block is complete."""

    type: Literal["custom_block"] = "custom_block"
    block_id: str
    """The block."""
    tag: str
    """The key of its definition."""
    content: str
    """Everything in it."""
    attrs: dict[str, Any]
    """The attributes of the opening tag."""
    self_closing: bool = False
    """True if the tag closed itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic(Event):
    """A problem or a correction in a reply."""

    type: Literal["diagnostic"] = "diagnostic"
    code: str
    """The kind; stable."""
    message: str
    """One sentence."""
    span: dict[str, int]
    """`start` and `end` in bytes of the reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationEnd(Event):
    """All calls of a reply are answered."""

    type: Literal["iteration_end"] = "iteration_end"
    iteration: int
    """The number of the reply, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished(Event):
    """The run has finished. This is its last event."""

    type: Literal["run_finished"] = "run_finished"
    reason: FinishReason
    """The reason, as in `Result.reason`."""
    iterations: int
    """The number of replies."""
    answer: str = ""
    """The answer."""
    total_cost: float | None = None
    """US dollars; `None` if the price of a call is not known."""
    error: ModelError | None = None
    """The error of the model call that ended the run."""


RunEvent = (
    RunStart
    | ModelCallStart
    | ModelCallEnd
    | ReplyWithdrawn
    | ModelRetry
    | RateLimited
    | Compaction
    | TextEvent
    | ReasoningEvent
    | GadgetCallStart
    | GadgetArgsPartial
    | GadgetCall
    | ApprovalRequired
    | ApprovalAnswered
    | GadgetStart
    | GadgetRestarted
    | GadgetResult
    | GadgetCost
    | GadgetProgress
    | HumanInputRequired
    | HumanInputReceived
    | GadgetSkipped
    | CustomBlockStart
    | CustomBlockDelta
    | CustomBlockEnd
    | CustomBlockEvent
    | Diagnostic
    | IterationEnd
    | RunFinished
)
"""Any event of a run: `match` on the class, or compare `type`."""

_WORDS = frozenset({"reason", "terminatedBy", "strategy", "kind", "code"})
"""Fields whose values are names in JSON's form."""

_SECONDS = {"delayMs": "delay", "durationMs": "duration", "startMs": "start"}

_ERROR = ("kind", "error", "status", "code", "retryAfterMs", "requestId", "overflow")


def _with_error(json: dict[str, Any]) -> None:
    if "error" in json and "kind" in json:
        error = {name: json.pop(name) for name in _ERROR if name in json}
        json["error"] = _model_error(error)


def _approval(json: dict[str, Any]) -> None:
    approval = Approval.of(json)
    for name in ("gadgetName", "parameters", "subject", "diff", "notes", "server"):
        json.pop(name, None)
    json["approval"] = approval


def _answered(json: dict[str, Any]) -> None:
    json["approvalId"] = json.pop("approval")


def _usage(json: dict[str, Any]) -> None:
    json["usage"] = Usage.of(json["usage"])
    _with_error(json)


def _call(json: dict[str, Any]) -> None:
    del json["span"]


_PREPARE: dict[str, Callable[[dict[str, Any]], None]] = {
    "model_call_end": _usage,
    "model_retry": _with_error,
    "run_finished": _with_error,
    "approval_required": _approval,
    "approval_answered": _answered,
    "gadget_call": _call,
}

_CLASSES: dict[str, Any] = {
    str(next(item for item in fields(cls) if item.name == "type").default): cls for cls in get_args(RunEvent)
}


def event_of(json: dict[str, Any]) -> RunEvent:
    """Makes an event of its JSON, which it takes apart."""
    kind = json.pop("type")
    prepare = _PREPARE.get(kind)
    if prepare is not None:
        prepare(json)
    del json["v"]
    path = json.pop("path", None)
    arguments: dict[str, Any] = {"time": json.pop("timeMs") / 1000}
    if path:
        arguments["path"] = tuple(Ancestor(step["call"], step["invocationId"], step["agent"]) for step in path)
    for name, value in json.items():
        if name in _SECONDS:
            arguments[_SECONDS[name]] = value / 1000
        else:
            is_word = name in _WORDS and isinstance(value, str) and kind != "approval_answered"
            arguments[snake(name)] = snake(value) if is_word else value
    return _CLASSES[kind](**arguments)
