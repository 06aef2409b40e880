"""Approvals: which calls run, and who decides about the others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Allow", "Answer", "Approval", "Approvals", "Approver", "Deny", "Pending", "Subject"]


@dataclass(frozen=True, slots=True)
class Allow:
    """This call runs; with a rule such as `allow ReadFile(docs/**)`, so do all that it allows from now on."""

    rule: str | None = None


@dataclass(frozen=True, slots=True)
class Deny:
    """This call does not run. The model reads the reason."""

    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Pending:
    """The question is left open: `Run.answer` answers it later, with the id of the approval."""


Answer = Allow | Deny | Pending | bool
"""The answer to an approval. `True` is `Allow()`, `False` is `Deny()`."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The target of a call."""

    kind: Literal["path", "folder", "command", "url"]
    """The kind of the target."""
    text: str
    """The path, the command line or the URL."""
    folder: str | None = None
    """The folder in which a command runs."""


@dataclass(frozen=True, slots=True)
class Approval:
    """A call that waits for approval, as the user is shown it."""

    id: str
    """The id that an answer names. Another call, or the same with another effect, has another one."""
    gadget_name: str
    parameters: dict[str, Any]
    subject: Subject | None = None
    """The target of the call."""
    diff: str | None = None
    """The change of a file, as a unified diff."""
    notes: tuple[str, ...] = ()
    """Further facts, a line each."""
    server: str | None = None
    """The server that defines the gadget, if it is a tool of one."""

    @staticmethod
    def of(fields: dict[str, Any]) -> Approval:
        """Reads the JSON of an approval."""
        subject = fields.get("subject")
        return Approval(
            id=fields["approval"],
            gadget_name=fields["gadgetName"],
            parameters=fields.get("parameters") or {},
            subject=None if subject is None else Subject(**subject),
            diff=fields.get("diff"),
            notes=tuple(fields.get("notes", ())),
            server=fields.get("server"),
        )


Approver = Callable[[Approval], Answer | Awaitable[Answer]]
"""Decides about a call. It may be a coroutine function; an exception that it raises ends the run, and reaches the caller."""


@dataclass(frozen=True, slots=True)
class Approvals:
    """Rules, of which the first that matches a call decides, and someone who decides about the rest.

    ```python
    Approvals(rules=["allow Read*", "deny *(.git/**)", "ask *"], approver=ask_in_chat)
    ```

    Without a rule, the permission of the gadget decides. A call that needs an answer is an event `ApprovalRequired` of the run. If
    there is no approver, it is denied; with `Approvals.in_stream` it waits for `Run.answer`.
    """

    rules: Sequence[str] = field(default_factory=tuple[str, ...])
    approver: Approver | None = None
    unattended: str | None = None
    """Why calls are denied without an approver, as the model reads it after `… needs approval, but `."""
    _is_open: bool = False

    @staticmethod
    def in_stream(rules: Sequence[str] = ()) -> Approvals:
        """Leaves every question open for `Run.answer`."""
        return Approvals(rules, _is_open=True)

    def _options(self) -> dict[str, Any]:
        mode: Literal["ask", "deny"] = "ask" if self._is_open or self.approver else "deny"
        return {"approvals": mode, "rules": list(self.rules), "unattended": self.unattended}


def encode(answer: Answer | Any) -> tuple[str, str | None]:
    """An answer for the native part."""
    match answer:
        case True:
            return "once", None
        case False:
            return "no", None
        case Allow(rule):
            return ("once", None) if rule is None else ("session", rule)
        case Deny(reason):
            return "no", reason
        case Pending():
            return "pending", None
        case _:
            raise TypeError(f"an approver returns True, False, Allow, Deny or Pending, not {answer!r}")
