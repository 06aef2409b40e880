"""What the tests share. They run outside of the tree, against the installed package."""

import asyncio
import os
import pathlib
import sys

import pytest

import gadgetry
import text_server

if os.environ.get("GADGETRY_INSTALLED"):
    assert "site-packages" in gadgetry.__file__, gadgetry.__file__


def loops() -> list[str]:
    """The event loops to test with. `uvloop` has no build for some systems."""
    return ["asyncio", "uvloop"] if sys.platform != "win32" else ["asyncio"]


@pytest.fixture(params=loops())
def run(request):
    """Runs a coroutine function in a loop of each kind."""

    def work(main, *arguments):
        factory = None
        if request.param == "uvloop":
            import uvloop

            factory = uvloop.new_event_loop
        with asyncio.Runner(loop_factory=factory) as runner:
            return runner.run(main(*arguments))

    return work


@pytest.fixture
def root() -> pathlib.Path:
    """The tree of the project, for vectors and documents."""
    named = os.environ.get("GADGETRY_ROOT")
    return pathlib.Path(named) if named else pathlib.Path(__file__).parents[3]


@pytest.fixture
def server():
    """The base URL of a server whose model knows no tools."""
    with text_server.served() as url:
        yield url
