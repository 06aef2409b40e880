"""Durable runs: a process is killed, and another one continues; what has finished is not executed again."""

import asyncio
import subprocess
import sys
import textwrap

import pytest

from gadgetry import Agent, ApprovalRequired, Approvals, ConfigError, Conversation, Journal, JournalError, ScriptedModel, gadget
from gadgetry.testing import call

PROGRAM = """
import asyncio, os, sys
from gadgetry import Agent, Journal, ScriptedModel, gadget
from gadgetry.testing import call

@gadget
def pay(amount: int) -> str:
    "Pays."
    with open("payments.txt", "a") as file:
        file.write(f"{amount}\\n")
    return "paid"

@gadget(on_interrupt="rerun")
def send() -> str:
    "Sends."
    if "--die" in sys.argv:
        print("dying", flush=True)
        os._exit(9)
    return "sent"

model = ScriptedModel(call("Pay", amount=7), call("Send"), "Paid and sent.")
agent = Agent(model, gadgets=[pay, send])

async def main():
    journal = Journal("runs.db")
    print((await agent.ask("Pay and send.", journal=journal, run_id="order-7")).text)
    print([(run.id, run.status, run.answer) for run in await journal.runs()])

asyncio.run(main())
"""


def test_a_killed_process(tmp_path):
    def program(*arguments):
        return subprocess.run(
            [sys.executable, "-c", textwrap.dedent(PROGRAM), *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )

    dead = program("--die")
    assert (dead.returncode, dead.stdout) == (9, "dying\n"), dead.stderr
    again = program()
    assert again.returncode == 0, again.stderr
    assert again.stdout == "Paid and sent.\n[('order-7', 'finished', 'Paid and sent.')]\n"
    assert (tmp_path / "payments.txt").read_text() == "7\n"
    assert program().stdout == again.stdout


def test_an_approval_that_outlives_its_agent(run, tmp_path):
    done = []

    def make():
        @gadget(permission="ask")
        def deploy() -> str:
            """Deploys."""
            done.append("deployed")
            return "deployed"

        return Agent(ScriptedModel(call("Deploy"), "Done."), gadgets=[deploy], approvals=Approvals.in_stream())

    async def main():
        journal = Journal(tmp_path / "runs.db")
        first = make().stream("Deploy.", journal=journal, run_id="deploy")
        async for event in first:
            if isinstance(event, ApprovalRequired):
                shown = event.approval.id
                break
        first.close()
        (record,) = await journal.runs()
        assert record.status == "waiting" and len(record.questions) == 1 and record.answer is None
        second = make().resume("deploy", journal=Journal(tmp_path / "runs.db"))
        async for event in second:
            if isinstance(event, ApprovalRequired):
                assert event.approval.id == shown
                second.answer(shown, True)
        return await second.result(), second.id

    result, id = run(main)
    assert (result.text, id, done) == ("Done.", "deploy", ["deployed"])


def test_what_cannot_be_resumed(run, tmp_path):
    async def main():
        journal = Journal(tmp_path / "runs.db")
        agent = Agent(ScriptedModel("4"), system="A")
        with pytest.raises(JournalError, match="no run"):
            await agent.resume("nothing", journal=journal).result()
        with pytest.raises(JournalError):
            await agent.ask("?", journal=journal, run_id="a b/c")
        with pytest.raises(ConfigError, match="output"):
            await agent.ask("?", journal=journal, output=int)
        with pytest.raises(ConfigError, match="journal"):
            agent.resume("a")
        talk = Conversation()
        assert (await agent.ask("?", journal=journal, run_id="a", conversation=talk)).text == "4"
        assert len(talk) == 2
        with pytest.raises(JournalError, match="differs"):
            await Agent(ScriptedModel("5"), system="B").ask("?", journal=journal, run_id="a")
        return await journal.runs()

    assert [(record.id, record.status) for record in run(main)] == [("a", "finished")]
    with pytest.raises(JournalError):
        (tmp_path / "not.db").write_text("This is not a database, but a text that is long enough for a header of one." * 9)
        Journal(tmp_path / "not.db")


def test_a_journal_cancels(run, tmp_path):
    @gadget
    async def wait() -> None:
        """Waits."""
        await asyncio.sleep(60)

    async def main():
        journal = Journal(tmp_path / "runs.db")
        agent = Agent(ScriptedModel(call("Wait"), "Done."), gadgets=[wait])
        stream = agent.stream("?", journal=journal, run_id="slow")
        async for event in stream:
            if event.type == "gadget_start":
                await journal.cancel("slow")
        with pytest.raises(Exception) as caught:
            await stream.result()
        return caught.value.reason

    assert run(main) == "cancelled"
