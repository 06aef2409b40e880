"""LangChain on any text model: its own chat model of OpenAI, with tools, without a second server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ._transport import wrap_client

if TYPE_CHECKING:
    from langchain_openai.chat_models.base import BaseChatOpenAI

__all__ = ["wrap"]

ModelT = TypeVar("ModelT", bound="BaseChatOpenAI")


def wrap(
    model: ModelT,
    *,
    upstream: str | None = None,
    api: Literal["chat", "completions", "responses", "messages"] = "chat",
    api_key: str | None = None,
    proxy: str | None = None,
) -> ModelT:
    """Returns a copy of a `ChatOpenAI` whose tools work on a model that writes text.

    `bind_tools`, `with_structured_output`, `invoke`, `stream`, and the coroutines of these stay as they are; see `gadgetry.openai.wrap`, whose
    arguments are the same.

    ```python
    model = wrap(ChatOpenAI(model="llama", base_url="http://localhost:8080/v1", api_key="none"))
    answer = model.bind_tools([weather]).invoke("What is the weather in Paris?")
    ```
    """
    clients: dict[str, Any] = {}
    for root, completions in (("root_client", "client"), ("root_async_client", "async_client")):
        # A model whose key is a coroutine function has no client for threads.
        if (own := getattr(model, root)) is not None:
            wrapped = wrap_client(own, prefix="/v1", key_header="authorization", upstream=upstream, api=api, api_key=api_key, proxy=proxy)
            clients |= {root: wrapped, completions: wrapped.chat.completions}
    return model.model_copy(update=clients)
