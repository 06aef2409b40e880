"""Runs: results, streams, typed answers, conversations, limits, errors, cancellation."""

import asyncio
import contextvars
import dataclasses
import json
import threading
import time
from decimal import Decimal
from typing import Annotated, Literal, Optional, get_args, get_type_hints

import pydantic.dataclasses
import pytest
from pydantic import BaseModel, ConfigDict, Field

import gadgetry
from gadgetry import (
    Agent,
    BudgetExceeded,
    ConfigError,
    Conversation,
    CustomBlock,
    GadgetError,
    HumanInputRequired,
    MockModel,
    Model,
    ModelCallError,
    NoAnswer,
    NotDelivered,
    RunCancelled,
    RunContext,
    RunError,
    ScriptedModel,
    TaskComplete,
    TextEvent,
    TooManyIterations,
    gadget,
)
from gadgetry.events import _CLASSES, CustomBlockEvent, GadgetProgress, GadgetResult, RunFinished, RunStart
from gadgetry.testing import call, reply


@gadget
async def add(a: int, b: int) -> int:
    """Adds two numbers."""
    await asyncio.sleep(0)
    return a + b


def adding() -> ScriptedModel:
    return ScriptedModel(reply("Let me see.\n", call("Add", id="sum", a=2, b=2), tokens=(10, 5)), reply("It is 4.", tokens=(20, 3)))


def test_ask(run):
    result = run(Agent(adding(), gadgets=[add], system="Be brief.").ask, "What is 2 + 2?")
    assert (result.text, result.output, result.reason, result.iterations) == ("It is 4.", "It is 4.", "completed", 2)
    assert [(item.gadget_name, item.invocation_id, item.status) for item in result.calls] == [("Add", "sum", "succeeded")]
    assert (result.usage.input_tokens, result.usage.output_tokens) == (30, 8)
    assert (result.cost, result.known_cost) == (None, 0.0)


def test_ask_sync_with_and_without_a_loop():
    assert Agent(adding(), gadgets=[add]).ask_sync("?").text == "It is 4."

    async def notebook():
        return Agent(adding(), gadgets=[add]).ask_sync("?").text

    assert asyncio.run(notebook()) == "It is 4."


def test_stream(run):
    async def main():
        agent = Agent(adding(), gadgets=[add], name="clerk")
        stream = agent.stream("?", metadata={"tenant": "acme"}, run_id="order-7")
        events = [event async for event in stream]
        result = await stream.result()
        return stream, events, result

    stream, events, result = run(main)
    assert isinstance(events[0], RunStart) and isinstance(events[-1], RunFinished)
    assert (events[0].id, events[0].agent, events[0].metadata) == ("order-7", "clerk", {"tenant": "acme"})
    assert [event.seq for event in events] == list(range(len(events)))
    assert "".join(event.text for event in events if isinstance(event, TextEvent)) == "Let me see.\nIt is 4."
    (answered,) = [event for event in events if isinstance(event, GadgetResult)]
    assert (answered.result, answered.error, answered.path) == ("4", None, ())
    assert (events[-1].answer, events[-1].reason) == ("It is 4.", "completed")
    assert result.text == "It is 4." and stream.id == "order-7"


def test_texts_and_result_without_reading(run):
    async def main():
        agent = Agent(ScriptedModel(reply("One two three", chunk=4), "4"))
        texts = [text async for text in agent.stream("?").texts()]
        stream = agent.stream("?")
        return texts, (await stream.result()).text, (await stream.result()).text, [event async for event in stream]

    assert run(main) == (["One ", "two ", "thre", "e"], "4", "4", [])


