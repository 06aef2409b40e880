"""Agents and their runs."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Literal, TypedDict, TypeVar, Unpack, cast, overload

from . import _gadgetry
from ._bridge import Outcome, run_sync, running_loop, wait
from ._names import snake
from ._schema import answer_shape
from ._usage import Usage
from .approvals import Answer, Approval, Approvals, Approver, encode
from .blocks import CustomBlock
from .conversation import Conversation
from .errors import ConfigError, FinishReason, GadgetError, NoAnswer, NotDelivered
from .gadgets import AnyGadget, Gadget, collect
from .journal import Journal
from .models import ModelLike, native

if TYPE_CHECKING:
    import asyncio

    from .events import RunEvent

__all__ = ["Agent", "AgentOptions", "CallSummary", "Human", "Result", "Run", "RunOptions"]

DepsT = TypeVar("DepsT")
OutputT = TypeVar("OutputT")
T = TypeVar("T")

Human = Callable[[str, str | None], Awaitable[str | None]]
"""Answers a question of a gadget, whose name is the second argument; `None` if there is no answer."""


class AgentOptions(TypedDict, total=False):
    """The options of an agent. What is left out has the default of the library."""

    gadgets: Sequence[object]
    """Functions that the model can call, gadgets, and objects with gadgets as methods."""
    system: str
    """Instructions for the model."""
    name: str
    """The name of the agent in events."""
    max_iterations: int
    """Replies of the model in a run, at most."""
    budget: float
    """US dollars for a run with its subagents. The price of the model has to be known."""
    temperature: float
    max_tokens: int
    """Tokens of a reply, at most."""
    stop: Sequence[str]
    """Texts at which a reply ends."""
    timeout: float
    """Seconds for a call of a gadget without a timeout of its own."""
    grace: float
    """Seconds for a cancelled coroutine to clean up."""
    max_concurrent: int
    """Gadgets that run at the same time, at most."""
    max_gadgets_per_reply: int
    sequential: bool
    """True if gadgets run one after the other."""
    stop_on_gadget_error: bool
    """True if the run ends when a gadget fails."""
    retries: int
    """How often a failed request is sent again; 0 for never."""
    tools: Literal["text", "native", "both"]
    """How the model calls: as text, through the provider's interface, or either way."""
    form: Literal["block", "json"]
    """How calls are written."""
    examples: int
    """Worked turns in the prompt; they help small models."""
    markers: tuple[str, str, str]
    """The markers of blocks: start, end, argument."""
    anchoring: Literal["anywhere", "line_start"]
    """Where markers count."""
    reasoning_tags: Sequence[str]
    """Names of tags whose content is reasoning."""
    blocks: Sequence[CustomBlock]
    """Tags that are taken out of replies."""
    compaction: bool
    """False if long conversations are not shortened."""
    trailing: str
    """A text at the end of each request, which is not kept."""
    remind: str
    """The run continues with this text after a reply that calls nothing: only a gadget ends it."""
    approvals: Approvals | Approver | Literal["off"]
    """Who decides about calls; `"off"` if whatever the model writes may run."""
    on_human_input: Human
    """Answers questions of gadgets. If it raises, the question has no answer."""


class RunOptions(TypedDict, total=False):
    """The options of a run."""

    conversation: Conversation
    """What was said before. The run adds to it when it ends."""
    run_id: str
    """The id of the run; no other run may have it."""
    metadata: Mapping[str, Any]
    """Data about the run, for events and gadgets."""
    journal: Journal
    """Where the run is kept. One with the same `run_id` that has begun there is resumed."""
    force: bool
    """True if a run of the journal is resumed although the agent that began it was another."""


@dataclass(frozen=True, slots=True)
class CallSummary:
    """A call that the model has made."""

    gadget_name: str
    invocation_id: str
    status: Literal["succeeded", "failed", "skipped", "abandoned"]
    """The end of the call; `abandoned` if the run ended first."""


