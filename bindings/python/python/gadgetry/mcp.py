"""Servers of the Model Context Protocol: their tools as gadgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from . import _gadgetry
from ._bridge import wait

__all__ = ["McpServers"]


class McpServers:
    """Connections to MCP servers, over stdio or HTTP. Every tool needs approval, unless a rule allows it.

    ```python
    async with McpServers({"files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."]}}) as servers:
        agent = Agent("haiku", gadgets=servers.gadgets(), approvals=Approvals(["allow read_text_file@files"]))
        await agent.ask("What is in the folder?")
    ```

    The keys of a server are `command`, `args`, `env`, `cwd`; or `url`, `headers`; and `timeout` and `startup-timeout`, such as `30s`, `protocol`,
    and `enabled`. All servers start at the same time, and one that cannot be used is among the `problems`.
    """

    def __init__(self, servers: Mapping[str, Mapping[str, Any]]) -> None:
        self._configs = {name: dict(config) for name, config in servers.items()}
        self._native: _gadgetry.McpServers | None = None

    async def __aenter__(self) -> McpServers:
        self._native = await wait(lambda waiter: _gadgetry.McpServers.connect(waiter, self._configs))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._native is not None:
            await wait(self._native.close)
            self._native = None

    def gadgets(self, reserved: Sequence[str] = ()) -> list[_gadgetry.NativeGadget]:
        """Returns the tools that work. A tool whose name is among the reserved ones is called `server__tool`."""
        return self._offer(reserved)[0]

    @property
    def problems(self) -> list[str]:
        """What is wrong with servers and tools that cannot be used."""
        return self._offer(())[1]

    def _offer(self, reserved: Sequence[str]) -> tuple[list[_gadgetry.NativeGadget], list[str]]:
        if self._native is None:
            raise RuntimeError("the servers are not connected: use `async with`")
        return self._native.gadgets(list(reserved))
