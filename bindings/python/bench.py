"""Measures the package that is installed: `python bindings/python/bench.py`. Prints the best of several rounds."""

import asyncio
import statistics
import subprocess
import sys
import time

from gadgetry import Agent, Parser, ScriptedModel, gadget
from gadgetry._gadgetry import count_events
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
    """Whole processes, one of each kind after the other, so that a machine that is busy for a while is so for all."""
    programs = ["pass", "import asyncio", "from gadgetry import Agent, gadget", "import gadgetry.events"]
    times = {program: [] for program in programs}
    for _ in range(31):
        for program in programs:
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", program], check=True)
            times[program].append(time.perf_counter() - began)
    nothing, *others = (statistics.median(of) * 1000 for of in times.values())
    print(f"a process that imports nothing: {nothing:.0f} ms")
    for program, median in zip(programs[1:], others, strict=True):
        print(f"{program}: {median - nothing:.0f} ms over it")


if __name__ == "__main__":
    parser()
    runs()
    imports()
