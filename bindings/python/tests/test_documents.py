"""The programs of the README and of the guide are run, each by itself."""

import re
import subprocess
import sys

import pytest

import gadgetry.agent
from gadgetry import ScriptedModel
from gadgetry.testing import call

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_readme(root, monkeypatch, capsys):
    """One program in two blocks, whose model is a script."""
    text = (root / "bindings/python/README.md").read_text()
    blocks = BLOCK.findall(text)
    assert len(blocks) == 2
    lines = [line for line in blocks[0].splitlines() if line.strip()]
    assert len(lines) <= 15, len(lines)
    model = ScriptedModel(
        call("Weather", city="Paris"),
        "It is 21 degrees.",
        call("FinalAnswer", city="Paris", celsius=21),
        call("Weather", city="Rome", days=2),
        "Warm.",
    )
    named = []

    def scripted(name):
        named.append(name)
        return model._model()

    monkeypatch.setattr(gadgetry.agent, "native", scripted)
    program = "\n".join(blocks) + "\nimport asyncio\nasyncio.run(main())\n"
    exec(compile(program, "README.md", "exec"), {"__name__": "readme"})
    out = capsys.readouterr().out
    assert out == "It is 21 degrees.\n21.0\n[Weather {'city': 'Rome', 'days': 2}]\nWarm."
    assert named == ["ollama:llama3.2"]


def test_readme_of_the_repository(root, monkeypatch, capsys):
    """Its second program; the first is a client of the gateway, which the tests of the gateway run."""
    client, program = BLOCK.findall((root / "README.md").read_text())
    assert "import OpenAI" in client
    model = ScriptedModel(call("Weather", city="Paris"), "It is 21 degrees.")
    monkeypatch.setattr(gadgetry.agent, "native", lambda _: model._model())
    exec(compile(program, "README.md", "exec"), {"__name__": "readme"})
    assert capsys.readouterr().out == "It is 21 degrees.\n"


def test_guide(root, tmp_path):
    pages = sorted((root / "docs/guide").glob("*.md"))
    blocks = [block for page in pages for block in BLOCK.findall(page.read_text())]
    assert len(blocks) >= 20, len(blocks)
    for number, block in enumerate(blocks):
        folder = tmp_path / str(number)
        folder.mkdir()
        file = folder / "program.py"
        file.write_text(block)
        done = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=120, cwd=folder)
        assert done.returncode == 0, f"{block}\n{done.stderr}"


@pytest.mark.parametrize("name", gadgetry.__all__)
def test_names_have_docstrings(name):
    assert name in ("Answer", "RunEvent") or getattr(gadgetry, name).__doc__
