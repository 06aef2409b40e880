"""The gateway in this process, as a transport of `httpx` and `httpx2`."""

from __future__ import annotations

import asyncio
import concurrent.futures
import importlib
import time
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlsplit

from . import _gadgetry
from ._bridge import wait

T = TypeVar("T")
ClientT = TypeVar("ClientT")

BASE = "http://localhost"
"""The address that wrapped clients name. Nothing is sent there; a gateway without keys answers to this machine only."""

_CREDENTIALS = ("authorization", "x-api-key")

_PULSE = 0.05
"""Seconds after which a thread that waits looks for signals, such as Ctrl-C."""


def wrap_client(client: ClientT, *, prefix: str, key_header: str, upstream: str | None, api: str, api_key: str | None, proxy: str | None) -> ClientT:
    """Returns a copy of an official client whose requests are answered by a gateway in this process."""
    own: Any = client
    url = upstream if upstream is not None else str(own.base_url)
    # The credentials and headers of a client are for its own server.
    is_own = _origin(url) == _origin(str(own.base_url))
    http = own._client
    connect = _connector(url, api, _custom_headers(own) if is_own else [], proxy, reads_environment=http.trust_env)
    gateways = _Gateways(connect, api_key, key_header if is_own and api_key is None else None)
    library = _library(http)
    if isinstance(http, library.AsyncClient):
        made = library.AsyncClient(transport=_asynchronous(library, gateways), timeout=http.timeout)
    else:
        made = library.Client(transport=_synchronous(library, gateways), timeout=http.timeout)
    return own.copy(base_url=BASE + prefix, http_client=made)


Headers = list[tuple[str, str]]
_Connect = Callable[[str | None, Headers], _gadgetry.InProcess]


def _connector(url: str, api: str, common: Headers, proxy: str | None, *, reads_environment: bool) -> _Connect:
    """Returns what makes a gateway to a server, with a key and further headers."""
    return lambda key, headers: _gadgetry.InProcess(url, api, key or None, [*common, *headers], proxy, reads_environment)


class _Gateways:
    """The gateway to a server: one at a time, for the credentials that the client sends."""

    def __init__(self, connect: _Connect, key: str | None, key_header: str | None) -> None:
        self._connect = connect
        self._key_header = key_header
        # Made at once, because it checks the other arguments.
        self._last: tuple[tuple[str | None, Headers], _gadgetry.InProcess] = ((key, []), connect(key, []))

    def of(self, request: Any) -> _gadgetry.InProcess:
        """Returns the gateway that has the credentials of a request."""
        if self._key_header is None:
            return self._last[1]
        sent = _credentials(request, self._key_header)
        last, gateway = self._last
        if sent != last:
            gateway = self._connect(*sent)
            self._last = (sent, gateway)
        return gateway


def _credentials(request: Any, key_header: str) -> tuple[str | None, Headers]:
    """The key of a request, which its server may want in another header, and what else authenticates it."""
    key: str | None = None
    others: Headers = []
    for name in _CREDENTIALS:
        value = request.headers.get(name)
        if value is None:
            continue
        scheme, _, token = value.rpartition(" ")
        if name == key_header and scheme in ("", "Bearer"):
            key = token
        else:
            others.append((name, value))
    return key, others


class _Threaded:
    """A `Waiter` for a thread without a loop: callbacks run at once, in the thread that has the result."""

    def __init__(self) -> None:
        self.future: concurrent.futures.Future[Any] = concurrent.futures.Future()

    @property
    def loop(self) -> _Threaded:
        return self

    def call_soon_threadsafe(self, function: Callable[..., object], *arguments: Any) -> None:
        function(*arguments)


def _wait_blocking(start: Callable[[Any], _gadgetry.Work], seconds: float) -> Any:
    """Waits in this thread. Raises `_LateError` after this time, and the work is dropped."""
    waiter = _Threaded()
    end = time.monotonic() + seconds
    work = start(waiter)
    try:
        while not concurrent.futures.wait([waiter.future], min(_PULSE, max(0, end - time.monotonic()))).done:
            if time.monotonic() >= end:
                raise _LateError
        return waiter.future.result()
    finally:
        work.cancel()


