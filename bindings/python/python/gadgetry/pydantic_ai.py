"""Pydantic AI on any text model: its own model of OpenAI, with tools, without a second server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ._transport import wrap_client

if TYPE_CHECKING:
    from pydantic_ai.models.openai import OpenAIChatModel

__all__ = ["wrap"]


def wrap(
    model: OpenAIChatModel,
    *,
    upstream: str | None = None,
    api: Literal["chat", "completions", "responses", "messages"] = "chat",
    api_key: str | None = None,
    proxy: str | None = None,
) -> OpenAIChatModel:
    """Returns a `Model` like this one whose tools work on a model that writes text.

    Tools, typed outputs and streams of the `Agent` stay as they are; see `gadgetry.openai.wrap`, whose arguments are the same.

    ```python
    server = OpenAIProvider(base_url="http://localhost:8080/v1", api_key="none")
    agent = Agent(wrap(OpenAIChatModel("llama", provider=server)), tools=[weather])
    ```
    """
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    client = wrap_client(model.client, prefix="/v1", key_header="authorization", upstream=upstream, api=api, api_key=api_key, proxy=proxy)
    provider = OpenAIProvider(openai_client=client)
    return OpenAIChatModel(model.model_name, provider=provider, profile=model.profile, settings=model.settings)
