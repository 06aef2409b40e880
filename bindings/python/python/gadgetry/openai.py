"""OpenAI's SDK on any text model: its own methods, with tools, without a second server."""

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
    """Returns a copy of an `OpenAI` or `AsyncOpenAI` client whose tools work on a model that writes text.

    `chat.completions.create(tools=…, stream=True)`, `responses.create` and what they are used by stay as they are: the gateway writes the tools into
    the prompt, and makes tool calls of what the model writes, in this process.

    ```python
    client = wrap(OpenAI(base_url="http://localhost:8080/v1", api_key="none"))
    ```

    Args:
        client: The client. Its `base_url`, its credentials and its `default_headers` are those of the server of the model; its read timeout limits
            the waits for that. Its `http_client` is not used: requests trust the machine's certificates, and take proxies from the environment
            if the client does.
        upstream: The base URL of the server, if it is another one.
        api: The API of the server.
        api_key: The key of the server. By default, what the client sends, unless `upstream` is on another server, which gets no headers of the
            client either; an empty text for none.
        proxy: The URL of a proxy, in place of those of the environment.
    """
    return wrap_client(client, prefix="/v1", key_header="authorization", upstream=upstream, api=api, api_key=api_key, proxy=proxy)
