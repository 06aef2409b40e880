"""Models for tests: no key, no network."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from . import _gadgetry
from ._schema import to_json
from .errors import ModelErrorKind

__all__ = ["Call", "MockModel", "Reply", "ScriptedModel", "call", "reply"]


@dataclass(frozen=True, slots=True)
class Call:
    """A call that a mock model writes. Made by `call`."""

    gadget_name: str
    arguments: Mapping[str, Any]
    id: str | None = None
    after: tuple[str, ...] = ()


def call(gadget_name: str, /, id: str | None = None, after: Sequence[str] = (), **arguments: Any) -> Call:
    """Makes a call for a reply: `call("Weather", city="Paris")`."""
    return Call(gadget_name, arguments, id, tuple(after))


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply of a mock model. Made by `reply`."""

    fields: dict[str, Any]


def reply(
    *parts: str | Call,
    reasoning: str | None = None,
    error: str | None = None,
    error_kind: ModelErrorKind | None = None,
    tokens: tuple[int, int] | None = None,
    chunk: int | None = None,
    delay: float | None = None,
    chunk_delay: float | None = None,
    is_cut_off: bool = False,
) -> Reply:
    """Makes a reply of texts and calls, in their order.

    Args:
        parts: Texts and calls.
        reasoning: The reasoning before them.
        error: The model fails with this text, after the parts.
        error_kind: The kind of the error.
        tokens: The tokens of input and of output that are reported.
        chunk: The characters of each piece in which it streams.
        delay: Seconds before anything is sent.
        chunk_delay: Seconds between two pieces.
        is_cut_off: True if the reply ends at the token limit.
    """
    written: list[dict[str, Any]] = []
    if reasoning is not None:
        written.append({"reasoning": reasoning})
    for part in parts:
        if isinstance(part, str):
            written.append({"text": part})
        else:
            written.append(
                {"call": part.gadget_name, "arguments": to_json(part.arguments), "id": part.id, "after": list(part.after)}
            )
    words = (error_kind or "other").split("_")
    return Reply(
        {
            "parts": written,
            "error": error,
            "error_kind": words[0] + "".join(word.title() for word in words[1:]),
            "tokens": tokens,
            "chunk": chunk,
            "delay": delay,
            "chunk_delay": chunk_delay,
            "is_cut_off": is_cut_off,
        }
    )


class ScriptedModel:
    """A model that gives the replies of a script, one a call, in order.

    ```python
    model = ScriptedModel(reply(call("Add", a=2, b=2)), "2 + 2 is 4.")
    ```
    """

    def __init__(self, *replies: str | Call | Reply) -> None:
        lines = [json.dumps(_line(item)) for item in replies]
        self._native = _gadgetry.Model.script("\n".join(lines))

    @classmethod
    def from_script(cls, script: str) -> ScriptedModel:
        """Reads a script: a reply a line, as JSON, such as `{"text": "Hello."}`."""
        made = cls.__new__(cls)
        made._native = _gadgetry.Model.script(script)
        return made

    @classmethod
    def from_path(cls, path: str | os.PathLike[str]) -> ScriptedModel:
        """Reads a script from a file."""
        made = cls.__new__(cls)
        made._native = _gadgetry.Model.script_file(os.fspath(path))
        return made

    def _model(self) -> _gadgetry.Model:
        return self._native


def _line(item: str | Call | Reply) -> dict[str, Any]:
    fields = (item if isinstance(item, Reply) else reply(item)).fields
    text = ""
    for part in fields["parts"]:
        if "call" in part:
            if text and not text.endswith("\n"):
                text += "\n"
            text += _gadgetry.write_call(
                part["call"], part["arguments"], id=part["id"], dependencies=part["after"]
            )
        else:
            text += part.get("text", "")
    line: dict[str, Any] = {}
    if fields["chunk"] or fields["delay"]:
        size = fields["chunk"] or max(len(text), 1)
        chunks: list[Any] = [{"delayMs": round((fields["delay"] or 0) * 1000)}]
        for start in range(0, len(text), size):
            if start and fields["chunk_delay"]:
                chunks.append({"delayMs": round(fields["chunk_delay"] * 1000)})
            chunks.append(text[start : start + size])
        line["chunks"] = chunks
    else:
        line["text"] = text
    if fields["error"] is not None:
        line["finish"] = "error"
    elif fields["is_cut_off"]:
        line["finish"] = "length"
    if fields["tokens"] is not None:
        read, written = fields["tokens"]
        line["usage"] = {"inputTokens": read, "outputTokens": written, "totalTokens": read + written}
    return line


