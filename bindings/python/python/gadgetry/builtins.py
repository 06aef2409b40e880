"""Built-in gadgets: files, search, commands and pages, in a folder that they cannot leave."""

from __future__ import annotations

import os
from collections.abc import Sequence

from . import _gadgetry

__all__ = ["builtin_gadgets"]


def builtin_gadgets(folder: str | os.PathLike[str], names: Sequence[str] | None = None) -> list[_gadgetry.NativeGadget]:
    """Returns the gadgets in `folder`: all of them, or those of these names.

    `ReadFile`, `ListDirectory`, `Search`, `AskUser`, `TellUser`, `Finish` and `TodoWrite` run without approval; `WriteFile`, `EditFile`, `DeleteFile`,
    `RunCommand` and `HttpFetch` need it, so the agent needs `approvals`. Commands run with the rights of the user.
    """
    return _gadgetry.builtins(os.fspath(folder), None if names is None else list(names))