def test_events_are_those_of_the_schema(root):
    schema = json.loads((root / "docs/events.schema.json").read_text())
    kinds = {one["properties"]["type"]["const"]: one for one in schema["oneOf"]}
    assert kinds.keys() == _CLASSES.keys()
    aliases = {"delayMs": "delay", "durationMs": "duration", "startMs": "start", "approval": "approval_id"}
    inside = {"kind", "status", "code", "retryAfterMs", "requestId", "overflow", "span"}
    for kind, one in kinds.items():
        names = set(one["properties"]) - {"type"}
        if "$ref" in one:
            names |= set(schema["$defs"][one["$ref"].rsplit("/", 1)[1]]["properties"])
        for choice in one.get("oneOf", []):
            names |= set(choice["properties"])
        names = names if kind in ("diagnostic",) else names - inside
        if kind == "approval_required":
            names = {"call", "invocationId", "approval"}
            aliases_here = {}
        else:
            aliases_here = aliases
        expected = {aliases_here.get(name) or gadgetry._names.snake(name) for name in names}
        own = set(_CLASSES[kind].__dataclass_fields__) - {"seq", "time", "run", "path", "type"}
        assert own == expected, kind


WORDS = [
    (gadgetry.errors.FinishReason, "FinishReason"),
    (gadgetry.errors.ModelErrorKind, "ModelErrorKind"),
    (_CLASSES["gadget_call"], "TerminatedBy"),
    (_CLASSES["custom_block_end"], "EndReason"),
    (_CLASSES["compaction"], "CompactionStrategy"),
    (_CLASSES["model_call_start"], "Purpose"),
    (gadgetry.approvals.Subject, "SubjectKind"),
]
FIELDS = {"TerminatedBy": "terminated_by", "EndReason": "reason", "CompactionStrategy": "strategy", "Purpose": "purpose", "SubjectKind": "kind"}


@pytest.mark.parametrize(("words", "name"), WORDS, ids=lambda it: str(it)[:30])
def test_words_are_those_of_the_schema(root, words, name):
    schema = json.loads((root / "docs/events.schema.json").read_text())
    if name in FIELDS:
        words = get_type_hints(words)[FIELDS[name]]
    assert set(get_args(words)) == {gadgetry._names.snake(choice["const"]) for choice in schema["$defs"][name]["oneOf"]}


@dataclasses.dataclass
class Total:
    total: int
    note: str = ""


class Forecast(BaseModel):
    city: str
    celsius: float


class Category(BaseModel):
    name: str
    parent: Optional["Category"] = None


class Titled(BaseModel):
    model_config = ConfigDict(title="My forecast / v1")
    city: str


@pydantic.dataclasses.dataclass
class Checked:
    x: int = Field(ge=1)


OUTPUTS = [
    (Forecast, [{"city": "Rome", "celsius": 21}], Forecast(city="Rome", celsius=21)),
    (Forecast, [{"city": "Rome", "celsius": "hot"}, {"city": "Rome", "celsius": 21}], Forecast(city="Rome", celsius=21)),
    (Total, [{"total": 4}], Total(4)),
    (Category, [{"name": "a", "parent": {"name": "b"}}], Category(name="a", parent=Category(name="b"))),
    (Titled, [{"city": "Rome"}], Titled(city="Rome")),
    (Checked, [{"x": 0}, {"x": 1}], Checked(1)),
    (list[int], [{"answer": [1, 2]}], [1, 2]),
    (list[Forecast], [{"answer": [{"city": "Rome", "celsius": 1}]}], [Forecast(city="Rome", celsius=1)]),
    (int, [{"answer": "many"}, {"answer": 4}], 4),
    (Decimal, [{"answer": "many"}, {"answer": "4.5"}], Decimal("4.5")),
    (bool, [{"answer": False}], False),
    (Literal["a", "b"], [{"answer": "c"}, {"answer": "b"}], "b"),
    (Annotated[int, Field(ge=1)], [{"answer": 0}, {"answer": 1}], 1),
    (str, [{"answer": "4"}], "4"),
]


@pytest.mark.parametrize(("output", "written", "value"), OUTPUTS, ids=lambda it: str(it)[:30])
def test_typed_answers(output, written, value):
    model = ScriptedModel(*(call("FinalAnswer", **arguments) for arguments in written))
    assert Agent(model).ask_sync("?", output=output) == value


