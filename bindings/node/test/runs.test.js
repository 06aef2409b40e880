// Runs: results, events, typed answers, conversations, budgets, blocks, ends.
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  Agent, BudgetExceeded, CallbackError, Conversation, gadget, GadgetryError, MockModel, ModelCallError, NoAnswer, NotDelivered, RunCancelled, RunError,
  ScriptedModel, TaskComplete, TooManyIterations,
} from "gadgetry";
import { call, reply } from "gadgetry/testing";
import * as v from "valibot";
import { z } from "zod";

import { all, kept } from "./help.js";

const add = gadget({
  name: "Add",
  description: "Adds.",
  parameters: z.object({ a: z.number(), b: z.number() }),
  run: async ({ a, b }) => a + b,
});

/** A gadget that waits for its end, and the moment at which it has begun. */
function waiting() {
  const made = {};
  made.begun = new Promise((resolve) => (made.begin = resolve));
  made.steps = [];
  made.gadget = gadget({
    name: "Wait",
    description: "Waits.",
    run: async (_parameters, { signal }) => {
      made.begin();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      made.steps.push("aborted");
    },
  });
  return made;
}

test("a result", async () => {
  const model = new ScriptedModel(reply(call("Add", { a: 2, b: 2 }, { id: "s" }), { tokens: [50, 10] }), "It is 4.");
  const result = await new Agent({ model, gadgets: [add] }).ask("What is 2 + 2?");
  assert.deepEqual([result.text, result.output, result.reason, result.iterations], ["It is 4.", "It is 4.", "completed", 2]);
  assert.deepEqual(result.calls, [{ gadgetName: "Add", invocationId: "s", status: "succeeded" }]);
  assert.ok(result.usage.inputTokens >= 50);
  assert.ok(result.conversation.length > 1);
  assert.equal(result.cost, undefined);
});

test("events, one by one, and then the result", async () => {
  const model = new ScriptedModel(reply("Let me see.\n", call("Add", { a: 1, b: 2 }), { chunk: 5 }), "3");
  const run = new Agent({ model, gadgets: [add] }).stream("?");
  const events = await all(run);
  const types = events.map(({ type }) => type);
  for (const type of ["run_start", "model_call_start", "text", "gadget_call_start", "gadget_args_partial", "gadget_call", "gadget_start", "gadget_result"]) {
    assert.ok(types.includes(type), type);
  }
  assert.equal(types.at(-1), "run_finished");
  assert.deepEqual(events.map(({ seq }) => seq), events.map((_, at) => at));
  assert.deepEqual(events.find(({ type }) => type === "gadget_start").parameters, { a: 1, b: 2 });
  assert.equal((await run.result()).text, "3");
  assert.equal((await run.result()).text, "3");
  assert.deepEqual(await run.next(), { done: true, value: undefined });
});

test("the text alone", async () => {
  const run = new Agent({ model: new ScriptedModel(reply("some text", { chunk: 3 })) }).stream("?");
  let text = "";
  for await (const piece of run.texts()) text += piece;
  assert.equal(text, "some text");
});

test("leaving the loop ends the run", async () => {
  const slow = waiting();
  const run = new Agent({ model: new ScriptedModel(reply("a", call("Wait")), "."), gadgets: [slow.gadget] }).stream("?");
  for await (const event of run) {
    if (event.type !== "gadget_start") continue;
    // Its event comes before the function is called, and one that is not called yet never begins.
    await kept(slow.begun);
    break;
  }
  await assert.rejects(run.result(), GadgetryError);
  // The signal comes by the event loop, which has other things to do first.
  while (slow.steps.length === 0) await new Promise(setImmediate);
  assert.deepEqual(await run.next(), { done: true, value: undefined });
});

test("cancel", async () => {
  const slow = waiting();
  const run = new Agent({ model: new ScriptedModel(reply("Hm.\n", call("Wait")), "."), gadgets: [slow.gadget] }).stream("?");
  const result = run.result();
  await slow.begun;
  run.cancel();
  await assert.rejects(result, (error) => {
    assert.ok(error instanceof RunCancelled && error instanceof RunError);
    assert.equal(error.reason, "cancelled");
    return error.result.conversation.length > 0;
  });
  assert.deepEqual(slow.steps, ["aborted"]);
});

