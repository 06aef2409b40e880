"""The parser of replies, and prompts and calls as text, for programs that have a loop of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from ._gadgetry import (
    ArgumentDelta,
    Call,
    CallStart,
    Parser,
    ParserDiagnostic,
    Tag,
    TagDelta,
    TagEnd,
    TagStart,
    Text,
    write_call,
)
from ._gadgetry import instructions as _instructions
from ._schema import to_json
from .gadgets import collect

__all__ = [
    "ArgumentDelta",
    "Call",
    "CallStart",
    "Parser",
    "ParserDiagnostic",
    "ParserEvent",
    "Tag",
    "TagDelta",
    "TagEnd",
    "TagStart",
    "Text",
    "instructions",
    "write_call",
]

ParserEvent = Text | CallStart | ArgumentDelta | Call | TagStart | TagDelta | TagEnd | Tag | ParserDiagnostic
"""One thing in a reply: `match` on the class."""


def instructions(
    gadgets: Iterable[object],
    *,
    form: Literal["block", "json"] = "block",
    markers: tuple[str, str, str] | None = None,
    anchoring: Literal["anywhere", "line_start"] = "anywhere",
) -> str:
    """Returns the text for a system message that describes gadgets, and how to call them.

    A gadget is what an agent takes as one, or a specification: `{"name": "Clock", "description": "The time.", "parameters": {"type": "object"}}`.
    """
    specs: list[dict[str, Any]] = []
    for gadget in gadgets:
        if isinstance(gadget, Mapping):
            specs.append(to_json(gadget))
        else:
            specs += [one.spec for one in collect([gadget])]
    return _instructions(specs, form=form, markers=markers, anchoring=anchoring)
