"""Gadgets: what the model reads of a function, and what the function receives."""

import asyncio
import contextvars
import dataclasses
import datetime
import enum
import functools
import inspect
import pathlib
import uuid
from collections.abc import Sequence
from typing import Annotated, Any, Generic, Literal, NotRequired, Optional, TypedDict, TypeVar

import pydantic.dataclasses
import pytest
from pydantic import BaseModel, ConfigDict, Field

from gadgetry import Agent, Example, Gadget, MockModel, RunContext, SchemaError, ScriptedModel, gadget, gadgets_of
from gadgetry._docstring import parse
from gadgetry.testing import call


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0
    label: Annotated[str, "A name"] = "p"


class Options(TypedDict):
    deep: bool
    limit: NotRequired[int]


class Address(BaseModel):
    street: str
    number: int = Field(ge=1, description="From 1")


class Person(BaseModel):
    name: str
    address: Address


class Category(BaseModel):
    name: str
    parent: Optional["Category"] = None


T = TypeVar("T")


class Box(BaseModel, Generic[T]):
    content: T


class Titled(BaseModel):
    model_config = ConfigDict(title="My forecast / v1")
    city: str


@pydantic.dataclasses.dataclass
class Checked:
    x: int = Field(ge=1)
    parts: "list[Checked]" = Field(default_factory=list)


@pydantic.dataclasses.dataclass
class Pair(Generic[T]):
    left: T
    right: int = Field(default=1, le=5)


@dataclasses.dataclass
class Größe:
    cm: int


@dataclasses.dataclass
class Tree:
    value: int
    children: "list[Tree]" = dataclasses.field(default_factory=list)


WHEN = datetime.datetime(2026, 11, 27, 12, 0)
ID = uuid.UUID("12345678-1234-5678-1234-567812345678")

