"""The parser of replies, and prompts and calls as text, for programs that have a loop of their own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

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
    """Returns the text for a system message that describes gadgets, and how to call them."""
    specs = [gadget.spec for gadget in collect(gadgets)]
    return _instructions(specs, form=form, markers=markers, anchoring=anchoring)
