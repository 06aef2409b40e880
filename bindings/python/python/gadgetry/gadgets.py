"""Gadgets: functions that a model can call."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Concatenate, Generic, Literal, ParamSpec, TypeVar, cast, overload

from . import _gadgetry
from ._bridge import Outcome, describe, in_thread
from ._docstring import parse
from ._names import gadget_name
from ._schema import Definitions, Load, hints_of, to_json, to_text, with_default
from .context import RunContext
from .errors import GadgetError, HumanInputRequired, SchemaError, TaskComplete

__all__ = ["Example", "Gadget", "Permission", "gadget", "gadgets_of", "tool"]

P = ParamSpec("P")
P2 = ParamSpec("P2")
R = TypeVar("R")
R2 = TypeVar("R2")
S = TypeVar("S")

Permission = Literal["allow", "ask", "deny"]
"""What holds for calls about which no rule of the agent says anything."""


@dataclass(frozen=True, slots=True)
class Example:
    """A call that shows the model how to use a gadget."""

    params: dict[str, Any] = field(default_factory=dict[str, Any])
    output: str | None = None
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    name: str | None = None
    description: str | None = None
    timeout: float | None = None
    max_concurrent: int | None = None
    exclusive: bool = False
    sticky: bool = False
    permission: Permission = "allow"
    on_interrupt: Literal["fail", "rerun", "ask"] = "fail"
    examples: Sequence[Example] = ()


@dataclass(frozen=True, slots=True)
class _Shape:
    """What is known of a function: the specification for the native part, and how to make its arguments."""

    spec: dict[str, Any]
    loads: dict[str, Load]
    context: str | None
    needs_deps: bool


class Gadget(Generic[P, R]):
    """A function that a model can call. Made by `gadget`; it is still that function for everyone else."""

    def __init__(self, function: Callable[P, R], **options: Any) -> None:
        kind: Literal["method", "class", "static"] = "method"
        if isinstance(function, (staticmethod, classmethod)):
            kind = "static" if isinstance(function, staticmethod) else "class"
            function = cast(Any, function).__func__
        if not callable(function):
            raise TypeError(f"a gadget is made of a function, not of {function!r}")
        functools.update_wrapper(cast(Any, self), _described(function)).__wrapped__ = function
        self._kind = kind
        self._function = function
        self._options = _Options(**options)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._function(*args, **kwargs)

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Gadget[P, R]: ...
    @overload
    def __get__(
        self: Gadget[Concatenate[S, P2], R2], instance: S, owner: type[Any] | None = None
    ) -> Gadget[P2, R2]: ...
    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        if self._kind == "class":
            instance = owner or cast("type[Any]", type(instance))
        if instance is None or self._kind == "static":
            return self
        function = types.MethodType(self._function, instance)
        bound = cast("Gadget[..., Any]", Gadget.__new__(Gadget))
        functools.update_wrapper(cast(Any, bound), self._function).__wrapped__ = function
        bound._kind = "static"
        bound._function = function
        bound._options = self._options
        return bound

    def __repr__(self) -> str:
        return f"<gadget {self.name}>"

    @property
    def name(self) -> str:
        """The name by which the model calls it."""
        return self._options.name or gadget_name(_described(self._function).__name__)

    @property
    def description(self) -> str:
        """What the model reads about it."""
        return self.spec["description"]

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of its parameters."""
        return self.spec["parameters"]

    @property
    def permission(self) -> Permission:
        """What holds for its calls without a rule."""
        return self._options.permission

    @property
    def is_async(self) -> bool:
        """True for a coroutine function, and for a function that wraps one; others run in threads."""
        return any(map(_is_coroutine_function, _layers(self._function)))

    @functools.cached_property
    def _shape(self) -> _Shape:
        return _shape_of(self._function, self.name, self._options)

    @property
    def spec(self) -> dict[str, Any]:
        """Its specification, as JSON: name, description, schema, limits."""
        return self._shape.spec

    @property
    def needs_deps(self) -> bool:
        """True if it takes a `RunContext` of a type other than `None`."""
        return self._shape.needs_deps

    @property
    def _invoke(self) -> Callable[[dict[str, Any], _gadgetry.CallContext], Any]:
        return self._invoke_async if self.is_async else self._invoke_sync

    def _arguments(self, parameters: dict[str, Any], call: _gadgetry.CallContext) -> dict[str, Any]:
        loads = self._shape.loads
        arguments: dict[str, Any] = {}
        for name, value in parameters.items():
            load = loads.get(name)
            arguments[name] = value if load is None else load(value)
        if self._shape.context is not None:
            arguments[self._shape.context] = RunContext[Any](call)
        return arguments

    def _invoke_sync(self, parameters: dict[str, Any], call: _gadgetry.CallContext) -> Outcome:
        function: Callable[..., Any] = self._function
        try:
            value = function(**self._arguments(parameters, call))
            if inspect.iscoroutine(value):
                value.close()
                raise TypeError(f"{self.name} returned a coroutine: make it a coroutine function")
            return "result", to_text(value)
        except Exception as error:  # noqa: BLE001: the model reads it
            return _failed(error)

    async def _invoke_async(self, parameters: dict[str, Any], call: _gadgetry.CallContext) -> Outcome:
        function: Callable[..., Any] = self._function
        try:
            arguments = self._arguments(parameters, call)
            if _is_coroutine_function(function):
                value = await function(**arguments)
            else:
                # It wraps a coroutine function. It may return the coroutine, or run it itself, and then it blocks.
                value = await in_thread(lambda: function(**arguments))
            return "result", to_text(value)
        except Exception as error:  # noqa: BLE001: the model reads it
            return _failed(error)


