"""Conversations over several runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from . import _gadgetry

__all__ = ["Conversation"]


class Conversation:
    """What was said in several runs. A run that is given one continues it, and adds to it when it ends, however it ends.

    ```python
    talk = Conversation()
    await agent.ask("What is 2 + 2?", conversation=talk)
    await agent.ask("Are you sure?", conversation=talk)
    stored = talk.to_json()
    ```
    """

    __slots__ = ("_native",)

    def __init__(self) -> None:
        self._native = _gadgetry.Conversation()

    @classmethod
    def _of(cls, native: _gadgetry.Conversation) -> Conversation:
        made = cls.__new__(cls)
        made._native = native
        return made

    @classmethod
    def from_json(cls, text: str) -> Conversation:
        """Reads what `to_json` has written. Raises `ValueError` for anything else."""
        return cls._of(_gadgetry.Conversation.from_json(text))

    @classmethod
    def from_messages(cls, messages: Iterable[Mapping[str, Any]]) -> Conversation:
        """Makes one of messages that were stored elsewhere: `{"role": "user", "content": "…"}`, and so on."""
        read: list[dict[str, Any]] = []
        for message in messages:
            content = message["content"]
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
            read.append({"role": message["role"], "content": parts})
        return cls._of(_gadgetry.Conversation.from_messages(read))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """All messages, the oldest first, as JSON."""
        return self._native.messages()

    def to_json(self) -> str:
        """Writes it as JSON, to store it."""
        return self._native.to_json()

    def copy(self) -> Conversation:
        """Returns one that continues from here by itself."""
        return Conversation._of(self._native)

    def __len__(self) -> int:
        return len(self._native)

    def __bool__(self) -> bool:
        return len(self._native) > 0

    def __repr__(self) -> str:
        return f"<Conversation of {len(self)} messages>"
