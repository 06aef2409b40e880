"""Tool calling for any text model: functions that a model calls by writing text, run while it still writes.

```python
from typing import Annotated
from gadgetry import Agent, gadget

@gadget
async def weather(city: Annotated[str, "City name, like Paris"]) -> str:
    \"\"\"Get the weather for a city.\"\"\"
    return f"{city}: 21 degrees"

agent = Agent("ollama:llama3.2", gadgets=[weather])
print(agent.ask_sync("What is the weather in Paris?").text)
```

| module | what it has |
|---|---|
| `gadgetry.agent` | agents, runs, results |
| `gadgetry.events` | the events of a run |
| `gadgetry.parser` | the parser alone, prompts, calls as text |
| `gadgetry.testing` | models for tests |
| `gadgetry.errors` | the exceptions |
"""

from typing import TYPE_CHECKING, Any

from ._usage import Usage
from .agent import Agent, AgentOptions, CallSummary, Result, Run, RunOptions
from .approvals import Allow, Answer, Approval, Approvals, Deny, Pending
from .blocks import Block, CustomBlock
from .builtins import builtin_gadgets
from .context import RunContext
from .conversation import Conversation
from .errors import (
    ApprovalsMissing,
    BudgetExceeded,
    ConfigError,
    GadgetError,
    GadgetryError,
    HumanInputRequired,
    HumanUnavailable,
    JournalError,
    ModelCallError,
    ModelError,
    NoAnswer,
    NotDelivered,
    RunCancelled,
    RunError,
    SchemaError,
    TaskComplete,
    TooManyIterations,
)
from .gadgets import Example, Gadget, gadget, gadgets_of, tool
from .journal import Journal, RunRecord
from .mcp import McpServers
from .models import Model
from .parser import Parser
from .testing import MockModel, ScriptedModel

if TYPE_CHECKING:
    from .events import (
        ApprovalRequired,
        CustomBlockEvent,
        GadgetResult,
        GadgetStart,
        ReasoningEvent,
        RunEvent,
        RunFinished,
        TextEvent,
    )
else:

    def __getattr__(name: str) -> Any:
        # The classes of events take as long to make as everything else here together, so they are made when one is named.
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from . import events

        return globals().setdefault(name, getattr(events, name))

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})

__all__ = [
    "Agent",
    "AgentOptions",
    "Allow",
    "Answer",
    "Approval",
    "ApprovalRequired",
    "Approvals",
    "ApprovalsMissing",
    "Block",
    "BudgetExceeded",
    "CallSummary",
    "ConfigError",
    "Conversation",
    "CustomBlock",
    "CustomBlockEvent",
    "Deny",
    "Example",
    "Gadget",
    "GadgetError",
    "GadgetResult",
    "GadgetStart",
    "GadgetryError",
    "HumanInputRequired",
    "HumanUnavailable",
    "Journal",
    "JournalError",
    "McpServers",
    "MockModel",
    "Model",
    "ModelCallError",
    "ModelError",
    "NoAnswer",
    "NotDelivered",
    "Parser",
    "Pending",
    "ReasoningEvent",
    "Result",
    "Run",
    "RunCancelled",
    "RunContext",
    "RunError",
    "RunEvent",
    "RunFinished",
    "RunOptions",
    "RunRecord",
    "SchemaError",
    "ScriptedModel",
    "TaskComplete",
    "TextEvent",
    "TooManyIterations",
    "Usage",
    "builtin_gadgets",
    "gadget",
    "gadgets_of",
    "tool",
]
