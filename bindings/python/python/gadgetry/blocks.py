"""Custom blocks: tags in a reply that are taken out of its text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Block", "CustomBlock"]


@dataclass(frozen=True, slots=True)
class Block:
    """A custom block that is complete."""

    key: str
    """The key of its definition."""
    content: str
    """Everything between the opening and the closing tag."""
    attributes: dict[str, Any]
    """The attributes of the opening tag."""
    is_self_closing: bool = False
    """True if the tag closed itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomBlock:
    """A tag such as `<citation source="…">…</citation>`, which is not shown as text: its events are `CustomBlockEvent` and others.

    With `transform`, what that returns takes the place of the block in the text; `None` leaves the block as it is. It is called while
    the reply streams, so it must not wait. An exception that it raises ends the run, and reaches the caller.
    """

    key: str
    """The name of the block in events, and of the tag."""
    tag: str | None = None
    """The name of the tag, if it is another one."""
    description: str | None = None
    """What the model reads about it in the list of blocks."""
    instructions: str | None = None
    """How to write it, in place of the usual words."""
    mode: Literal["keep", "suppress", "reasoning", "map"] = "keep"
    """`keep`: it is in events and in the conversation. `suppress`: it is dropped. `reasoning`: its content is reasoning. `map`: see
    `transform`, which sets it."""
    transform: Callable[[Block], str | None] | None = None
    """Makes the text that takes its place."""

    def __post_init__(self) -> None:
        if self.transform is not None:
            object.__setattr__(self, "mode", "map")
        elif self.mode == "map":
            raise ValueError("a block of the mode `map` needs a `transform`")

    def _map(self, fields: dict[str, Any]) -> str | None:
        assert self.transform is not None
        block = Block(fields["tag"], fields["content"], fields["attrs"], fields.get("selfClosing", False))
        text = self.transform(block)
        if text is not None and not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"the transform of the block {self.key} returns a str or None, not {text!r}")
        return text
