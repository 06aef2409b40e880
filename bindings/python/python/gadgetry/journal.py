"""Durable runs: kept in a file, and resumed by another process."""

from __future__ import annotations

import datetime
import os
from dataclasses import dataclass
from typing import Any, Literal

from . import _gadgetry
from ._bridge import wait
from ._names import snake

__all__ = ["Journal", "RunRecord"]


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run of a journal."""

    id: str
    status: Literal["running", "waiting", "interrupted", "finished", "unknown"]
    """`waiting` for an answer, or `interrupted`; `unknown` for any other state."""
    created: datetime.datetime
    updated: datetime.datetime
    iterations: int
    """Replies of the model until now."""
    known_cost: float
    """US dollars until now."""
    answer: str | None
    """The answer, if the run has ended."""
    questions: list[dict[str, Any]]
    """The open questions, as JSON."""


class Journal:
    """A file, in SQLite, in which runs are kept: what has finished is never executed again, whenever the process ends.

    ```python
    journal = Journal("runs.db")
    await agent.ask("Order the parts.", journal=journal, run_id="order-7")
    await agent.resume("order-7", journal=journal).result()   # in another process, after this one was killed
    ```
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Opens the file, or makes it. Raises `JournalError` if it is not a journal."""
        self._native = _gadgetry.Journal(os.fspath(path))

    async def runs(self) -> list[RunRecord]:
        """Returns all runs, those that were written to last first."""
        records = await wait(self._native.runs)
        return [_record(fields) for fields in records]

    async def cancel(self, run_id: str) -> None:
        """Cancels a run, whether or not a process drives it."""
        await wait(lambda waiter: self._native.cancel(waiter, run_id))


def _record(fields: dict[str, Any]) -> RunRecord:
    def time(name: str) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(fields[name], datetime.UTC)

    named = {snake(name): value for name, value in fields.items()}
    rest: dict[str, Any] = {**named, "created": time("created"), "updated": time("updated")}
    return RunRecord(**rest)