test("AbortSignal", async () => {
  for (const isStream of [false, true]) {
    const slow = waiting();
    const abort = new AbortController();
    const agent = new Agent({ model: new ScriptedModel(call("Wait"), "."), gadgets: [slow.gadget] });
    const over = isStream ? all(agent.stream("?", { signal: abort.signal })) : agent.ask("?", { signal: abort.signal });
    await slow.begun;
    abort.abort();
    await assert.rejects(over, { name: "AbortError" });
    assert.deepEqual(slow.steps, ["aborted"]);
  }
  const reason = new Error("my own");
  const agent = new Agent({ model: new ScriptedModel("4") });
  await assert.rejects(agent.ask("?", { signal: AbortSignal.abort(reason) }), reason);
  const slow = new Agent({ model: new ScriptedModel(reply("x", { delay: 600 })) });
  await assert.rejects(slow.ask("?", { signal: AbortSignal.timeout(20) }), { name: "TimeoutError" });
});

const Forecast = z.object({ city: z.string(), celsius: z.number().max(60, "too hot") });

test("typed answers", async () => {
  const answer = (fields) => call("FinalAnswer", fields);
  const model = new ScriptedModel(answer({ city: "Paris", celsius: 100 }), answer({ city: "Paris", celsius: 21 }));
  const agent = new Agent({ model });
  const forecast = await agent.ask("?", { output: Forecast });
  assert.deepEqual(forecast, { city: "Paris", celsius: 21 });
  const list = new Agent({ model: new ScriptedModel(answer({ answer: [1, 2] })) });
  assert.deepEqual(await list.ask("?", { output: { type: "array", items: { type: "integer" } } }), [1, 2]);
  const shifted = new Agent({ model: new ScriptedModel(answer({ answer: 4 })) });
  const run = shifted.stream("?", { output: z.number().transform((it) => it + 1) });
  assert.equal((await run.result()).output, 5);
  const missing = gadget({ name: "Stop", description: "Ends.", run: () => { throw new TaskComplete("enough"); } });
  const without = new Agent({ model: new ScriptedModel(call("Stop")), gadgets: [missing] });
  await assert.rejects(without.ask("?", { output: Forecast }), (error) => error instanceof NoAnswer && error.result.text === "enough");
});

test("conversations", async () => {
  const model = new MockModel();
  model.when("first").replies("One.");
  model.when("second").replies("Two.");
  const agent = new Agent({ model });
  const conversation = new Conversation();
  await agent.ask("the first", { conversation });
  const copy = conversation.copy();
  await agent.ask("the second", { conversation });
  assert.ok(conversation.length > copy.length);
  const read = Conversation.fromJSON(conversation.stringify());
  assert.deepEqual(read.messages, conversation.messages);
  assert.ok(JSON.stringify(model.requests.at(-1)).includes("One."));
  const made = Conversation.fromMessages([{ role: "user", content: "the first" }, { role: "assistant", content: "Eins." }]);
  await agent.ask("the second", { conversation: made });
  assert.ok(JSON.stringify(model.requests.at(-1)).includes("Eins."));
  assert.throws(() => Conversation.fromJSON("{"), TypeError);
  model.verify();
});

test("runs without an answer", async () => {
  const failing = new Agent({ model: new MockModel().repliesInOrder(reply("Hm", { error: "slow down", errorKind: "rateLimit" })), retries: 0 });
  await assert.rejects(failing.ask("?"), (error) => {
    assert.ok(error instanceof ModelCallError);
    assert.deepEqual([error.modelError.kind, error.modelError.message], ["rateLimit", "slow down"]);
    return error.fault === "provider" && error.isRetryable && error.name === "ModelCallError";
  });
  const busy = new Agent({ model: new MockModel().repliesInOrder(call("Add", { a: 1, b: 1 })), gadgets: [add], maxIterations: 2 });
  await assert.rejects(busy.ask("?"), (error) => error instanceof TooManyIterations && error.result.iterations === 2);
  const model = new MockModel({ price: [1_000_000, 1_000_000] }).repliesInOrder(reply(call("Add", { a: 1, b: 1 }), { tokens: [5, 5] }));
  await assert.rejects(new Agent({ model, gadgets: [add], budget: 9 }).ask("?"), (error) => error instanceof BudgetExceeded && error.result.cost >= 9);
});

test("custom blocks", async () => {
  const blocks = [
    { key: "link", transform: ({ content, attributes }) => `${content} <${attributes.url}>` },
    { key: "draft", mode: "suppress" },
    { key: "kept", transform: () => undefined },
    { key: "note" },
  ];
  const agent = new Agent({ model: new ScriptedModel('<draft>hm</draft>See <link url="/a">this</link>.<note>n</note><kept>k</kept>'), blocks });
  const run = agent.stream("Where?");
  const events = await all(run);
  assert.equal((await run.result()).text, "See this </a>.");
  const seen = events.filter(({ type }) => type === "custom_block").map(({ tag, content }) => [tag, content]);
  assert.deepEqual(seen, [["note", "n"], ["kept", "k"]]);
});