@dataclass(frozen=True, slots=True)
class Result(Generic[OutputT]):
    """The end of a run."""

    text: str
    """The answer as a text."""
    output: OutputT
    """The answer of the demanded type; the text, if none was demanded."""
    reason: FinishReason
    """`completed`, `task_completed` or `stopped`; of a run without an answer, why there is none."""
    iterations: int
    """Replies that the model gave."""
    cost: float | None
    """US dollars; `None` if the price of a call is not known."""
    known_cost: float
    """The known part of that."""
    usage: Usage
    """Tokens of all model calls."""
    calls: tuple[CallSummary, ...]
    """The calls of gadgets, in order."""
    conversation: Conversation
    """What was said, to continue from."""

    @staticmethod
    def of(fields: dict[str, Any]) -> Result[str]:
        """Reads what the native part gives."""
        return Result(
            text=fields["text"],
            output=fields["text"],
            reason=cast("FinishReason", snake(fields["reason"])),
            iterations=fields["iterations"],
            cost=fields["cost"],
            known_cost=fields["knownCost"],
            usage=Usage.of(fields["usage"]),
            calls=tuple(
                CallSummary(call["gadgetName"], call["invocationId"], call["status"]) for call in fields["calls"]
            ),
            conversation=Conversation._of(fields["conversation"]),  # pyright: ignore[reportPrivateUsage]
        )

    def with_output(self, output: T) -> Result[T]:
        """Returns the same result with another output."""
        return Result(
            self.text,
            output,
            self.reason,
            self.iterations,
            self.cost,
            self.known_cost,
            self.usage,
            self.calls,
            self.conversation,
        )