def _is_coroutine_function(function: Any) -> bool:
    call = getattr(cast("type[Any]", type(function)), "__call__", None)
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def _layers(function: Any) -> Iterator[Any]:
    """Yields a function, and what it wraps."""
    while function is not None:
        yield function
        function = function.func if isinstance(function, functools.partial) else getattr(function, "__wrapped__", None)


def _described(function: Any) -> Any:
    """Returns the function that has the name, the types and the docstring of a `functools.partial`."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _failed(error: Exception) -> Outcome:
    if isinstance(error, TaskComplete):
        return "complete", str(error)
    if isinstance(error, HumanInputRequired):
        return "human", str(error)
    if isinstance(error, GadgetError):
        return "error", str(error)
    return "error", describe(error)


def _shape_of(function: Callable[..., Any], name: str, options: _Options) -> _Shape:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise SchemaError(f"the gadget {name} has no signature: {error}") from error
    described = _described(function)
    summary, descriptions = parse(inspect.getdoc(described))
    hints = hints_of(described if inspect.isroutine(described) else type(described).__call__)
    # What the program has given is not for the model.
    given: dict[str, Any] = function.keywords if isinstance(function, functools.partial) else {}
    definitions = Definitions()
    properties: dict[str, Any] = {}
    loads: dict[str, Load] = {}
    required: list[str] = []
    context: str | None = None
    needs_deps = False
    for parameter in signature.parameters.values():
        if parameter.name in given:
            continue
        if parameter.name == "self" and "self" not in hints:
            raise SchemaError(f"the gadget {name} is a method: take it from an object, as in `thing.{described.__name__}`")
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise SchemaError(f"the parameter {parameter.name} of {name} has no name for the model: take named parameters only")
        hint = hints.get(parameter.name, Any)
        if hint is RunContext or typing.get_origin(hint) is RunContext:
            if context is not None:
                raise SchemaError(f"{name} takes two contexts")
            context = parameter.name
            needs_deps = any(arg not in (None, type(None), Any) for arg in typing.get_args(hint))
            continue
        try:
            schema, load = definitions.of(hint)
        except SchemaError as error:
            raise SchemaError(f"the parameter {parameter.name} of {name}: {error}") from error
        description = descriptions.get(parameter.name)
        if description and "description" not in schema:
            schema = dict[str, Any](allOf=[schema]) if "$ref" in schema else schema
            schema["description"] = description
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        elif parameter.default is not None:
            schema = with_default(schema, parameter.default)
        properties[parameter.name] = schema
        if load is not None:
            loads[parameter.name] = load
    parameters: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        parameters["required"] = required
    if definitions.schemas:
        parameters["$defs"] = definitions.schemas
    spec: dict[str, Any] = {
        "name": name,
        "description": summary if options.description is None else options.description,
        "parameters": parameters,
        "exclusive": options.exclusive,
        "stickyResult": options.sticky,
        "onInterrupt": options.on_interrupt,
    }
    if options.timeout is not None:
        spec["timeoutMs"] = max(0, round(options.timeout * 1000))
    if options.max_concurrent is not None:
        spec["maxConcurrent"] = options.max_concurrent
    if options.examples:
        spec["examples"] = [_example(example) for example in options.examples]
    return _Shape(spec, loads, context, needs_deps)


def _example(example: Example) -> dict[str, Any]:
    fields: dict[str, Any] = {"params": to_json(example.params)}
    if example.output is not None:
        fields["output"] = example.output
    if example.comment is not None:
        fields["comment"] = example.comment
    return fields


@overload
def gadget(function: Callable[P, R], /) -> Gadget[P, R]: ...
@overload
def gadget(
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = None,
    max_concurrent: int | None = None,
    exclusive: bool = False,
    sticky: bool = False,
    permission: Permission = "allow",
    on_interrupt: Literal["fail", "rerun", "ask"] = "fail",
    examples: Sequence[Example] = (),
) -> Callable[[Callable[P, R]], Gadget[P, R]]: ...
def gadget(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Makes a gadget of a function: its name, its docstring and its type hints are what the model reads.

    A coroutine function runs in the loop of the one who asks, any other function in a thread. Parameters are checked against their
    types before the function is called; what it returns becomes the text of the result, as JSON if it is not a text. An exception
    fails the call, and the model reads it. A parameter of the type `RunContext` receives the context of the call.

    ```python
    @gadget(timeout=10)
    async def weather(city: Annotated[str, "City name, like Paris"], days: int = 1) -> str:
        \"\"\"Get the weather for a city.\"\"\"
        return f"{city}: 21 degrees for {days} days"
    ```

    On methods of a class it makes gadgets that share the state of an object: `Agent(…, gadgets=[phonebook])` takes all of them. Of a
    `functools.partial`, the model sees the parameters that are left.

    Args:
        function: The function, where the decorator has no options.
        name: The name for the model; that of the function in camel case by default.
        description: What the model reads; the docstring without its parameters by default.
        timeout: Seconds after which a call is cancelled; 0 for never.
        max_concurrent: Calls that may run at the same time.
        exclusive: True if no other gadget may run at the same time.
        sticky: True if compaction keeps its results.
        permission: `ask` if the user decides about each call for which there is no rule.
        on_interrupt: What happens to a call of a durable run that was running when the program ended.
        examples: Calls that show how to use it.
    """
    if function is not None:
        return Gadget(function)

    def decorate(function: Callable[..., Any]) -> Gadget[..., Any]:
        return Gadget(function, **options)

    return decorate