def test_typed_answer_with_its_run(run):
    async def main():
        agent = Agent(ScriptedModel(call("Add", a=1, b=1), call("FinalAnswer", total=2)), gadgets=[add])
        return await agent.stream("?", output=Total).result()

    result = run(main)
    assert (result.output, result.reason, result.iterations) == (Total(2), "task_completed", 2)


def test_a_typed_answer_that_never_comes():
    @gadget
    def finish() -> None:
        """Ends."""
        raise TaskComplete("no total")

    with pytest.raises(NoAnswer, match="no total") as caught:
        Agent(ScriptedModel(call("Finish")), gadgets=[finish]).ask_sync("?", output=Total)
    assert caught.value.result.text == "no total"


def test_conversations(run):
    async def main():
        agent = Agent(ScriptedModel("4", "Yes.", "No."))
        talk = Conversation()
        assert not talk
        await agent.ask("What is 2 + 2?", conversation=talk)
        branch = Conversation.from_json(talk.to_json())
        await agent.ask("Are you sure?", conversation=talk)
        await agent.ask("Is it 5?", conversation=branch)
        return talk, branch

    talk, branch = run(main)
    assert [message["role"] for message in talk.messages] == ["user", "assistant"] * 2
    assert (len(talk), len(branch), talk.messages[-1]["raw"], branch.messages[-1]["raw"]) == (4, 4, "Yes.", "No.")


def test_conversation_of_messages_and_after_a_failure():
    model = MockModel()
    model.when(anywhere="My name is Ada").replies("Ada.")
    talk = Conversation.from_messages([{"role": "user", "content": "My name is Ada"}, {"role": "assistant", "content": "Hello."}])
    assert Agent(model).ask_sync("What is my name?", conversation=talk).text == "Ada."
    assert len(talk) == 4
    failing = Agent(ScriptedModel(reply("Once upon", is_cut_off=True)))
    with pytest.raises(RunError) as caught:
        failing.ask_sync("Tell me", conversation=talk)
    assert caught.value.reason == "truncated" and len(talk) == 6
    with pytest.raises(ValueError, match="."):
        Conversation.from_json("{")


def test_errors_have_classes():
    with pytest.raises(ModelCallError, match="slow down") as caught:
        Agent(mock(reply(error="slow down", error_kind="rate_limit")), retries=0).ask_sync("?")
    error = caught.value
    assert (error.model_error.kind, error.fault, error.is_retryable) == ("rate_limit", "provider", True)
    with pytest.raises(TooManyIterations) as caught:
        Agent(ScriptedModel(*[call("Add", a=1, b=1)] * 3), gadgets=[add], max_iterations=2).ask_sync("?")
    assert caught.value.result.iterations == 2
    with pytest.raises(ConfigError, match="no_such"):
        Model("no_such:model")
    with pytest.raises(ConfigError, match="max_iterations"):
        Agent(ScriptedModel("4"), max_iterations=0)
    with pytest.raises(ConfigError, match="two|twice|already|same"):
        Agent(ScriptedModel("4"), gadgets=[add, add])


def mock(*replies):
    return MockModel().when().replies(*replies)


def test_budgets():
    def spending():
        model = MockModel(price=(1.0, 10.0))
        return model.when().replies(reply(call("Add", a=1, b=1), tokens=(100_000, 100_000)))

    with pytest.raises(BudgetExceeded) as caught:
        Agent(spending(), gadgets=[add], budget=2.5, max_iterations=20).ask_sync("?")
    assert 2.5 <= caught.value.result.cost < 4
    with pytest.raises(ConfigError, match="price"):
        Agent(ScriptedModel("4"), budget=1.0)


