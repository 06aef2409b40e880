"""What a process sees: exceptions in every callback, its end with a run in flight, Ctrl-C, forks, and memory."""

import asyncio
import contextlib
import dataclasses
import gc
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time
from typing import Any

import pydantic
import pytest

from gadgetry import (
    Agent,
    CustomBlock,
    GadgetError,
    HumanInputRequired,
    MockModel,
    ModelCallError,
    Parser,
    RunContext,
    ScriptedModel,
    TaskComplete,
    gadget,
)
from gadgetry.testing import call, reply

HEAD = """
import asyncio, os, signal, sys, threading, time
from gadgetry import *
from gadgetry.testing import call, reply
"""


def program(body, *, send=None, timeout=60):
    """Runs a program, sends it a signal once it has written a line, and returns its code and its output."""
    process = subprocess.Popen(
        [sys.executable, "-c", HEAD + textwrap.dedent(body)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # What a shell starts in the background ignores Ctrl-C, and its children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    first = ""
    if send is not None:
        first = process.stdout.readline()
        process.send_signal(send)
    out, err = process.communicate(timeout=timeout)
    return process.returncode, first + out, err


def test_a_transform_may_run_an_agent():
    code, out, err = program("""
        inner = Agent(ScriptedModel("inner", "inner"))
        block = CustomBlock(key="ask", transform=lambda block: inner.ask_sync(block.content).text)
        agent = Agent(ScriptedModel("A <ask>b</ask> c", "A <ask>b</ask> c"), blocks=[block])
        print(agent.ask_sync("?").text.split())

        async def main():
            print((await agent.ask("?")).text.split())

        asyncio.run(main())
    """)
    assert (code, out) == (0, "['A', 'inner', 'c']\n" * 2), err


EXCEPTIONS = [RuntimeError("no way"), ValueError(), KeyError("k"), StopIteration(), KeyboardInterrupt("now"), SystemExit(3), StopAsyncIteration()]


@pytest.mark.parametrize("error", EXCEPTIONS, ids=repr)
@pytest.mark.parametrize("is_async", [True, False])
def test_exceptions_of_gadgets_are_for_the_model(error, is_async):
    @gadget(name="Fail")
    async def later() -> None:
        """Fails."""
        raise error

    @gadget(name="Fail")
    def now() -> None:
        """Fails."""
        raise error

    if is_async and isinstance(error, (KeyboardInterrupt, SystemExit)):
        pytest.skip("asyncio itself ends the loop with these: that is what they are for")
    agent = Agent(ScriptedModel(call("Fail"), "Sorry."), gadgets=[later if is_async else now])
    result = agent.ask_sync("?")
    assert result.text == "Sorry." and [item.status for item in result.calls] == ["failed"]
    assert type(error).__name__ in result.conversation.to_json() or isinstance(error, (StopIteration, StopAsyncIteration))


class Mute(Exception):
    """Its words cannot be read."""

    def __str__(self):
        raise Mute


def raises(error):
    raise error


WITHOUT_A_TEXT = [
    # what a gadget does, what the model reads of it
    (lambda: "caf\udce9.txt", "caf\\udce9.txt"),
    (lambda: {"names": ["\ud800"]}, "\\ud800"),
    (lambda: raises(ValueError("\udfff")), "ValueError: \\udfff"),
    (lambda: raises(TaskComplete("\ud800")), "\\ud800"),
    (lambda: raises(HumanInputRequired("\ud800?")), "\\ud800?"),
    (lambda: raises(Mute()), "Mute"),
]


@pytest.mark.parametrize(("does", "read"), WITHOUT_A_TEXT)
@pytest.mark.parametrize("is_async", [True, False])
def test_what_is_no_text_is_a_result_all_the_same(does, read, is_async):
    @gadget(name="Odd")
    async def later() -> Any:
        """Is odd."""
        return does()

    @gadget(name="Odd")
    def now() -> Any:
        """Is odd."""
        return does()

    agent = Agent(ScriptedModel(call("Odd"), "Well."), gadgets=[later if is_async else now])
    # Without a result, the run would not end.
    result = agent.ask_sync("?")
    assert any(read in json.dumps(text) or read in text for text in [result.text, *texts(result.conversation)])


def texts(conversation):
    """All texts in a conversation."""

    def found(value):
        if isinstance(value, str):
            yield value
        elif isinstance(value, (list, dict)):
            for item in value.values() if isinstance(value, dict) else value:
                yield from found(item)

    return list(found(json.loads(conversation.to_json())))


@pytest.mark.parametrize("answer", [7, "\ud800", ["x"]])
def test_an_answer_that_is_no_text_is_none(run, answer):
    async def human(question, gadget):
        return answer

    @gadget
    async def confirm(ctx: RunContext[None]) -> str:
        """Asks."""
        return await ctx.ask_human("Sure?")

    result = run(Agent(ScriptedModel(call("Confirm"), "Well."), gadgets=[confirm], on_human_input=human).ask, "?")
    assert result.text == "Well."


def test_exceptions_of_other_callbacks_reach_the_caller(run):
    def broken(*_):
        raise LookupError("broken")

    block = CustomBlock(key="note", transform=broken)
    with pytest.raises(LookupError, match="broken"):
        run(Agent(ScriptedModel("A <note>b</note>"), blocks=[block]).ask, "?")

    async def stream():
        async for _ in Agent(ScriptedModel("A <note>b</note>"), blocks=[block]).stream("?"):
            pass

    with pytest.raises(LookupError, match="broken"):
        run(stream)
    wrong = CustomBlock(key="note", transform=lambda block: 7)
    with pytest.raises(TypeError, match="returns a str"):
        run(Agent(ScriptedModel("A <note>b</note>"), blocks=[wrong]).ask, "?")

    async def human(question, gadget):
        raise LookupError("gone")

    @gadget
    async def confirm(ctx: RunContext[None]) -> str:
        """Asks."""
        return await ctx.ask_human("Sure?")

    result = run(Agent(ScriptedModel(call("Confirm"), "Well."), gadgets=[confirm], on_human_input=human).ask, "?")
    assert result.text == "Well." and [item.status for item in result.calls] == ["failed"]


@dataclasses.dataclass
class Share:
    of: int

    def __post_init__(self):
        if self.of < 0:
            raise KINDS[-self.of]("broken")
        self.part = 1 / self.of


class Checked(pydantic.BaseModel):
    of: int

    @pydantic.field_validator("of")
    @classmethod
    def check(cls, of: int) -> int:
        return Share(of).of


KINDS = {1: ValueError, 2: TypeError, 3: AssertionError, 4: GadgetError, 5: KeyError, 6: LookupError}


@pytest.mark.parametrize("output", [Share, Checked, list[Share]], ids=str)
@pytest.mark.parametrize(("of", "raised"), [(0, ZeroDivisionError), *((-number, kind) for number, kind in KINDS.items())])
def test_exceptions_of_a_validator(run, output, of, raised):
    """Those about the answer reach the model, all others the caller."""
    is_corrected = raised in (ValueError, TypeError, AssertionError, GadgetError)

    def agent():
        answers = [{"of": of}, {"of": 2}]
        if output == list[Share]:
            answers = [{"answer": [answer]} for answer in answers]
        model = MockModel()
        model.when("?", iteration=1).replies(call("FinalAnswer", id="a", **answers[0]))
        model.when(iteration=2, is_optional=not is_corrected).replies(call("FinalAnswer", **answers[1]))
        return Agent(model), model

    async def stream():
        stream = made.stream("?", output=output)
        async for _ in stream:
            pass

    async def result():
        stream = made.stream("?", output=output)
        with contextlib.suppress(BaseException):
            await stream.result()
        return (await stream.result()).output

    async def ask():
        return await made.ask("?", output=output)

    for consume in (ask, stream, result):
        made, model = agent()
        if is_corrected:
            assert run(consume) in (None, Share(2), [Share(2)], Checked(of=2))
            assert len(model.requests) == 2
        else:
            with pytest.raises(raised):
                run(consume)
            assert len(model.requests) == 1


def test_an_exception_of_a_predicate_fails_the_test():
    def broken(request):
        raise LookupError("broken")

    model = MockModel()
    model.when(predicate=broken).replies("4")
    with pytest.raises(ModelCallError, match="the predicate"):
        Agent(model, retries=0).ask_sync("?")
    with pytest.raises(LookupError, match="broken"):
        model.verify()


IN_FLIGHT = {
    "a coroutine, the loop ends": """
        @gadget
        async def wait() -> None:
            "Waits."
            await asyncio.sleep(60)
        async def main():
            task = asyncio.create_task(Agent(ScriptedModel(call("Wait"), "."), gadgets=[wait]).ask("?"))
            await asyncio.sleep(0.2)
        asyncio.run(main())
    """,
    "a function in a thread": """
        @gadget
        def wait() -> None:
            "Waits."
            time.sleep(60)
        async def main():
            task = asyncio.create_task(Agent(ScriptedModel(call("Wait"), "."), gadgets=[wait]).ask("?"))
            await asyncio.sleep(0.2)
        asyncio.run(main())
    """,
    "a stream that nobody reads": """
        async def main():
            global run
            run = Agent(ScriptedModel(reply("slow text", chunk=1, delay=0.01, chunk_delay=0.01))).stream("?")
            await run.__anext__()
        asyncio.run(main())
    """,
    "busy runs in a daemon thread": """
        @gadget
        async def add(a: int) -> int:
            "Adds."
            return a
        def work():
            while True:
                Agent(ScriptedModel(*[call("Add", a=1)] * 9, "."), gadgets=[add]).ask_sync("?")
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.5)
    """,
    "a slow model": """
        threading.Thread(target=lambda: Agent(ScriptedModel(reply("x", delay=60))).ask_sync("?"), daemon=True).start()
        time.sleep(0.3)
    """,
}


@pytest.mark.parametrize("body", IN_FLIGHT.values(), ids=IN_FLIGHT.keys())
def test_the_interpreter_ends_with_a_run_in_flight(body):
    for _ in range(3):
        began = time.monotonic()
        code, out, err = program(body + "\n        print('end', flush=True)\n")
        assert (code, out) == (0, "end\n"), err
        assert "Traceback" not in err and "panicked" not in err, err
        assert time.monotonic() - began < 45


CTRL_C = {
    "a coroutine": "await asyncio.sleep(60)",
    "a function": None,
}


@pytest.mark.parametrize("inner", CTRL_C.values(), ids=CTRL_C.keys())
def test_ctrl_c(inner):
    head = f"async def wait() -> None:\n            'Waits.'\n            print('begun', flush=True)\n            {inner}"
    if inner is None:
        head = "def wait() -> None:\n            'Waits.'\n            print('begun', flush=True)\n            time.sleep(60)"
    body = f"""
        @gadget
        {head}
        try:
            Agent(ScriptedModel(call("Wait"), "."), gadgets=[wait]).ask_sync("?")
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """
    code, out, err = program(body, send=signal.SIGINT)
    assert (code, out) == (0, "begun\ninterrupted\n"), err


def test_ctrl_c_where_a_loop_runs():
    body = """
        @gadget
        async def wait() -> None:
            "Waits."
            print("begun", flush=True)
            try:
                await asyncio.sleep(60)
            finally:
                print("cleaned", flush=True)
        async def notebook():
            Agent(ScriptedModel(call("Wait"), "."), gadgets=[wait]).ask_sync("?")
        loop = asyncio.new_event_loop()
        try:
            loop.run_until_complete(notebook())
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """
    code, out, err = program(body, send=signal.SIGINT)
    assert (code, out) == (0, "begun\ncleaned\ninterrupted\n"), err


def child(number):
    @gadget
    def double(n: int) -> int:
        """Doubles."""
        return 2 * n

    model = ScriptedModel(call("Double", n=number), "Done.")
    return Agent(model, gadgets=[double]).ask_sync("?").conversation.to_json().count(str(2 * number)) > 0


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_process_pools(method):
    # The parent has a runtime already.
    assert child(3)
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map_async(child, range(20, 26)).get(120) == [True] * 6


def resident():
    """Bytes of memory of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")
def test_ten_thousand_calls_do_not_grow():
    @gadget
    async def add(a: int, b: int) -> int:
        """Adds."""
        return a + b

    @gadget
    def glue(texts: list[str]) -> str:
        """Glues."""
        return "".join(texts)

    # As many as a reply may have.
    calls = 40
    one = reply(*(call("Add", a=n, b=1) for n in range(calls // 2)), *(call("Glue", texts=["a", "b"]) for _ in range(calls // 2)))

    async def batch(runs):
        for number in range(runs):
            agent = Agent(ScriptedModel(one, "Done."), gadgets=[add, glue])
            if number % 2:
                result = await agent.ask("?")
            else:
                stream = agent.stream("?")
                async for _ in stream:
                    pass
                result = await stream.result()
            assert len(result.calls) == calls
            parser = Parser(tags=["note"])
            for _ in range(50):
                parser.feed("text <note a=1>b</note>\n!!!GADGET_START:A\n!!!ARG:b\nc\n!!!GADGET_END\n")
            parser.finish()

    async def main():
        await batch(50)
        gc.collect()
        before = resident()
        # 10,000 calls, in five parts: the later ones must need no more than the first.
        sizes = []
        for _ in range(5):
            await batch(50)
            gc.collect()
            sizes.append(resident() - before)
        return sizes

    sizes = asyncio.run(main())
    assert sizes[-1] - sizes[0] < 6 << 20, sizes