async def _wait_until(start: Callable[[Any], _gadgetry.Work], seconds: float | None) -> Any:
    """Waits in a loop. Raises `_LateError` after this time, and the work is dropped."""
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await wait(start)
    except TimeoutError:
        if limit.expired():
            raise _LateError from None
        raise


class _LateError(Exception):
    """The server has sent nothing for longer than the client allows."""


def _limit(request: Any) -> float | None:
    """The seconds for which the client waits for anything."""
    limits: dict[str, float | None] = request.extensions.get("timeout") or {}
    return limits.get("read")


def _late(library: Any, request: Any) -> Exception:
    # The SDKs make their own error of it.
    return library.ReadTimeout("the server has sent nothing for too long", request=request)


def _library(http: Any) -> Any:
    """The library that a client is of: `httpx` or `httpx2`."""
    names = (cls.__module__.split(".")[0] for cls in type(http).__mro__)
    return importlib.import_module(next(name for name in names if name in ("httpx", "httpx2")))


def _custom_headers(client: Any) -> Headers:
    """The headers that the program has given the client; credentials among them are in each request."""
    headers: dict[str, Any] = getattr(client, "_custom_headers", {})
    # Other values leave a header out.
    return [(name, value) for name, value in headers.items() if isinstance(value, str) and name.lower() not in _CREDENTIALS]


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()


def _parts(request: Any) -> tuple[str, str, Headers]:
    target = urlsplit(str(request.url))
    query = f"?{target.query}" if target.query else ""
    # The gateway has the credentials for the upstream; it asks for none itself.
    left_out = (*_CREDENTIALS, "content-length", "transfer-encoding")
    headers = [(name, value) for name, value in request.headers.items() if name.lower() not in left_out]
    return request.method, target.path + query, headers


def _synchronous(library: Any, gateways: _Gateways) -> Any:
    def waited(request: Any, start: Callable[[Any], _gadgetry.Work], block: Callable[[], T]) -> T:
        limit = _limit(request)
        if limit is None:
            return block()
        try:
            return _wait_blocking(start, limit)
        except _LateError:
            raise _late(library, request) from None

    class Stream(library.SyncByteStream):
        def __init__(self, request: Any, reply: _gadgetry.Reply) -> None:
            self._request = request
            self._reply = reply

        def __iter__(self) -> Any:
            reply = self._reply
            while (piece := waited(self._request, reply.next, reply.next_blocking)) is not None:
                yield piece

        def close(self) -> None:
            self._reply.close()

    class Transport(library.BaseTransport):
        def handle_request(self, request: Any) -> Any:
            gateway = gateways.of(request)
            sent = (*_parts(request), request.read())
            reply = waited(request, lambda waiter: gateway.send(waiter, *sent), lambda: gateway.send_blocking(*sent))
            return library.Response(reply.status, headers=reply.headers, stream=Stream(request, reply))

    return Transport()


def _asynchronous(library: Any, gateways: _Gateways) -> Any:
    async def waited(request: Any, start: Callable[[Any], _gadgetry.Work]) -> Any:
        try:
            return await _wait_until(start, _limit(request))
        except _LateError:
            raise _late(library, request) from None

    class Stream(library.AsyncByteStream):
        def __init__(self, request: Any, reply: _gadgetry.Reply) -> None:
            self._request = request
            self._reply = reply

        async def __aiter__(self) -> Any:
            while (piece := await waited(self._request, self._reply.next)) is not None:
                yield piece

        async def aclose(self) -> None:
            self._reply.close()

    class Transport(library.AsyncBaseTransport):
        async def handle_async_request(self, request: Any) -> Any:
            gateway = gateways.of(request)
            sent = (*_parts(request), await request.aread())
            reply = await waited(request, lambda waiter: gateway.send(waiter, *sent))
            return library.Response(reply.status, headers=reply.headers, stream=Stream(request, reply))

    return Transport()