def test_custom_blocks(run):
    blocks = [
        CustomBlock(key="citation", description="A source"),
        CustomBlock(key="secret", mode="suppress"),
        CustomBlock(key="think", mode="reasoning"),
        CustomBlock(key="upper", transform=lambda block: block.content.upper() + block.attributes.get("end", "")),
    ]
    text = 'A <citation id="1">b</citation> <secret>c</secret>d <think>e</think><upper end="!">f</upper>'

    async def main():
        stream = Agent(ScriptedModel(reply(text, chunk=3)), blocks=blocks).stream("?")
        events = [event async for event in stream]
        return events, await stream.result()

    events, result = run(main)
    assert result.text.split() == ["A", "d", "F!"]
    (block,) = [event for event in events if isinstance(event, CustomBlockEvent)]
    assert (block.tag, block.content, block.attrs) == ("citation", "b", {"id": "1"})


def test_cancelling_the_task_cancels_gadgets(run):
    ended = []

    @gadget
    async def wait() -> None:
        """Waits."""
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        finally:
            ended.append("cleaned")

    async def main(consume):
        ended.clear()
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await consume(Agent(ScriptedModel(call("Wait"), "Done."), gadgets=[wait]))
        for _ in range(100):
            if len(ended) == 2:
                break
            await asyncio.sleep(0.05)
        return time.monotonic() - began

    async def ask(agent):
        await agent.ask("?")

    async def stream(agent):
        async for _ in agent.stream("?"):
            pass

    for consume in (ask, stream):
        assert run(main, consume) < 30
        assert ended == ["cancelled", "cleaned"]


def test_closing_what_was_cancelled_cancels_gadgets(run):
    """Even if the run is kept: its end is not that of its object."""

    async def main():
        began, ended = asyncio.Event(), asyncio.Event()

        @gadget
        async def wait() -> None:
            """Waits."""
            began.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        stream = Agent(ScriptedModel(call("Wait"), "Done."), gadgets=[wait]).stream("?")

        async def read():
            async with stream:
                async for _ in stream:
                    pass

        reading = asyncio.create_task(read())
        async with asyncio.timeout(60):
            await began.wait()
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
            await ended.wait()
        return stream

    for _ in range(20):
        run(main)


def test_leaving_the_loop_cancels_gadgets(run):
    ended = threading.Event()

    @gadget
    async def wait() -> None:
        """Waits."""
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    async def main():
        async with Agent(ScriptedModel(call("Wait"), "Done."), gadgets=[wait]).stream("?") as stream:
            async for event in stream:
                if event.type == "gadget_start":
                    await asyncio.sleep(0.05)
                    break
        for _ in range(200):
            if ended.is_set():
                return
            await asyncio.sleep(0.05)

    run(main)
    assert ended.is_set()


def test_cancel_inject_and_what_is_over(run):
    @gadget
    async def wait(ctx: RunContext[None]) -> None:
        """Waits."""
        ctx.progress("waiting")
        await asyncio.sleep(60)

    async def main():
        stream = Agent(ScriptedModel(call("Wait"), "Done."), gadgets=[wait]).stream("?")
        async for event in stream:
            if isinstance(event, GadgetProgress):
                stream.cancel()
        with pytest.raises(RunCancelled) as caught:
            await stream.result()
        with pytest.raises(NotDelivered):
            stream.inject("more")
        return caught.value

    error = run(main)
    assert (error.reason, error.fault) == ("cancelled", "caller")

    async def injected():
        model = MockModel()
        model.when("start").replies(reply(call("Slow"), "Looking."))
        model.when(anywhere="and faster").replies("Faster.")
        release = asyncio.Event()

        @gadget
        async def slow() -> str:
            """Is slow."""
            await release.wait()
            return "slow"

        stream = Agent(model, gadgets=[slow]).stream("start")
        async for event in stream:
            if event.type == "gadget_start":
                stream.inject("and faster")
                release.set()
        return (await stream.result()).text

    assert run(injected) == "Faster."


