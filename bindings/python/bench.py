"""Measures the package that is installed: `python bindings/python/bench.py [WHEEL]`. Prints the best of several rounds.

`cargo xtask bench bindings` installs it, and gives WHEEL, that of OpenHands' package.
"""

import asyncio
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
import types

from gadgetry import Agent, Parser, ScriptedModel, gadget
from gadgetry._gadgetry import count_events
from gadgetry.parser import Call
from gadgetry.testing import call, reply

ROUNDS = 7


def best(work, rounds=ROUNDS):
    """Seconds of the fastest round."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def parser():
    block = "!!!GADGET_START:Note\n!!!ARG:title\nA title\n!!!ARG:text\n" + "Some words of a value. " * 20 + "\n!!!GADGET_END\n"
    text = ("A line of prose, as models write it.\n" * 12 + block) * 200
    for size in (4, 16, 64):
        chunks = [text[at : at + size] for at in range(0, len(text), size)]

        def python():
            made = Parser()
            feed = made.feed
            for chunk in chunks:
                feed(chunk)
            made.finish()

        ours, rust = best(python), best(lambda: count_events(chunks))
        each = 1e6 / len(chunks)
        print(f"parser, chunks of {size}: {ours * each:.2f} us a chunk, {rust * each:.2f} us in Rust alone, {(ours - rust) * each:.2f} us over it")


def runs():
    @gadget
    async def add(a: int, b: int) -> int:
        """Adds."""
        return a + b

    @gadget
    def glue(a: int, b: int) -> int:
        """Adds in a thread."""
        return a + b

    many = 40

    async def run(tool, calls, is_stream):
        model = ScriptedModel(reply(*(call(tool, a=n, b=1) for n in range(calls))), "Done.")
        agent = Agent(model, gadgets=[add, glue])
        began = time.perf_counter()
        if is_stream:
            async for _ in agent.stream("?"):
                pass
        else:
            await agent.ask("?")
        return time.perf_counter() - began

    async def least(tool, calls, is_stream):
        return min([await run(tool, calls, is_stream) for _ in range(60)])

    async def main():
        for tool, name in (("Add", "coroutine"), ("Glue", "function in a thread")):
            for is_stream in (False, True):
                one, all = await least(tool, 1, is_stream), await least(tool, many, is_stream)
                way = "its events read" if is_stream else "asked"
                print(f"run, {name}, {way}: {one * 1e6:.0f} us with one call, {(all - one) / (many - 1) * 1e6:.1f} us for each further call")

    asyncio.run(main())


def imports():
    """Whole processes, one of each kind after the other, so that a machine that is busy for a while is so for all. Their processor time counts as
    well, because other programs change it little.
    """
    programs = ["pass", "import asyncio", "from gadgetry import Agent, gadget", "import gadgetry.events"]
    times = {program: [] for program in programs}
    for _ in range(31):
        for program in programs:
            began, spent = time.perf_counter(), os.times()
            subprocess.run([sys.executable, "-c", program], check=True)
            now = os.times()
            used = now.children_user - spent.children_user + now.children_system - spent.children_system
            times[program].append((time.perf_counter() - began, used))
    medians = {program: [statistics.median(each) * 1000 for each in zip(*of, strict=True)] for program, of in times.items()}
    nothing, used = medians["pass"]
    print(f"a process that imports nothing: {nothing:.0f} ms")
    for program in programs[1:]:
        print(f"{program}: {medians[program][0] - nothing:.0f} ms over it, {medians[program][1] - used:.0f} ms of processor time")


def openhands(wheel):
    """The converter of OpenHands, from its wheel. Of the sixty packages that this needs, the converter uses two names of types."""
    for name in ("openhands", "openhands.sdk", "openhands.sdk.llm", "openhands.sdk.llm.mixins", "openhands.sdk.llm.exceptions"):
        package = types.ModuleType(name)
        package.__path__ = [f"{wheel}/{name.replace('.', '/')}"]
        sys.modules[name] = package
    litellm = types.ModuleType("litellm")
    litellm.ChatCompletionToolParam = litellm.ChatCompletionToolParamFunctionChunk = dict
    sys.modules["litellm"] = litellm
    errors = importlib.import_module("openhands.sdk.llm.exceptions.types")
    vars(sys.modules["openhands.sdk.llm.exceptions"]).update(vars(errors))
    return importlib.import_module("openhands.sdk.llm.mixins.fn_call_converter")


def peers(wheel):
    """A reply with one call, as OpenHands' converter wants it: it reads whole replies, and one call of each."""
    convert = openhands(wheel).convert_non_fncall_messages_to_fncall_messages
    note = {"title": "A title", "text": ("Some words of a value. " * 20).strip()}
    prose = "A line of prose, as models write it.\n" * 12
    block = prose + "!!!GADGET_START:Note\n" + "".join(f"!!!ARG:{name}\n{value}\n" for name, value in note.items()) + "!!!GADGET_END\n"
    tags = prose + "<function=Note>\n" + "".join(f"<parameter={name}>{value}</parameter>\n" for name, value in note.items()) + "</function>"
    schema = {"type": "object", "properties": dict.fromkeys(note, {"type": "string"}), "required": list(note)}
    tools = [{"type": "function", "function": {"name": "Note", "description": "Notes.", "parameters": schema}}]

    def ours(chunks):
        made = Parser()
        events = [event for chunk in chunks for event in made.feed(chunk)] + made.finish()
        return [event.parameters for event in events if isinstance(event, Call)]

    def theirs(chunks):
        (message,) = convert([{"role": "assistant", "content": "".join(chunks)}], tools)
        return [json.loads(call["function"]["arguments"]) for call in message["tool_calls"]]

    for size in (4, 16, 64, len(block)):
        least = {}
        for _ in range(200):
            for name, text, read in (("gadgetry", block, ours), ("OpenHands' converter", tags, theirs)):
                chunks = [text[at : at + size] for at in range(0, len(text), size)]
                began = time.perf_counter()
                calls = read(chunks)
                least[name] = min(least.get(name, 1), time.perf_counter() - began)
                assert calls == [note], (name, calls)
        way = "whole" if size > 64 else f"chunks of {size}"
        for name, seconds in least.items():
            print(f"a reply with a call, {way}: {name}: {seconds * 1e6:.0f} us, {seconds / least['gadgetry']:.1f} x")


if __name__ == "__main__":
    parser()
    runs()
    imports()
    for given in sys.argv[1:]:
        peers(given)