test("messages to a run that is going on", async () => {
  const slow = waiting();
  const model = new MockModel();
  model.when("begin").replies(call("Wait"));
  model.when("more").replies("Both.");
  const agent = new Agent({ model, gadgets: [slow.gadget], timeout: "1s", grace: 0 });
  const run = agent.stream("begin");
  const result = run.result();
  await slow.begun;
  run.inject("more");
  assert.equal((await result).text, "Both.");
  assert.throws(() => run.inject("late"), NotDelivered);
});

const broken = () => {
  throw new RangeError("broken");
};

test("exceptions of functions that decide end the run, typed", async () => {
  const asks = gadget({ name: "Ask", description: "Asks.", permission: "ask", run: () => "" });
  const human = gadget({ name: "Human", description: "Asks.", run: (_, context) => context.askHuman("?") });
  const script = (name) => new ScriptedModel(call(name), "Done.");
  const table = [
    ["transform", () => new Agent({ model: new ScriptedModel("<a>b</a>"), blocks: [{ key: "a", transform: broken }] }), {}],
    ["transform", () => new Agent({ model: new ScriptedModel("<a>b</a>"), blocks: [{ key: "a", transform: () => 7 }] }), {}, TypeError],
    ["approver", () => new Agent({ model: script("Ask"), gadgets: [asks], approvals: broken }), {}],
    ["approver", () => new Agent({ model: script("Ask"), gadgets: [asks], approvals: async () => broken() }), {}],
    ["approver", () => new Agent({ model: script("Ask"), gadgets: [asks], approvals: () => "perhaps" }), {}, TypeError],
    ["onHumanInput", () => new Agent({ model: script("Human"), gadgets: [human], onHumanInput: broken }), {}],
    [
      "output",
      () => new Agent({ model: new ScriptedModel(call("FinalAnswer", { answer: "x" })) }),
      { output: z.string().refine(broken) },
    ],
  ];
  for (const [callback, make, options, type = RangeError] of table) {
    const isExpected = (error) => error instanceof CallbackError && error.callback.includes(callback) && error.cause instanceof type;
    await assert.rejects(make().ask("?", options), isExpected, callback);
    await assert.rejects(all(make().stream("?", options)), isExpected, callback);
  }
});

test("an exception of a predicate fails the test", async () => {
  const model = new MockModel();
  model.when({ predicate: broken }).replies("4");
  await assert.rejects(new Agent({ model, retries: 0 }).ask("?"), ModelCallError);
  assert.throws(() => model.verify(), (error) => error instanceof CallbackError && error.cause instanceof RangeError);
});

test("the mock model", async () => {
  const model = new MockModel();
  model.when("weather").replies(reply("Let me see.\n", call("Add", { a: 1, b: 1 }, { id: "w" }), { tokens: [50, 10], reasoning: "Hm." }));
  model.when({ hasResult: "w", predicate: (request) => request.messages.length > 2 }).replies("Sunny.");
  assert.equal((await new Agent({ model, gadgets: [add] }).ask("What is the weather?")).text, "Sunny.");
  model.verify();
  const unused = new MockModel();
  unused.when("never").replies("x");
  assert.throws(() => unused.verify(), (error) => error instanceof GadgetryError && /runs\.test\.js:\d+/.test(error.message));
  assert.throws(() => unused.when("more"), GadgetryError);
  assert.throws(() => new MockModel().when({ has: "x" }), TypeError);
  assert.throws(() => reply("a", { chunks: 3 }), TypeError);
});

test("many runs of one agent at the same time", async () => {
  const model = new MockModel();
  model.when({ iteration: 1 }).replies(call("Add", { a: 1, b: 2 }));
  model.when({ iteration: 2 }).replies("3");
  const agent = new Agent({ model, gadgets: [add] });
  const results = await Promise.all(Array.from({ length: 50 }, () => agent.ask("?")));
  assert.deepEqual(new Set(results.map(({ text }) => text)), new Set(["3"]));
});

test("an output that only Valibot checks", async () => {
  const output = v.pipe(v.object({ n: v.pipe(v.number(), v.minValue(2)) }), v.transform(({ n }) => [n]));
  const outputJsonSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
  const model = new MockModel();
  model.when("?").replies(call("FinalAnswer", { n: 1 }));
  model.when("Invalid value").replies(call("FinalAnswer", { n: 2 }));
  const agent = new Agent({ model });
  // The advice of the error works.
  assert.throws(() => agent.stream("?", { output }), (error) => error.name === "SchemaError" && error.message.endsWith("give it as well, as `outputJsonSchema`"));
  assert.deepEqual(await agent.ask("?", { output, outputJsonSchema }), [2]);
  assert.throws(() => agent.stream("?", { outputJsonSchema }), { name: "TypeError", message: /an `output`/ });
  model.verify();
});