class Run(Generic[OutputT]):
    """A run of an agent: its events, one by one, and then its result.

    It progresses while its events are read, or while `result` is awaited. Leaving the loop, cancelling the task, and dropping the
    object cancel it, with its gadgets; `async with` does so for certain.

    ```python
    async with agent.stream("What is the weather in Paris?") as run:
        async for event in run:
            match event:
                case TextEvent(text=text): print(text, end="")
                case GadgetStart(gadget_name=name): print(f"[{name}]")
        print((await run.result()).cost)
    ```
    """

    def __init__(
        self,
        native: _gadgetry.Run | Callable[[Any], _gadgetry.Work],
        *,
        approver: Approver | None,
        conversation: Conversation | None,
        is_typed: bool,
    ) -> None:
        self._begun = native if isinstance(native, _gadgetry.Run) else None
        self._begin = None if isinstance(native, _gadgetry.Run) else native
        self._approver = approver
        self._conversation = conversation
        self._is_typed = is_typed
        self._ready: list[RunEvent] = []
        self._is_over = False
        self._deciding: set[asyncio.Task[None]] = set()
        self._fault: BaseException | None = None
        self._result: Result[Any] | BaseException | None = None

    @property
    def _native(self) -> _gadgetry.Run:
        if self._begun is None:
            raise NotDelivered("the run has not begun: read its events, or await its result")
        return self._begun

    @property
    def id(self) -> str:
        """The id of the run. That of a durable run is known once it has begun."""
        return self._native.id

    def __aiter__(self) -> AsyncIterator[RunEvent]:
        return self

    async def __anext__(self) -> RunEvent:
        if not self._ready:
            if not self._is_over:
                from .events import event_of

                events = await self._next(approvals_only=False)
                # From the end, so that each is taken at once.
                self._ready = [event_of(fields) for fields in reversed(events)]
            if not self._ready:
                self._is_over = True
                self._raise_fault()
                raise StopAsyncIteration
        event = self._ready.pop()
        if self._approver is not None and event.type == "approval_required":
            self._decide(event.approval)
        return event

    async def texts(self) -> AsyncIterator[str]:
        """Yields the visible text of the model as it writes, without that of subagents."""
        async for event in self:
            if event.type == "text" and not event.path:
                yield event.text

    async def result(self) -> Result[OutputT]:
        """Waits for the end of the run. The events that are left are skipped.

        Raises `RunError` for a run without an answer: `ModelCallError`, `BudgetExceeded`, `TooManyIterations`, `RunCancelled`, `NoAnswer`.
        """
        if self._result is None:
            await self._finish()
        if isinstance(self._result, BaseException):
            raise self._result
        assert self._result is not None
        return self._result

    async def _finish(self) -> None:
        while self._approver is not None and not self._is_over:
            open_approvals = await self._next(approvals_only=True)
            self._is_over = not open_approvals
            for event in open_approvals:
                self._decide(Approval.of(event))
        try:
            fields = await self._native_call(lambda waiter: self._native.finish(waiter))
        except Exception as error:
            self._is_over = True
            result = getattr(error, "result", None)
            if isinstance(result, Result):
                self._keep(cast("Result[Any]", result))
            self._result = self._fault or error
            return
        self._is_over = True
        result = Result.of(fields)
        self._keep(result)
        self._result = self._fault or (self._typed(result) if self._is_typed else result)

    def _typed(self, result: Result[str]) -> Result[Any] | NoAnswer:
        output = self._native.output()
        if output is None:
            return NoAnswer(f"the run was ended before the model gave its answer; it has said {result.text!r}", result=result)
        return result.with_output(output[0])

    def _keep(self, result: Result[Any]) -> None:
        if self._conversation is not None:
            self._conversation._native = result.conversation._native  # pyright: ignore[reportPrivateUsage]

    async def _next(self, *, approvals_only: bool) -> list[dict[str, Any]]:
        return await self._native_call(lambda waiter: self._native.next(waiter, approvals_only))

    async def _native_call(self, start: Callable[[Any], _gadgetry.Work]) -> Any:
        try:
            if self._begin is not None:
                begin, self._begin = self._begin, None
                self._begun = await wait(begin)
            return await wait(start)
        except BaseException as error:
            if not isinstance(error, Exception):
                # Cancelled, or Ctrl-C: the run ends with the task.
                self.close()
            raise

    def _decide(self, approval: Approval) -> None:
        task = running_loop().create_task(self._answer_by_approver(approval))
        self._deciding.add(task)
        task.add_done_callback(self._deciding.discard)

    async def _answer_by_approver(self, approval: Approval) -> None:
        assert self._approver is not None
        try:
            answer = self._approver(approval)
            if inspect.isawaitable(answer):
                answer = await answer
            kind, detail = encode(answer)
            if kind != "pending" and any(item.id == approval.id for item in self.approvals()):
                self._native.answer(approval.id, kind, detail)
        except BaseException as error:  # noqa: BLE001: the one who waits for the run raises it
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self._fault = self._fault or error
        self._native.cancel()

    def _raise_fault(self) -> None:
        if self._fault is not None:
            raise self._fault

    def approvals(self) -> list[Approval]:
        """Returns the approvals that are open, those of subagents included."""
        return [Approval.of(fields) for fields in self._native.approvals()]

    def answer(self, approval: str | Approval, answer: Answer) -> None:
        """Answers an open approval, by its id. Raises `NotDelivered` if it is closed or unknown."""
        kind, detail = encode(answer)
        self._native.answer(approval if isinstance(approval, str) else approval.id, kind, detail)

    def inject(self, text: str) -> None:
        """Adds a message of the user to the next request. Raises `NotDelivered` if the run is over."""
        self._native.inject(text)

    def compact(self) -> None:
        """Makes the conversation shorter before the next request. Raises `NotDelivered` if the run is over."""
        self._native.compact()

    def cancel(self) -> None:
        """Stops the run: gadgets are cancelled, and `result` raises `RunCancelled`, with what was said until then."""
        self._native.cancel()

    def close(self) -> None:
        """Drops the run, with everything that it has begun. Nothing more can be read of it."""
        self._is_over = True
        self._ready = []
        for task in self._deciding:
            task.cancel()
        self._begin = None
        if self._begun is not None:
            self._begun.close()

    async def __aenter__(self) -> Run[OutputT]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class _Validator:
    """Makes the value of an answer for the native part, which gives the model what this raises, as a correction."""

    def __init__(self, load: Callable[[Any], Any]) -> None:
        self._load = load
        # The native part keeps this: a run that it kept would not end when it is dropped.
        self.run: Callable[[], Run[Any] | None] = lambda: None

    def __call__(self, answer: Any) -> list[Any]:
        try:
            # In a list, so that an answer of `None` is one.
            return [self._load(answer)]
        except (ValueError, TypeError, AssertionError, GadgetError):
            raise
        except BaseException as error:
            # A bug of the program, which no other answer repairs.
            run = self.run()
            if run is not None:
                run._fail(error)  # pyright: ignore[reportPrivateUsage]
            raise


