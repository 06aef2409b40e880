"""What a type checker reads. It is not run: pyright checks it, strictly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, assert_type

from pydantic import BaseModel

from gadgetry import (
    Agent,
    Allow,
    Answer,
    Approval,
    Conversation,
    Gadget,
    Journal,
    MockModel,
    ModelError,
    Parser,
    Result,
    Run,
    RunContext,
    RunEvent,
    ScriptedModel,
    gadget,
)
from gadgetry.errors import FinishReason, ModelErrorKind
from gadgetry.events import GadgetCall, GadgetResult, TextEvent
from gadgetry.parser import Call, ParserEvent, Text
from gadgetry.testing import call


@dataclass
class Database:
    url: str


class Forecast(BaseModel):
    city: str


@gadget
async def weather(city: Annotated[str, "City"], days: int = 1) -> str:
    """Get the weather."""
    return f"{city} {days}"


@gadget(timeout=3, permission="ask")
def orders(ctx: RunContext[Database], limit: int) -> list[str]:
    """Lists orders."""
    return [ctx.deps.url] * limit


class Book:
    @gadget
    def find(self, name: str) -> int:
        """Finds."""
        return len(name)


async def approve(approval: Approval) -> Answer:
    return Allow() if approval.gadget_name == "Orders" else False


async def checked() -> None:
    assert_type(await weather("Paris", days=2), str)
    assert_type(orders(RunContext.for_test(Database("x")), 3), list[str])
    assert_type(Book().find("Ada"), int)
    found: Gadget[[str], int] = Book().find
    assert_type(found("Ada"), int)

    agent = Agent(ScriptedModel("4"), gadgets=[weather], system="Be brief.")
    assert_type(agent, Agent[None])
    assert_type(await agent.ask("?"), Result[str])
    assert_type(await agent.ask("?", output=Forecast), Forecast)
    assert_type(agent.ask_sync("?", output=list[int]), list[int])
    assert_type(agent.stream("?", output=Forecast), Run[Forecast])
    # The type checkers have no type for these.
    assert_type(await agent.ask("?", output=Literal["a", "b"]), Any)
    assert_type(agent.ask_sync("?", output=Annotated[int, "From 1"]), Any)
    assert_type(agent.stream("?", output=Literal["a"]), Run[Any])
    assert_type((await agent.stream("?", output=Forecast).result()).output, Forecast)

    typed = Agent("ollama:llama3.2", deps_type=Database, gadgets=[orders], approvals=approve, budget=1.0)
    assert_type(typed, Agent[Database])
    talk = Conversation()
    await typed.ask("?", deps=Database("x"), conversation=talk, metadata={"a": 1})

    async for event in agent.stream("?"):
        assert_type(event, RunEvent)
        match event:
            case TextEvent(text=text):
                assert_type(text, str)
            case GadgetResult(result=result):
                assert_type(result, str | None)
            case GadgetCall(terminated_by=ended):
                assert_type(ended, Literal["end_marker", "next_start", "end_of_stream"])
            case _:
                pass
        if event.type == "gadget_progress":
            assert_type(event.message, str)

    for parsed in Parser().feed("text"):
        item: ParserEvent = parsed
        match item:
            case Text(text):
                assert_type(text, str)
            case Call(parameters=parameters):
                assert_type(parameters, dict[str, Any] | None)
            case _:
                pass

    result = await agent.ask("?")
    finish: FinishReason = result.reason
    kept: Literal["running", "waiting", "interrupted", "finished", "unknown"] = (await Journal("runs.db").runs())[0].status
    print(finish, kept)
    assert_type(result.calls[0].status, Literal["succeeded", "failed", "skipped", "abandoned"])

    model = MockModel()
    model.when("weather").replies(call("Weather", city="Paris"))


def kind_of(error: ModelError) -> ModelErrorKind:
    return error.kind


# Each line is an error: pyright reports an ignore that is not needed.
async def wrong() -> None:
    Agent(ScriptedModel("4"), systm="?")  # pyright: ignore[reportCallIssue]
    agent = Agent(ScriptedModel("4"), deps_type=Database)
    await agent.ask("?", deps=7)  # pyright: ignore[reportArgumentType]
    result = await agent.ask("?", deps=Database("x"))
    print(result.reason == "complete")  # pyright: ignore[reportUnnecessaryComparison]
    ModelError(kind="rateLimit", message="")  # pyright: ignore[reportArgumentType]
    await weather(7)  # pyright: ignore[reportArgumentType]
    Book().find()  # pyright: ignore[reportCallIssue]
