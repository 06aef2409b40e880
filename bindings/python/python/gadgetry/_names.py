"""Names in the forms of Python and of JSON."""

from __future__ import annotations

import re
from functools import lru_cache

_UPPER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@lru_cache(maxsize=1024)
def snake(name: str) -> str:
    """`invocationId` as `invocation_id`."""
    return _UPPER.sub("_", name).lower()


def gadget_name(function: str) -> str:
    """`read_file` as `ReadFile`: the name by which a model calls a function."""
    return "".join(word[:1].upper() + word[1:] for word in function.split("_") if word)
