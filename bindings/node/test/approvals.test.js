// Approvals: rules, callbacks, answers from outside.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Agent, ApprovalsMissing, ConfigError, gadget, NotDelivered, ScriptedModel } from "gadgetry";
import { call, reply } from "gadgetry/testing";

function deploying() {
  const targets = [];
  const deploy = gadget({
    name: "Deploy",
    description: "Deploys.",
    parameters: { type: "object", properties: { target: { type: "string" } }, required: ["target"] },
    permission: "ask",
    run: ({ target }) => {
      targets.push(target);
      return "deployed";
    },
  });
  return { targets, gadgets: [deploy] };
}

const script = (...targets) => new ScriptedModel(reply(...targets.map((target) => call("Deploy", { target }))), "Done.");

test("an agent without approvals", () => {
  const { gadgets } = deploying();
  assert.throws(() => new Agent({ model: script("a"), gadgets }), (error) => error instanceof ApprovalsMissing && error instanceof ConfigError);
  assert.throws(() => new Agent({ model: script("a"), gadgets, approvals: { rules: ["perhaps"] } }), ConfigError);
  assert.throws(() => new Agent({ model: script("a"), gadgets, approvals: { rule: [] } }), TypeError);
});

const TABLE = [
  ["off", "off", ["a", "b"]],
  ["a function", ({ parameters }) => parameters.target === "a", ["a"]],
  ["a coroutine", async ({ parameters }) => parameters.target === "b", ["b"]],
  ["a reason", { approve: () => ({ deny: "not on a Friday" }) }, []],
  ["a rule for the session", { approve: ({ parameters }) => parameters.target === "a" && { allow: "allow Deploy" } }, ["a"]],
  ["rules first", { rules: ["deny Deploy(target=a)", "allow Deploy"] }, ["b"]],
  ["no one", { rules: [], unattended: "no one is there" }, []],
];

test("who decides", async () => {
  for (const [name, approvals, expected] of TABLE) {
    for (const isStream of [false, true]) {
      const { gadgets, targets } = deploying();
      const agent = new Agent({ model: script("a", "b"), gadgets, approvals, sequential: true });
      const run = agent.stream("?");
      if (isStream) for await (const _ of run);
      assert.equal((await run.result()).text, "Done.", name);
      assert.deepEqual(targets.filter((it) => expected.includes(it)), expected, name);
      if (name !== "a rule for the session") assert.deepEqual(targets, expected, name);
    }
  }
});

test("what the model reads", async () => {
  const { gadgets } = deploying();
  const agent = new Agent({ model: script("a"), gadgets, approvals: () => ({ deny: "not on a Friday" }) });
  const { conversation } = await agent.ask("?");
  assert.match(conversation.stringify(), /not on a Friday/);
});

test("answers from outside, by id", async () => {
  const { gadgets, targets } = deploying();
  for (const approvals of [{ inStream: true }, () => "pending"]) {
    targets.length = 0;
    const agent = new Agent({ model: script("a"), gadgets, approvals });
    const run = agent.stream("?");
    for await (const event of run) {
      if (event.type !== "approval_required") continue;
      assert.equal(event.gadgetName, "Deploy");
      const [open] = run.approvals();
      assert.deepEqual([open.id, open.gadgetName, open.parameters], [event.approval, "Deploy", { target: "a" }]);
      run.answer(event.approval, true);
      assert.throws(() => run.answer(open, true), NotDelivered);
    }
    assert.deepEqual(targets, ["a"]);
    assert.equal((await run.result()).text, "Done.");
  }
});
