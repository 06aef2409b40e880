"""The gateway in this process, as a transport of `httpx` and `httpx2`."""

from __future__ import annotations

import importlib
from typing import Any, TypeVar
from urllib.parse import urlsplit

from . import _gadgetry
from ._bridge import wait

ClientT = TypeVar("ClientT")

BASE = "http://localhost"
"""The address that wrapped clients name. Nothing is sent there; a gateway without keys answers to this machine only."""


def wrap_client(client: ClientT, *, prefix: str, upstream: str | None, api: str, api_key: str | None) -> ClientT:
    """Returns a copy of an official client whose requests are answered by a gateway in this process."""
    own: Any = client
    url = upstream if upstream is not None else str(own.base_url)
    # The key of a client is for its own server.
    key = _key(own) if api_key is None and _origin(url) == _origin(str(own.base_url)) else api_key
    gateway = _gadgetry.InProcess(url, key or None, api)
    http = own._client
    library = _library(http)
    if isinstance(http, library.AsyncClient):
        made = library.AsyncClient(transport=_asynchronous(library, gateway), timeout=http.timeout)
    else:
        made = library.Client(transport=_synchronous(library, gateway), timeout=http.timeout)
    return own.copy(base_url=BASE + prefix, http_client=made)


def _library(http: Any) -> Any:
    """The library that a client is of: `httpx` or `httpx2`."""
    names = (cls.__module__.split(".")[0] for cls in type(http).__mro__)
    return importlib.import_module(next(name for name in names if name in ("httpx", "httpx2")))


def _key(client: Any) -> str | None:
    key = getattr(client, "api_key", None)
    return key if isinstance(key, str) else None


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()


def _parts(request: Any) -> tuple[str, str, list[tuple[str, str]]]:
    target = urlsplit(str(request.url))
    query = f"?{target.query}" if target.query else ""
    # The key is for the upstream, which the gateway has; it asks for none itself.
    secret = ("authorization", "x-api-key", "content-length", "transfer-encoding")
    headers = [(name, value) for name, value in request.headers.items() if name.lower() not in secret]
    return request.method, target.path + query, headers


def _synchronous(library: Any, gateway: _gadgetry.InProcess) -> Any:
    class Stream(library.SyncByteStream):
        def __init__(self, reply: _gadgetry.Reply) -> None:
            self._reply = reply

        def __iter__(self) -> Any:
            while (piece := self._reply.next_blocking()) is not None:
                yield piece

        def close(self) -> None:
            self._reply.close()

    class Transport(library.BaseTransport):
        def handle_request(self, request: Any) -> Any:
            reply = gateway.send_blocking(*_parts(request), request.read())
            return library.Response(reply.status, headers=reply.headers, stream=Stream(reply))

    return Transport()


def _asynchronous(library: Any, gateway: _gadgetry.InProcess) -> Any:
    class Stream(library.AsyncByteStream):
        def __init__(self, reply: _gadgetry.Reply) -> None:
            self._reply = reply

        async def __aiter__(self) -> Any:
            while (piece := await wait(self._reply.next)) is not None:
                yield piece

        async def aclose(self) -> None:
            self._reply.close()

    class Transport(library.AsyncBaseTransport):
        async def handle_async_request(self, request: Any) -> Any:
            method, target, headers = _parts(request)
            body = await request.aread()
            reply = await wait(lambda waiter: gateway.send(waiter, method, target, headers, body))
            return library.Response(reply.status, headers=reply.headers, stream=Stream(reply))

    return Transport()