SHAPES = [
    # hint, schema of the parameter, what the model writes, what the function receives
    (str, {"type": "string"}, "7", "7"),
    (int, {"type": "integer"}, 7, 7),
    (float, {"type": "number"}, 1.5, 1.5),
    (bool, {"type": "boolean"}, True, True),
    (Any, {}, [1, "a"], [1, "a"]),
    (Annotated[str, "A city"], {"type": "string", "description": "A city"}, "Rome", "Rome"),
    (Literal["a", "b"], {"enum": ["a", "b"], "type": "string"}, "b", "b"),
    (Literal[1, 2], {"enum": [1, 2]}, 2, 2),
    (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}, None, None),
    (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}, 7, 7),
    (list[int], {"type": "array", "items": {"type": "integer"}}, [1, 2], [1, 2]),
    (Sequence[str], {"type": "array", "items": {"type": "string"}}, ["a"], ["a"]),
    (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, [1, 2], {1, 2}),
    (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}, [1, 2], (1, 2)),
    (
        tuple[int, str],
        {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
        [1, "a"],
        (1, "a"),
    ),
    (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}, {"a": 1}, {"a": 1}),
    (Color, {"enum": ["red", "blue"]}, "blue", Color.BLUE),
    (datetime.datetime, {"type": "string", "format": "date-time"}, "2026-11-27T12:00:00Z", None),
    (datetime.date, {"type": "string", "format": "date"}, "2026-11-27", WHEN.date()),
    (uuid.UUID, {"type": "string", "format": "uuid"}, str(ID), ID),
    (pathlib.Path, {"type": "string"}, "a/b", pathlib.Path("a/b")),
    (Point, {"$ref": "#/$defs/Point"}, {"x": 1}, Point(1)),
    (list[Point], {"type": "array", "items": {"$ref": "#/$defs/Point"}}, [{"x": 1, "y": 2}], [Point(1, 2)]),
    (Point | None, {"anyOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}]}, {"x": 3}, Point(3)),
    (dict[str, Point], None, {"a": {"x": 1}}, {"a": Point(1)}),
    (Options, {"$ref": "#/$defs/Options"}, {"deep": True}, {"deep": True}),
    (Tree, {"$ref": "#/$defs/Tree"}, {"value": 1, "children": [{"value": 2}]}, Tree(1, [Tree(2)])),
    (Address, {"$ref": "#/$defs/Address"}, {"street": "A", "number": 3}, Address(street="A", number=3)),
    (
        Person,
        {"$ref": "#/$defs/Person"},
        {"name": "Ada", "address": {"street": "A", "number": 3}},
        Person(name="Ada", address=Address(street="A", number=3)),
    ),
    (Category, {"$ref": "#/$defs/Category"}, {"name": "a", "parent": {"name": "b"}}, Category(name="a", parent=Category(name="b"))),
    (Category | None, None, {"name": "a"}, Category(name="a")),
    (Box[int], {"$ref": "#/$defs/Box_int_"}, {"content": 1}, Box[int](content=1)),
    (dict[str, Box[list[int]]], None, {"a": {"content": [1]}}, {"a": Box[list[int]](content=[1])}),
    (Box[Category], None, {"content": {"name": "a"}}, Box[Category](content=Category(name="a"))),
    (tuple[Box[int], Box[str]], None, [{"content": 1}, {"content": "a"}], (Box[int](content=1), Box[str](content="a"))),
    (Titled, {"$ref": "#/$defs/Titled"}, {"city": "Rome"}, Titled(city="Rome")),
    (Checked, {"$ref": "#/$defs/Checked"}, {"x": 1, "parts": [{"x": 2}]}, Checked(1, [Checked(2)])),
    (Pair, {"$ref": "#/$defs/Pair"}, {"left": "a"}, Pair("a")),
    (Pair[int], None, {"left": 1}, Pair(1)),
    (Größe, {"$ref": "#/$defs/Gr__e"}, {"cm": 1}, Größe(1)),
    (list[Address], None, [{"street": "A", "number": 3}], [Address(street="A", number=3)]),
    (Annotated[int, Field(ge=1, le=5)], {"type": "integer", "minimum": 1, "maximum": 5}, 5, 5),
]


@pytest.mark.parametrize(("hint", "schema", "written", "received"), SHAPES, ids=lambda it: str(it)[:40])
def test_types(hint, schema, written, received):
    seen = []

    def take(value):
        """Takes a value."""
        seen.append(value)

    take.__annotations__ = {"value": hint}
    made = gadget(take)
    if schema is not None:
        assert made.parameters["properties"]["value"] == schema
    assert made.parameters["required"] == ["value"]
    agent = Agent(ScriptedModel(call("Take", value=written), "Done."), gadgets=[made])
    result = agent.ask_sync("Take it.")
    assert [item.status for item in result.calls] == ["succeeded"], result.conversation.messages
    if received is not None:
        assert seen == [received] and type(seen[0]) is type(received)
    elif hint is datetime.datetime:
        assert seen[0].year == 2026 and isinstance(seen[0], datetime.datetime)


DEFINITIONS = [
    (Checked, "Checked", ["x"], {"minimum": 1, "type": "integer", "title": "X"}),
    (Box[int], "Box_int_", ["content"], {"type": "integer", "title": "Content"}),
    (Category, "Category", ["name"], {"type": "string", "title": "Name"}),
]


@pytest.mark.parametrize(("hint", "name", "required", "schema"), DEFINITIONS)
def test_definitions_of_pydantic(hint, name, required, schema):
    def take(value):
        """Takes a value."""

    take.__annotations__ = {"value": list[hint]}
    definition = gadget(take).parameters["$defs"][name]
    assert (definition["required"], definition["properties"][required[0]]) == (required, schema)


REFUSED = [
    (Address, {"street": "A", "number": 0}, "number"),
    (Annotated[int, Field(ge=1)], 0, "1"),
    (Category, {"name": "a", "parent": {}}, "name"),
    (Box[int], {"content": "a"}, "content"),
    (Checked, {"x": 0}, "x"),
    (Checked, {}, "x"),
    (Literal["a", "b"], "c", "value"),
    (int, "many", "value"),
    (Point, {"y": 1}, "x"),
]


@pytest.mark.parametrize(("hint", "written", "names"), REFUSED, ids=lambda it: str(it)[:30])
def test_what_does_not_fit_is_answered(hint, written, names):
    def take(value):
        """Takes a value."""
        raise AssertionError("it must not be called")

    take.__annotations__ = {"value": hint}
    model = MockModel()
    model.when("Take it").replies(call("Take", id="t", value=written))
    model.when(has_result="t", predicate=lambda request: names in str(request["messages"][-1])).replies("Sorry.")
    result = Agent(model, gadgets=[take]).ask_sync("Take it.")
    assert [item.status for item in result.calls] == ["failed"]
    model.verify()


def test_description_defaults_and_options():
    @gadget(timeout=1.5, max_concurrent=2, exclusive=True, sticky=True, on_interrupt="rerun", examples=[Example({"city": "Rome"}, "Sunny.")])
    async def read_weather(city: str, days: int = 3, units: Literal["c", "f"] = "c", note: str | None = None) -> str:
        """Get the weather.

        Of any city.

        Args:
            city: The name,
                like Paris.
            days (int): How many days.

        Returns:
            A text.
        """
        return f"{city} {days} {units} {note}"

    spec = read_weather.spec
    assert (spec["name"], spec["description"]) == ("ReadWeather", "Get the weather.\n\nOf any city.")
    properties = spec["parameters"]["properties"]
    assert properties["city"] == {"type": "string", "description": "The name, like Paris."}
    assert properties["days"] == {"type": "integer", "description": "How many days.", "default": 3}
    assert properties["units"]["default"] == "c"
    assert "default" not in properties["note"]
    assert spec["parameters"]["required"] == ["city"]
    assert (spec["timeoutMs"], spec["maxConcurrent"], spec["exclusive"]) == (1500, 2, True)
    assert (spec["stickyResult"], spec["onInterrupt"]) == (True, "rerun")
    assert spec["examples"] == [{"params": {"city": "Rome"}, "output": "Sunny."}]
    result = Agent(ScriptedModel(call("ReadWeather", city="Rome"), "Done."), gadgets=[read_weather]).ask_sync("?")
    assert "Rome 3 c None" in str(result.conversation.messages)


DOCSTRINGS = [
    ("Just text.", "Just text.", {}),
    ("Sum.\n\nArgs:\n    a: One.\n    b (int): Two\n        more.\n\nRaises:\n    E: no.", "Sum.", {"a": "One.", "b": "Two more."}),
    ("Sum.\n\nParameters\n----------\na : int\n    One.\nb : int\n    Two.\n\nReturns\n-------\nint\n    It.", "Sum.", {"a": "One.", "b": "Two."}),
    ("Sum.\n\n:param a: One\n    more.\n:param int b: Two.\n:returns: It.", "Sum.", {"a": "One more.", "b": "Two."}),
    (None, "", {}),
]


@pytest.mark.parametrize(("docstring", "summary", "parameters"), DOCSTRINGS)
def test_docstrings(docstring, summary, parameters):
    assert parse(docstring) == (summary, parameters)


def test_still_a_function():
    @gadget
    def add(a: int, b: int) -> int:
        """Adds."""
        return a + b

    assert add(1, b=2) == 3
    assert add.__name__ == "add" and add.__doc__ == "Adds." and isinstance(add, Gadget)


class Phonebook:
    def __init__(self) -> None:
        self.entries: dict[str, str] = {}

    @gadget
    def add_entry(self, name: str, number: str) -> None:
        """Adds an entry."""
        self.entries[name] = number

    @gadget(name="Find")
    async def find(self, name: str) -> str:
        """Finds an entry."""
        return self.entries[name]

    def helper(self) -> None:
        """Not a gadget."""


def test_methods_share_the_state_of_their_object():
    book, other = Phonebook(), Phonebook()
    assert [item.name for item in gadgets_of(book)] == ["AddEntry", "Find"]
    model = ScriptedModel(call("AddEntry", name="Ada", number="555"), call("Find", name="Ada"), "Done.")
    result = Agent(model, gadgets=[book]).ask_sync("?")
    assert [item.status for item in result.calls] == ["succeeded", "succeeded"]
    assert (book.entries, other.entries) == ({"Ada": "555"}, {})
    book.add_entry("Bob", "556")
    assert book.entries["Bob"] == "556"
    with pytest.raises(SchemaError, match="take it from an object"):
        Agent(ScriptedModel("4"), gadgets=[Phonebook.add_entry])


class Counter:
    """Counts its calls."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, step: int = 1) -> int:
        self.count += step
        return self.count


def test_objects_that_can_be_called():
    counter = Counter()
    Agent(ScriptedModel(call("Counter", step=2), "Done."), gadgets=[counter]).ask_sync("?")
    assert counter.count == 2


def logged(function):
    """Returns what the function returns, which may be a coroutine."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


def awaiting(function):
    """Makes a coroutine function."""

    @functools.wraps(function)
    async def wrapper(*args, **kwargs):
        await asyncio.sleep(0)
        value = function(*args, **kwargs)
        return await value if inspect.isawaitable(value) else value

    return wrapper


def blocking(function):
    """Makes a function that runs a coroutine to its end."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return asyncio.run(function(*args, **kwargs))

    return wrapper


def double(n: int, times: int = 2) -> int:
    """Multiplies."""
    return n * times


async def double_later(n: int, times: int = 2) -> int:
    """Multiplies."""
    await asyncio.sleep(0)
    return n * times


class Doubler:
    @staticmethod
    @gadget
    def inside(n: int) -> int:
        """Doubles."""
        return 2 * n

    @gadget
    @staticmethod
    async def outside(n: int) -> int:
        """Doubles."""
        return 2 * n

    @classmethod
    @gadget(name="ClassInside")
    async def class_inside(cls, n: int) -> int:
        """Doubles."""
        assert cls is Doubler
        return 2 * n

    @gadget
    @classmethod
    def class_outside(cls, n: int) -> int:
        """Doubles."""
        assert cls is Doubler
        return 2 * n

    @gadget
    @awaiting
    def wrapped(self, n: int) -> int:
        """Doubles."""
        assert isinstance(self, Doubler)
        return 2 * n

    async def __call__(self, n: int) -> int:
        """Doubles."""
        return 2 * n


class DoublerItself(Doubler):
    """Doubles."""

    inside = outside = class_inside = class_outside = wrapped = None


WRAPPED = [
    # what the agent is given, the gadgets that it makes, their parameters
    (logged(double), ["Double"], ["n", "times"]),
    (logged(double_later), ["DoubleLater"], ["n", "times"]),
    (awaiting(double), ["Double"], ["n", "times"]),
    (awaiting(double_later), ["DoubleLater"], ["n", "times"]),
    (blocking(double_later), ["DoubleLater"], ["n", "times"]),
    (logged(awaiting(logged(double_later))), None, None),
    (functools.partial(double, times=2), ["Double"], ["n"]),
    (functools.partial(double_later, times=2), ["DoubleLater"], ["n"]),
    (functools.partial(logged(double_later), times=2), ["DoubleLater"], ["n"]),
    (gadget(name="Twice")(functools.partial(double, times=2)), ["Twice"], ["n"]),
    (functools.partial(gadget(double_later), times=2), ["DoubleLater"], ["n"]),
    (Doubler(), ["Inside", "Outside", "ClassInside", "ClassOutside", "Wrapped"], ["n"]),
    (Doubler.inside, ["Inside"], ["n"]),
    (Doubler.outside, ["Outside"], ["n"]),
    (Doubler.class_inside, ["ClassInside"], ["n"]),
    (Doubler.class_outside, ["ClassOutside"], ["n"]),
    (Doubler().class_inside, ["ClassInside"], ["n"]),
    (Doubler().wrapped, ["Wrapped"], ["n"]),
    (DoublerItself(), ["DoublerItself"], ["n"]),
]


@pytest.mark.parametrize(("thing", "names", "parameters"), WRAPPED)
def test_functions_in_other_functions(thing, names, parameters):
    made = Agent(ScriptedModel("4"), gadgets=[thing]).gadgets
    if names is not None:
        assert [item.name for item in made] == names
    for item in made:
        if parameters is not None:
            assert list(item.parameters["properties"]) == parameters and item.description in ("Multiplies.", "Doubles.")
            assert item.parameters["properties"]["n"] == {"type": "integer"}
        result = Agent(ScriptedModel(call(item.name, id="c", n=21), "Done."), gadgets=[item]).ask_sync("?")
        assert [one.status for one in result.calls] == ["succeeded"] and "42" in str(result.conversation.messages)


def test_what_wraps_a_coroutine_function_sets_context_variables():
    user = contextvars.ContextVar("user", default="none")

    def as_ada(function):
        @functools.wraps(function)
        def wrapper():
            user.set(user.get() + " and ada")
            return function()

        return wrapper

    @gadget
    @as_ada
    async def who() -> str:
        """Says who asks."""
        return user.get()

    user.set("bob")
    result = Agent(ScriptedModel(call("Who"), "Done."), gadgets=[who]).ask_sync("?")
    assert "bob and ada" in str(result.conversation.messages)


def test_what_wraps_a_coroutine_function_is_cancelled():
    ended = []

    @gadget(timeout=0.2)
    @logged
    async def wait() -> None:
        """Waits."""
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cleaned")

    result = Agent(ScriptedModel(call("Wait"), "Done."), gadgets=[wait]).ask_sync("?")
    assert [item.status for item in result.calls] == ["failed"] and ended == ["cleaned"]


def test_a_coroutine_of_a_plain_function_is_a_mistake():
    @gadget
    def later(n: int):
        """Doubles."""
        return double_later(n)

    result = Agent(ScriptedModel(call("Later", n=1), "Done."), gadgets=[later]).ask_sync("?")
    assert "Later returned a coroutine: make it a coroutine function" in str(result.conversation.messages)


MISTAKES = [
    (lambda: Agent(ScriptedModel("4"), gadgets=[lambda *args: ""]), SchemaError, "named parameters only"),
    (lambda: Agent(ScriptedModel("4"), gadgets=[7]), TypeError, "not a gadget"),
    (lambda: Agent(ScriptedModel("4"), no_such=1), TypeError, "no_such"),
    (lambda: Agent(7), TypeError, "a model is"),
]


@pytest.mark.parametrize(("make", "error", "words"), MISTAKES)
def test_mistakes_of_the_program(make, error, words):
    with pytest.raises(error, match=words):
        make()


def other(name, *bases):
    """Makes another type that is called as one of above."""
    cls = type(name, bases, {"__annotations__": {"other": str}, "__module__": __name__})
    return cls if bases else dataclasses.dataclass(cls)


COLLISIONS = [
    (Address, other("Address", BaseModel)),
    (Address, other("Address")),
    (other("Address"), Address),
    (Person, other("Address")),
    (Category, other("Category", BaseModel)),
    (Point, other("Point")),
]


@pytest.mark.parametrize(("one", "two"), COLLISIONS)
def test_types_of_one_name(one, two):
    def take(a, b):
        """Takes."""

    take.__annotations__ = {"a": one, "b": two}
    with pytest.raises(SchemaError, match="two types are called"):
        gadget(take).spec  # noqa: B018
    take.__annotations__ = {"a": one, "b": one}
    assert gadget(take).parameters["required"] == ["a", "b"]


def test_types_without_a_schema():
    def take(value: object, thing: Phonebook) -> None:
        """Takes."""

    with pytest.raises(SchemaError, match="parameter thing of Take.*Phonebook"):
        gadget(take).spec  # noqa: B018


def test_dependencies_of_a_run():
    @gadget
    async def who(ctx: RunContext[str], polite: bool = False) -> str:
        """Says who asks."""
        ctx.progress("looking")
        ctx.report_cost(0.25)
        return ("Dear " if polite else "") + ctx.deps + str(ctx.metadata["tenant"]) + ctx.gadget_name

    assert "ctx" not in who.parameters["properties"]
    agent = Agent(ScriptedModel(call("Who"), "Done.", call("Who"), "Done."), gadgets=[who], deps_type=str)
    for user in ("ada", "bob"):
        result = agent.ask_sync("Who?", deps=user, metadata={"tenant": 7})
        assert f"{user}7Who" in str(result.conversation.messages)
        assert result.known_cost == 0.25
    with pytest.raises(Exception, match="needs dependencies"):
        agent.ask_sync("Who?")
    with pytest.raises(TypeError, match="and not str"):
        agent.ask_sync("Who?", deps=7)


def test_a_gadget_alone():
    @gadget
    def who(ctx: RunContext[str]) -> str:
        """Says who asks."""
        ctx.report_cost(0.5)
        return f"{ctx.deps} {ctx.reported_cost} {ctx.run_id} {ctx.is_cancelled}"

    assert who(RunContext.for_test("ada")) == "ada 0.5 None False"
