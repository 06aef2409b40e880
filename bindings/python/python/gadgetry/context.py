"""The context of a call, for gadgets that take one."""

from __future__ import annotations

from typing import Any, Generic, TypeVar, cast

from . import _gadgetry
from ._bridge import wait

__all__ = ["RunContext"]

DepsT = TypeVar("DepsT")
T = TypeVar("T")


class RunContext(Generic[DepsT]):
    """The call that a gadget executes, and the dependencies of its run.

    A gadget that has a parameter of this type receives it; the model does not see the parameter.

    ```python
    @gadget
    async def orders(ctx: RunContext[Database], limit: int = 10) -> list[str]:
        \"\"\"Lists the newest orders of the user.\"\"\"
        return await ctx.deps.orders(limit)
    ```
    """

    __slots__ = ("_call",)

    def __init__(self, call: _gadgetry.CallContext) -> None:
        self._call = call

    @staticmethod
    def for_test(deps: T, *, gadget_name: str = "Test") -> RunContext[T]:
        """Makes a context without a run, to call a gadget in a test."""
        return RunContext(_gadgetry.CallContext.for_test(gadget_name, deps))

    @property
    def deps(self) -> DepsT:
        """What the caller of the run has given as `deps`."""
        return cast(DepsT, self._call.deps)

    @property
    def gadget_name(self) -> str:
        """The name of the gadget."""
        return self._call.gadget_name

    @property
    def invocation_id(self) -> str:
        """The id of the call, as the model wrote it."""
        return self._call.invocation_id

    @property
    def iteration(self) -> int:
        """The number of the reply that has the call, from 1."""
        return self._call.iteration

    @property
    def depth(self) -> int:
        """0 in a run, 1 in its subagents."""
        return self._call.depth

    @property
    def run_id(self) -> str | None:
        """The id of the run."""
        return self._call.run_id

    @property
    def metadata(self) -> dict[str, Any]:
        """What the caller of the run has given as `metadata`."""
        return self._call.metadata

    @property
    def idempotency_key(self) -> str:
        """A text that is the same each time that this call is executed, and of no other call."""
        return self._call.idempotency_key

    @property
    def dependencies(self) -> dict[str, str]:
        """The results of the calls on which this one depends, by their ids."""
        return self._call.dependencies

    @property
    def is_cancelled(self) -> bool:
        """True once the call is cancelled: a function in a thread looks at this between its steps. A coroutine is cancelled anyway."""
        return self._call.is_cancelled

    @property
    def budget_left(self) -> float | None:
        """The US dollars that are left of the budget; `None` without one."""
        return self._call.budget_left

    @property
    def reported_cost(self) -> float:
        """The US dollars that the call has reported."""
        return self._call.reported_cost

    def report_cost(self, dollars: float) -> None:
        """Adds US dollars to the cost of the call. They count however it ends."""
        self._call.report_cost(dollars)

    def progress(self, message: str) -> None:
        """Reports progress, as an event `GadgetProgress` of the run."""
        self._call.progress(message)

    async def ask_human(self, question: str) -> str:
        """Asks the user, by the agent's `on_human_input`, and waits for the answer.

        Raises `HumanUnavailable` if there is no user, or no answer.
        """
        return await wait(lambda waiter: self._call.ask_human(waiter, question))