class MockModel:
    """A model that answers by rules, and records its requests. It is strict: a request for which there is no rule fails, and
    `verify` fails if a rule that should have answered did not.

    ```python
    model = MockModel()
    model.when("weather").replies(call("Weather", city="Paris"))
    model.when(has_result="gadget_1").replies("It is sunny.")
    ```
    """

    def __init__(
        self,
        *,
        name: str = "mock",
        is_strict: bool = True,
        price: tuple[float, float] | None = None,
        context_window: int | None = None,
    ) -> None:
        self._rules: list[dict[str, Any]] = []
        self._options: dict[str, Any] = {
            "name": name,
            "is_strict": is_strict,
            "price": price,
            "context_window": context_window,
        }
        self._built: _gadgetry.MockModel | None = None
        self._fault: Exception | None = None

    def when(
        self,
        contains: str | None = None,
        *,
        anywhere: str | None = None,
        has_result: str | None = None,
        iteration: int | None = None,
        predicate: Callable[[dict[str, Any]], bool] | None = None,
        times: int | None = None,
        is_optional: bool = False,
        label: str | None = None,
    ) -> Rule:
        """Begins a rule: the first one whose conditions all hold answers a request.

        Args:
            contains: The last message contains this text.
            anywhere: Some message contains this text.
            has_result: There is a result of the call with this id.
            iteration: The number of the reply in its run, from 1.
            predicate: This function returns true for the request, as JSON.
            times: How often the rule answers.
            is_optional: True if the rule need not answer.
            label: The name of the rule in reports; its place in the test by default.
        """
        if self._built is not None:
            raise RuntimeError("the model is in use: add all rules before the agent is made")
        caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        rule = {
            "contains": contains,
            "anywhere": anywhere,
            "has_result": has_result,
            "iteration": iteration,
            "predicate": None if predicate is None else self._guarded(predicate),
            "times": times,
            "is_optional": is_optional,
            "label": label or f"{os.path.basename(caller.f_code.co_filename)}:{caller.f_lineno}",
        }
        return Rule(self, self._rules, rule)

    def replies_in_order(self, *replies: str | Call | Reply) -> MockModel:
        """Adds a rule that answers every request, one after the other."""
        return self.when().replies(*replies)

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The requests until now, as JSON."""
        return self._mock().requests()

    def verify(self) -> None:
        """Raises `AssertionError`, with the requests, unless everything was as the rules expect; or what a predicate has raised."""
        complaints = self._mock().complaints()
        if self._fault is not None:
            raise self._fault
        if complaints is not None:
            raise AssertionError(complaints)

    def _guarded(self, predicate: Callable[[dict[str, Any]], bool]) -> Callable[[dict[str, Any]], bool]:
        def admits(request: dict[str, Any]) -> bool:
            try:
                return predicate(request)
            except Exception as error:  # noqa: BLE001: `verify` raises it
                self._fault = self._fault or error
                return False

        return admits

    def _mock(self) -> _gadgetry.MockModel:
        if self._built is None:
            self._built = _gadgetry.MockModel(self._rules, self._options)
        return self._built

    def _model(self) -> _gadgetry.Model:
        return self._mock().model()


class Rule:
    """A rule that has no reply yet."""

    def __init__(self, model: MockModel, rules: list[dict[str, Any]], rule: dict[str, Any]) -> None:
        self._model = model
        self._rules = rules
        self._rule = rule

    def replies(
        self, *replies: str | Call | Reply, then: Literal["refuse", "repeat", "cycle"] | None = None
    ) -> MockModel:
        """Answers with these, one after the other. After the last one the rule refuses, repeats it, or begins again; a single reply is
        repeated by default.
        """
        made = [(item if isinstance(item, Reply) else reply(item)).fields for item in replies]
        then = then or ("repeat" if len(made) == 1 else "refuse")
        self._rules.append({**self._rule, "replies": made, "then": then})
        return self._model
