"""Descriptions of parameters in docstrings: the styles of Google, NumPy and Sphinx."""

from __future__ import annotations

import inspect
import re

_GOOGLE = re.compile(r"^(Args|Arguments|Parameters):\s*$")
_SECTION = re.compile(r"^[A-Z][A-Za-z ]+:\s*$")
_ENTRY = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_SPHINX = re.compile(r"^:param\s+(?:[^:]+\s)?\*{0,2}(\w+)\s*:\s*(.*)$")
_FIELD = re.compile(r"^:\w+")
_NUMPY = re.compile(r"^\*{0,2}(\w+)\s*(?::.*)?$")


def parse(docstring: str | None) -> tuple[str, dict[str, str]]:
    """Returns the text before the parameters, and the description of each."""
    if not docstring:
        return "", {}
    lines = inspect.cleandoc(docstring).splitlines()
    for read in (_google, _numpy, _sphinx):
        found = read(lines)
        if found is not None:
            summary, parameters = found
            return "\n".join(summary).strip(), {name: " ".join(text.split()) for name, text in parameters.items()}
    return "\n".join(lines).strip(), {}


_Found = tuple[list[str], dict[str, str]] | None


def _google(lines: list[str]) -> _Found:
    start = next((at for at, line in enumerate(lines) if _GOOGLE.match(line)), None)
    if start is None:
        return None
    parameters: dict[str, str] = {}
    rest = lines[start + 1 :]
    indent = next((len(line) - len(line.lstrip()) for line in rest if line.strip()), 0)
    name = None
    end = start + 1
    for line in rest:
        depth = len(line) - len(line.lstrip())
        if line.strip() and (depth < indent or indent == 0):
            break
        end += 1
        entry = _ENTRY.match(line.strip()) if depth == indent else None
        if entry:
            name = entry[1]
            parameters[name] = entry[2]
        elif name and line.strip():
            parameters[name] += " " + line.strip()
    return _without_sections(lines[:start] + lines[end:]), parameters


def _without_sections(lines: list[str]) -> list[str]:
    """What returns and errors are is not for the model."""
    end = next((at for at, line in enumerate(lines) if at > 0 and _SECTION.match(line)), len(lines))
    return lines[:end]


def _numpy(lines: list[str]) -> _Found:
    heads = [at for at in range(len(lines) - 1) if re.match(r"^-{3,}\s*$", lines[at + 1])]
    start = next((at for at in heads if lines[at].strip() == "Parameters"), None)
    if start is None:
        return None
    parameters: dict[str, str] = {}
    end = next((at for at in heads if at > start), len(lines))
    name = None
    for line in lines[start + 2 : end]:
        entry = _NUMPY.match(line)
        if entry and not line.startswith(" "):
            name = entry[1]
            parameters[name] = ""
        elif name and line.strip():
            parameters[name] += " " + line.strip()
    return lines[: heads[0]], parameters


def _sphinx(lines: list[str]) -> _Found:
    parameters: dict[str, str] = {}
    summary: list[str] = []
    name = None
    for line in lines:
        entry = _SPHINX.match(line)
        if entry:
            name = entry[1]
            parameters[name] = entry[2]
        elif _FIELD.match(line):
            name = ""
        elif name is None:
            summary.append(line)
        elif name and line.strip():
            parameters[name] += " " + line.strip()
    return (summary, parameters) if parameters else None
