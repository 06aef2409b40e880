"""Approvals: rules, callbacks, and answers that come later."""

import asyncio

import pytest

from gadgetry import (
    Agent,
    Allow,
    ApprovalRequired,
    Approvals,
    ApprovalsMissing,
    Deny,
    NotDelivered,
    Pending,
    ScriptedModel,
    gadget,
)
from gadgetry.testing import call, reply


def deploying(**options):
    done = []

    @gadget(permission="ask")
    def deploy(target: str) -> str:
        """Deploys."""
        done.append(target)
        return "deployed"

    model = ScriptedModel(reply(call("Deploy", target="a"), call("Deploy", target="b")), "Done.")
    return Agent(model, gadgets=[deploy], **options), done


def test_no_approvals_is_an_error():
    with pytest.raises(ApprovalsMissing, match="Deploy"):
        deploying()
    agent, done = deploying(approvals="off")
    agent.ask_sync("?")
    assert sorted(done) == ["a", "b"]


ANSWERS = [
    (lambda approval: True, ["a", "b"]),
    (lambda approval: False, []),
    (lambda approval: Allow(), ["a", "b"]),
    (lambda approval: Deny("not today"), []),
    (lambda approval: approval.parameters["target"] == "b", ["b"]),
]


@pytest.mark.parametrize(("decide", "expected"), ANSWERS)
@pytest.mark.parametrize("is_async", [True, False])
def test_callbacks(decide, expected, is_async, run):
    asked = []

    def approver(approval):
        asked.append((approval.gadget_name, approval.parameters["target"]))
        return decide(approval)

    async def later(approval):
        await asyncio.sleep(0)
        return approver(approval)

    agent, done = deploying(approvals=later if is_async else approver)
    result = run(agent.ask, "?")
    assert sorted(done) == expected
    assert sorted(asked) == [("Deploy", "a"), ("Deploy", "b")]
    if decide(type("", (), {"parameters": {"target": "a"}})) == Deny("not today"):
        assert "not today" in result.conversation.to_json()


def test_a_rule_as_the_answer(run):
    asked = []

    async def approver(approval):
        asked.append(approval.id)
        return Allow(rule="allow Deploy")

    agent, done = deploying(approvals=approver)
    run(agent.ask, "?")
    assert sorted(done) == ["a", "b"] and len(asked) == 1


def test_rules_decide_first():
    agent, done = deploying(approvals=Approvals(rules=["allow Deploy(target=a)", "deny *"]))
    agent.ask_sync("?")
    assert done == ["a"]
    agent, done = deploying(approvals=Approvals(unattended="it is night"))
    assert "it is night" in agent.ask_sync("?").conversation.to_json()
    assert done == []
    with pytest.raises(Exception, match="allow|rule"):
        deploying(approvals=Approvals(rules=["perhaps Deploy"]))


@pytest.mark.parametrize("approvals", [Approvals.in_stream(), lambda approval: Pending()])
def test_answers_that_come_later(approvals, run):
    async def main():
        agent, done = deploying(approvals=approvals)
        stream = agent.stream("?")
        async for event in stream:
            if isinstance(event, ApprovalRequired):
                assert [item.id for item in stream.approvals()] == [event.approval.id]
                target = event.approval.parameters["target"]
                assert target not in done
                with pytest.raises(NotDelivered):
                    stream.answer("7-" + "0" * 32, True)
                with pytest.raises(NotDelivered):
                    stream.answer("nonsense", True)
                # By its id, as a handler of a request would, after the callback has had its turn.
                await asyncio.sleep(0.02)
                asyncio.get_running_loop().call_later(0.02, stream.answer, event.approval.id, target == "a")
        await stream.result()
        return done

    assert run(main) == ["a"]


def test_an_exception_of_the_approver_ends_the_run(run):
    async def broken(approval):
        raise LookupError("no such chat")

    async def ask(agent):
        await agent.ask("?")

    async def stream(agent):
        async for _ in agent.stream("?"):
            pass

    for consume in (ask, stream):
        agent, done = deploying(approvals=broken)
        with pytest.raises(LookupError, match="no such chat"):
            run(consume, agent)
        assert done == []
    agent, done = deploying(approvals=lambda approval: "yes")
    with pytest.raises(TypeError, match="an approver returns"):
        run(agent.ask, "?")
    assert done == []
