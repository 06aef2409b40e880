"""Modules that `import gadgetry` leaves to those who need them."""

import subprocess
import sys

import pytest

import gadgetry

LEFT = """
asyncio concurrent.futures decimal gadgetry.events httpx logging pathlib pydantic socket ssl subprocess urllib uuid
""".split()

PROGRAM = """
import sys
before = set(sys.modules)
from gadgetry import Agent, Parser, ScriptedModel, gadget
@gadget
async def weather(city: str, days: int = 1) -> str: ...
Agent(ScriptedModel("Hello."), gadgets=[weather])
print(*sorted(set(sys.modules) - before))
"""


def test_an_agent_imports_little():
    """An agent can be made without them. `-S`, because an environment may import modules by itself."""
    path = f"import sys; sys.path += {sys.path!r}\n"
    done = subprocess.run([sys.executable, "-S", "-c", path + PROGRAM], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    imported = set(done.stdout.split())
    assert "gadgetry.agent" in imported and not imported & set(LEFT), imported & set(LEFT)


@pytest.mark.parametrize("name", ["TextEvent", "RunEvent", "Usage"])
def test_names_are_found(name):
    import gadgetry.events

    assert getattr(gadgetry, name) is getattr(gadgetry.events, name)


def test_other_names_are_not():
    with pytest.raises(AttributeError, match="'gadgetry' has no attribute 'TextEvents'"):
        gadgetry.TextEvents
    assert set(gadgetry.__all__) <= set(dir(gadgetry))