class Agent(Generic[DepsT]):
    """A model with gadgets that answers prompts. Runs of one agent may be at the same time.

    ```python
    agent = Agent("ollama:llama3.2", gadgets=[weather], system="Be brief.")
    print(agent.ask_sync("What is the weather in Paris?").text)
    ```

    With `deps_type`, the runs are given dependencies of that type, which gadgets find in their `RunContext`.
    """

    @overload
    def __init__(
        self: Agent[None], model: ModelLike, *, deps_type: None = None, **options: Unpack[AgentOptions]
    ) -> None: ...
    @overload
    def __init__(
        self, model: ModelLike, *, deps_type: type[DepsT], **options: Unpack[AgentOptions]
    ) -> None: ...
    def __init__(self, model: ModelLike, *, deps_type: Any = None, **options: Unpack[AgentOptions]) -> None:
        unknown = options.keys() - AgentOptions.__annotations__.keys()
        if unknown:
            raise TypeError(f"an agent has no option {', '.join(sorted(unknown))}")
        self._gadgets = collect(options.get("gadgets", ()))
        self._deps_type = deps_type
        prepared: dict[str, Any] = {**options}
        prepared.pop("gadgets", None)
        approvals = prepared.pop("approvals", None)
        if approvals is not None and approvals != "off" and not isinstance(approvals, Approvals):
            approvals = Approvals(approver=approvals)
        self._approver = approvals.approver if isinstance(approvals, Approvals) else None
        if isinstance(approvals, Approvals):
            prepared |= approvals._options()  # pyright: ignore[reportPrivateUsage]
        elif approvals is not None:
            prepared["approvals"] = approvals
        human = prepared.pop("on_human_input", None)
        if human is not None:
            prepared["human"] = _human(human)
        for name in ("stop", "reasoning_tags", "blocks"):
            if name in prepared:
                prepared[name] = list(prepared[name])
        self._native = _gadgetry.Agent(native(model), self._gadgets, prepared)

    @property
    def gadgets(self) -> list[AnyGadget]:
        """The gadgets, in order."""
        return list(self._gadgets)

    @overload
    async def ask(
        self, prompt: str, *, output: None = None, deps: DepsT | None = None, **options: Unpack[RunOptions]
    ) -> Result[str]: ...
    @overload
    async def ask(
        self, prompt: str, *, output: type[OutputT], deps: DepsT | None = None, **options: Unpack[RunOptions]
    ) -> OutputT: ...
    @overload
    async def ask(
        self, prompt: str, *, output: object, deps: DepsT | None = None, **options: Unpack[RunOptions]
    ) -> Any: ...
    async def ask(
        self, prompt: str, *, output: Any = None, deps: DepsT | None = None, **options: Unpack[RunOptions]
    ) -> Any:
        """Asks the model, and waits for the end of the run.

        Args:
            prompt: The message of the user.
            output: The type of the answer: a pydantic model, a dataclass, `list[int]`, `Literal["yes", "no"]`, and so on. The answer is then such a value, and not
                a `Result`; `stream(…).result()` has both. An answer that does not fit is corrected by the model, as is one for which a
                validator raises `ValueError`, `TypeError`, `AssertionError` or `GadgetError`; any other exception ends the run.
            deps: The dependencies of the run, for gadgets that take a `RunContext`.
            options: See `RunOptions`.

        Raises `RunError` for a run without an answer. Cancelling the task cancels the run, with its gadgets.
        """
        run = self.stream(prompt, output=output, deps=deps, **options)
        try:
            result = await run.result()
        finally:
            run.close()
        return result if output is None else result.output

    @overload
    def ask_sync(
        self, prompt: str, *, output: None = None, deps: DepsT | None = None, **options: Unpack[RunOptions]
    ) -> Result[str]: ...
    @overload
    def ask_sync(
        self, prompt: str, *, output: type[OutputT], deps: DepsT | None = None, **options: Unpack[RunOptions]
    ) -> OutputT: ...
    @overload
    def ask_sync(
        self, prompt: str, *, output: object, deps: DepsT | None = None, **options: Unpack[RunOptions]
    ) -> Any: ...
    def ask_sync(
        self, prompt: str, *, output: Any = None, deps: DepsT | None = None, **options: Unpack[RunOptions]
    ) -> Any:
        """`ask` for programs without asyncio. It also works where a loop runs, as in a notebook; Ctrl-C cancels the run."""
        return run_sync(lambda: self.ask(prompt, output=output, deps=deps, **options))

    @overload
    def stream(
        self, prompt: str, *, output: None = None, deps: DepsT | None = None, **options: Unpack[RunOptions]
    ) -> Run[str]: ...
    @overload
    def stream(
        self, prompt: str, *, output: type[OutputT], deps: DepsT | None = None, **options: Unpack[RunOptions]
    ) -> Run[OutputT]: ...
    @overload
    def stream(
        self, prompt: str, *, output: object, deps: DepsT | None = None, **options: Unpack[RunOptions]
    ) -> Run[Any]: ...
    def stream(
        self, prompt: str, *, output: Any = None, deps: DepsT | None = None, **options: Unpack[RunOptions]
    ) -> Run[Any]:
        """Starts a run whose events are read one by one: `async for event in agent.stream(…)`. The arguments are those of `ask`."""
        prepared = self._prepared(deps, options)
        if output is None:
            return self._run(prompt, prepared, options, is_typed=False)
        schema, load = answer_shape(output)
        validator = _Validator(load)
        prepared["output"] = (schema, validator)
        run = self._run(prompt, prepared, options, is_typed=True)
        validator.run = weakref.ref(run)
        return run

    def resume(self, run_id: str, /, *, deps: DepsT | None = None, **options: Unpack[RunOptions]) -> Run[str]:
        """Resumes a run that `journal` has, whatever its prompt was. A run that has ended gives its result at once.

        Raises `JournalError`, when the run is read, if there is no such run, another process drives it, or another agent began it.
        """
        if "journal" not in options:
            raise ConfigError("a run is resumed from a journal: give it `journal=…`")
        return self._run(None, self._prepared(deps, {**options, "run_id": run_id}), options, is_typed=False)

    def _run(self, prompt: str | None, prepared: dict[str, Any], options: RunOptions, *, is_typed: bool) -> Run[Any]:
        journal = options.get("journal")
        native: _gadgetry.Run | Callable[[Any], _gadgetry.Work]
        if journal is None:
            assert prompt is not None
            native = self._native.ask(prompt, prepared)
        elif is_typed:
            raise ConfigError("a durable run has no `output` of a type: ask for a text")
        else:
            file = journal._native  # pyright: ignore[reportPrivateUsage]
            native = lambda waiter: self._native.durable(waiter, file, prompt, prepared)  # noqa: E731
        return Run(
            native,
            approver=self._approver,
            conversation=options.get("conversation"),
            is_typed=is_typed,
        )

    def _prepared(self, deps: DepsT | None, options: RunOptions) -> dict[str, Any]:
        unknown = options.keys() - RunOptions.__annotations__.keys()
        if unknown:
            raise TypeError(f"a run has no option {', '.join(sorted(unknown))}")
        if deps is None:
            needy = next((gadget for gadget in self._gadgets if isinstance(gadget, Gadget) and gadget.needs_deps), None)
            if needy is not None:
                raise ConfigError(f"the gadget {needy.name} needs dependencies: give the run `deps=…`")
        elif self._deps_type is not None and isinstance(self._deps_type, type) and not isinstance(deps, self._deps_type):
            raise TypeError(f"deps is of the type {type(deps).__name__}, and not {self._deps_type.__name__}")
        prepared: dict[str, Any] = {"deps": deps, **options}
        prepared.pop("journal", None)
        conversation = options.get("conversation")
        if conversation is not None:
            prepared["conversation"] = conversation._native  # pyright: ignore[reportPrivateUsage]
        if "metadata" in options:
            prepared["metadata"] = dict(options["metadata"])
        return prepared


def _human(human: Human) -> Callable[[str, str | None], Awaitable[Outcome]]:
    async def ask(question: str, gadget: str | None) -> Outcome:
        answer = await human(question, gadget)
        return ("error", "") if answer is None else ("result", answer)

    return ask