tool = gadget
"""`gadget`, by the name that most others have for it."""


AnyGadget = Gadget[..., Any] | _gadgetry.NativeGadget
"""A gadget of whatever kind."""


def gadgets_of(thing: object) -> list[Gadget[..., Any]]:
    """Returns the gadgets that are methods of an object, in the order in which its class has them."""
    found: dict[str, Gadget[..., Any]] = {}
    for cls in reversed(type(thing).__mro__):
        for name, member in vars(cls).items():
            if isinstance(member, Gadget):
                found[name] = getattr(thing, name)
            elif (inner := _inner(member)) is not None:
                found[name] = inner if isinstance(member, staticmethod) else inner.__get__(type(thing))
            else:
                found.pop(name, None)
    return list(found.values())


def _inner(member: object) -> Gadget[..., Any] | None:
    """Returns the gadget of `@staticmethod` or `@classmethod` above `@gadget`."""
    inner = getattr(member, "__func__", None)
    return cast("Gadget[..., Any]", inner) if isinstance(inner, Gadget) else None


def collect(things: Iterable[object]) -> list[AnyGadget]:
    """Makes gadgets of everything that an agent takes as gadgets."""
    collected: list[AnyGadget] = []
    for thing in things:
        if isinstance(thing, _gadgetry.NativeGadget):
            collected.append(thing)
        elif isinstance(thing, Gadget):
            collected.append(cast("Gadget[..., Any]", thing))
        elif isinstance(thing, types.MethodType) and (inner := _inner(thing)) is not None:
            collected.append(inner.__get__(thing.__self__))
        elif inspect.isroutine(thing) or isinstance(thing, functools.partial):
            collected.append(Gadget(cast("Callable[..., Any]", thing)))
        elif methods := gadgets_of(thing):
            collected.extend(methods)
        elif callable(thing) and not isinstance(thing, type):
            collected.append(Gadget(thing, name=gadget_name(type(thing).__name__)))
        else:
            raise TypeError(f"{thing!r} is not a gadget: take a function, or an object with methods that are gadgets")
    return collected
