"""Tokens of model calls, for events and results: a program that reads no events does not import their classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._names import snake


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of model calls."""

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    reasoning_tokens: int = 0
    cached_input_tokens: int = 0
    cache_creation_tokens: int = 0
    cache_creation_1h_tokens: int = 0
    reasoning_outside_output: bool = False
    estimated: bool = False
    """True if the provider has not reported them."""
    cost: float | None = None
    """US dollars, if the provider has reported them."""

    @staticmethod
    def of(fields: dict[str, Any]) -> Usage:
        """Reads the JSON of token counts."""
        return Usage(**{_USAGE.get(name) or snake(name): value for name, value in fields.items()})


_USAGE = {"cacheCreation1hTokens": "cache_creation_1h_tokens"}
