"""Anthropic's SDK on any text model: its own methods, with tools, without a second server."""

from __future__ import annotations

from typing import Literal, TypeVar

from ._transport import wrap_client

__all__ = ["wrap"]

ClientT = TypeVar("ClientT")


def wrap(
    client: ClientT,
    *,
    upstream: str | None = None,
    api: Literal["chat", "completions", "responses", "messages"] = "chat",
    api_key: str | None = None,
    proxy: str | None = None,
) -> ClientT:
    """Returns a copy of an `Anthropic` or `AsyncAnthropic` client whose tools work on a model that writes text.

    `messages.create(tools=…)` and `messages.stream` stay as they are; see `gadgetry.openai.wrap`, whose arguments are the same.

    ```python
    client = wrap(Anthropic(base_url="http://localhost:8080/v1", api_key="none"))
    ```
    """
    return wrap_client(client, prefix="", key_header="x-api-key", upstream=upstream, api=api, api_key=api_key, proxy=proxy)
