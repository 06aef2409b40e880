"""The exceptions of the package. Each says whose fault it is, and whether the same attempt may succeed later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from ._names import snake

if TYPE_CHECKING:
    from .agent import Result

__all__ = [
    "ApprovalsMissing",
    "BudgetExceeded",
    "ConfigError",
    "Fault",
    "FinishReason",
    "GadgetError",
    "GadgetryError",
    "HumanInputRequired",
    "HumanUnavailable",
    "JournalError",
    "ModelCallError",
    "ModelError",
    "ModelErrorKind",
    "NoAnswer",
    "NotDelivered",
    "RunCancelled",
    "RunError",
    "SchemaError",
    "TaskComplete",
    "TooManyIterations",
]

Fault = Literal["caller", "model", "program", "provider", "environment", "unknown"]
"""Who has to change something."""

FinishReason = Literal[
    "completed",
    "task_completed",
    "max_iterations",
    "truncated",
    "withheld",
    "model_error",
    "cancelled",
    "budget_exceeded",
    "gadget_error",
    "stopped",
]
"""The reason for which a run ended."""

ModelErrorKind = Literal[
    "authentication",
    "rate_limit",
    "overloaded",
    "context_overflow",
    "bad_request",
    "transport",
    "truncated",
    "content_filter",
    "other",
]
"""The kind of a failed model call, which decides about a retry."""


class GadgetryError(Exception):
    """The base class of all errors that the package raises."""

    def __init__(self, message: str = "", *, fault: Fault = "program", is_retryable: bool = False) -> None:
        super().__init__(message)
        self.fault: Fault = fault
        """Who has to change something."""
        self.is_retryable: bool = is_retryable
        """True if the same attempt may succeed later."""


class ConfigError(GadgetryError):
    """An agent, a model or an option is not valid. Found before any request is sent."""


class ApprovalsMissing(ConfigError):
    """A gadget needs approval, and the agent has no approvals. Give it some, or `approvals="off"`."""


class SchemaError(ConfigError):
    """The parameters of a gadget, or the type of an answer, have no usable JSON Schema."""


class NotDelivered(GadgetryError):
    """A message or an answer did not reach its run: it is over, or the approval is closed."""


class HumanUnavailable(GadgetryError):
    """A gadget asked the user, and there is none, or no answer."""


class JournalError(GadgetryError):
    """A durable run cannot be begun or resumed."""


@dataclass(frozen=True, slots=True)
class ModelError:
    """Why a model call failed, as the provider reports it."""

    kind: ModelErrorKind
    """The kind, which decides about a retry."""
    message: str
    """The words of the provider, without keys."""
    status: int | None = None
    """The HTTP status."""
    code: str | None = None
    """The provider's code."""
    retry_after: float | None = None
    """Seconds to wait before the next attempt."""
    request_id: str | None = None
    """The provider's id of the request."""


class RunError(GadgetryError):
    """A run without an answer. It has everything that was said until then."""

    def __init__(
        self,
        message: str,
        *,
        result: Result[Any],
        model_error: ModelError | None = None,
        fault: Fault = "program",
        is_retryable: bool = False,
    ) -> None:
        super().__init__(message, fault=fault, is_retryable=is_retryable)
        self.result: Result[Any] = result
        """Costs, calls, and the conversation to continue from."""
        self.model_error: ModelError | None = model_error
        """The error of the model call that ended the run."""

    @property
    def reason(self) -> FinishReason:
        """The reason for which the run ended."""
        return self.result.reason


class ModelCallError(RunError):
    """A model call failed, and was not retried any more; `model_error` says why."""


class BudgetExceeded(RunError):
    """The budget is spent."""


class TooManyIterations(RunError):
    """The model was not done after `max_iterations` replies."""


class RunCancelled(RunError):
    """The run was cancelled by `Run.cancel`."""


class NoAnswer(RunError):
    """The run ended without the answer of the demanded type."""


class GadgetError(GadgetryError):
    """Raised by a gadget: the call fails, and the model reads exactly this text.

    Any other exception fails the call as well; its text then begins with the name of its class.
    """


class TaskComplete(GadgetryError):
    """Raised by a gadget: the call succeeds with this text, which is the answer of the run, and the run ends."""


class HumanInputRequired(GadgetryError):
    """Raised by a gadget: the user is asked this question, and the answer is the result of the call."""


_BY_REASON: dict[str, type[RunError]] = {
    "model_error": ModelCallError,
    "withheld": ModelCallError,
    "budget_exceeded": BudgetExceeded,
    "max_iterations": TooManyIterations,
    "cancelled": RunCancelled,
}


def _model_error(fields: dict[str, Any]) -> ModelError:
    wait = fields.get("retryAfterMs")
    return ModelError(
        kind=cast(ModelErrorKind, snake(fields.get("kind", "other"))),
        message=fields.get("error", ""),
        status=fields.get("status"),
        code=fields.get("code"),
        retry_after=None if wait is None else wait / 1000,
        request_id=fields.get("requestId"),
    )


def _make(name: str, message: str, **fields: Any) -> GadgetryError:  # pyright: ignore[reportUnusedFunction]
    """Makes an exception for the native part."""
    if name != "RunError":
        return globals()[name](message, **fields)
    from .agent import Result

    result = Result.of(fields.pop("result"))
    model_error = fields.pop("model_error", None)
    if model_error is not None:
        model_error = _model_error(model_error)
    made = _BY_REASON.get(result.reason, RunError)
    return made(message, result=result, model_error=model_error, **fields)