def test_timeouts_of_gadgets(run):
    @gadget(timeout=0.05)
    async def slow() -> None:
        """Is slow."""
        await asyncio.sleep(60)

    result = run(Agent(ScriptedModel(call("Slow"), "Done."), gadgets=[slow]).ask, "?")
    assert [item.status for item in result.calls] == ["failed"]


def test_functions_run_in_threads_and_at_the_same_time(run):
    barrier = threading.Barrier(3, timeout=30)
    threads = set()

    @gadget
    def meet(n: int) -> int:
        """Waits for the others."""
        threads.add(threading.current_thread())
        barrier.wait()
        return n

    calls = reply(*(call("Meet", n=n) for n in range(3)))
    result = run(Agent(ScriptedModel(calls, "Done."), gadgets=[meet]).ask, "?")
    assert [item.status for item in result.calls] == ["succeeded"] * 3
    assert len(threads) == 3 and threading.main_thread() not in threads


def test_context_variables_reach_gadgets(run):
    user = contextvars.ContextVar("user", default="nobody")
    seen = []

    @gadget
    async def in_loop() -> None:
        """Looks."""
        seen.append(user.get())

    @gadget
    def in_thread() -> None:
        """Looks."""
        seen.append(user.get())

    async def main():
        user.set("ada")
        await Agent(ScriptedModel(reply(call("InLoop"), call("InThread")), "Done."), gadgets=[in_loop, in_thread]).ask("?")

    run(main)
    assert seen == ["ada", "ada"]


def test_many_runs_of_one_agent(run):
    async def main():
        model = MockModel()
        model.when("twice").replies(call("Add", a=2, b=2))
        model.when(has_result="gadget_1").replies("4")
        agent = Agent(model, gadgets=[add])
        results = await asyncio.gather(*(agent.ask("twice") for _ in range(50)))
        return {result.text for result in results}

    assert run(main) == {"4"}


def test_agents_in_several_threads():
    agent = Agent(mock("4"), gadgets=[add])
    texts = []
    threads = [threading.Thread(target=lambda: texts.append(agent.ask_sync("?").text)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert texts == ["4"] * 8


def test_ending_errors_and_human_input():
    @gadget
    def finish() -> None:
        """Ends."""
        raise TaskComplete("All done.")

    @gadget
    def fail() -> None:
        """Fails."""
        raise GadgetError("try another city")

    @gadget
    def confirm() -> None:
        """Asks."""
        raise HumanInputRequired("Really?")

    @gadget
    async def confirm_inside(ctx: RunContext[None]) -> str:
        """Asks."""
        return "the user says " + await ctx.ask_human("Sure?")

    assert Agent(ScriptedModel(call("Finish")), gadgets=[finish]).ask_sync("?").text == "All done."
    result = Agent(ScriptedModel(call("Fail"), "Sorry."), gadgets=[fail]).ask_sync("?")
    assert "try another city" in result.conversation.to_json() and "GadgetError" not in result.conversation.to_json()

    async def human(question, gadget):
        return f"{gadget}: yes to {question}"

    for model, tool, name in [(call("Confirm"), confirm, "Confirm: yes to Really?"), (call("ConfirmInside"), confirm_inside, "says ConfirmInside: yes to Sure?")]:
        result = Agent(ScriptedModel(model, "Good."), gadgets=[tool], on_human_input=human).ask_sync("?")
        assert name in result.conversation.to_json()
    result = Agent(ScriptedModel(call("ConfirmInside"), "Good."), gadgets=[confirm_inside]).ask_sync("?")
    assert "HumanUnavailable" in result.conversation.to_json()


def test_mock_models_report(run):
    model = MockModel()
    model.when("weather", label="forecast").replies("Sunny.")
    with pytest.raises(ModelCallError, match="forecast"):
        Agent(model, retries=0).ask_sync("What time is it?")
    with pytest.raises(AssertionError, match="What time is it"):
        model.verify()
    assert model.requests[0]["messages"][-1]["role"] == "user"
