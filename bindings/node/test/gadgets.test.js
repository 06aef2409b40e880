// Gadgets: their schemas, what they receive, what the model reads.
import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { test } from "node:test";

import {
  Agent, ConfigError, Gadget, gadget, GadgetContext, GadgetError, HumanInputRequired, instructions, MockModel, Parser, SchemaError, ScriptedModel, TaskComplete,
  tool, writeCall,
} from "gadgetry";
import { call, reply } from "gadgetry/testing";
import * as v from "valibot";
import { z } from "zod";
import * as mini from "zod/mini";
import { z as v3 } from "zod/v3";

import { all } from "./help.js";

/** What a gadget receives, and what the model reads, for a call with these parameters. */
async function called(made, parameters, options = {}) {
  const agent = new Agent({ model: new ScriptedModel(call(made.name, parameters), "Done."), gadgets: [made], ...options });
  const events = await all(agent.stream("?", options.run));
  return events.find(({ type }) => type === "gadget_result");
}

function echo(parameters, extra = {}) {
  return gadget({ name: "Echo", description: "Echoes.", parameters, run: (given) => given, ...extra });
}

test("JSON Schema", async () => {
  const schema = { type: "object", properties: { code: { type: "string" }, n: { type: "integer" } }, required: ["code"] };
  const made = echo(schema);
  assert.ok(made instanceof Gadget);
  assert.equal(tool, gadget);
  assert.deepEqual(made.parameters, schema);
  assert.equal((await called(made, { code: "7", n: 2 })).result, '{"code":"7","n":2}');
  assert.match((await called(made, { n: 2 })).error, /code/);
});

test("zod", async () => {
  const schema = z.object({ city: z.string().describe("City name"), days: z.number().int().default(1), when: z.string().transform((it) => it.length) });
  const made = echo(schema);
  assert.equal(made.parameters.properties.city.description, "City name");
  assert.deepEqual(made.parameters.required, ["city", "when"]);
  assert.equal(made.parameters.$schema, undefined);
  // Defaults and transforms are those of zod.
  assert.deepEqual(JSON.parse((await called(made, { city: "Paris", when: "noon" })).result), { city: "Paris", days: 1, when: 4 });
  const refined = echo(z.object({ n: z.number().refine((it) => it % 2 === 0, "not even") }));
  assert.match((await called(refined, { n: 3 })).error, /n: not even/);
  const slow = echo(z.object({ n: z.number().refine(async (it) => it % 2 === 0, "not even") }));
  assert.match((await called(slow, { n: 3 })).error, /n: not even/);
});

test("any Standard Schema", async () => {
  const schema = v.object({ n: v.pipe(v.number(), v.minValue(2)) });
  assert.throws(() => echo(schema), (error) => error instanceof SchemaError && /jsonSchema/.test(error.message));
  const jsonSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
  const made = echo(schema, { jsonSchema });
  assert.deepEqual(made.parameters, jsonSchema);
  assert.equal((await called(made, { n: 2 })).result, '{"n":2}');
  assert.match((await called(made, { n: 1 })).error, /n: Invalid value/);
  const unwritable = z.object({ when: z.date() });
  assert.throws(() => echo(unwritable), SchemaError);
});

test("a zod without JSON Schema", async () => {
  // Like those before 4.2. None loses its descriptions silently.
  const schema = mini.object({ city: mini.string().check(mini.describe("City name")) });
  for (const [owner, option, make] of [
    ["the gadget Echo", "jsonSchema", () => echo(schema)],
    ["the gadget Echo", "jsonSchema", () => echo(v3.object({ city: v3.string() }))],
    ["the output", "outputJsonSchema", () => new Agent({ model: new ScriptedModel("4") }).stream("?", { output: schema })],
  ]) {
    const message =
      `${owner}: only schemas of zod 4.2 or later, and not those of zod/mini, give their JSON Schema: update zod, or add ` +
      `\`${option}: z.toJSONSchema(schema, { io: "input" })\``;
    assert.throws(make, (error) => error instanceof SchemaError && error.message === message, message);
  }
  const made = echo(schema, { jsonSchema: mini.toJSONSchema(schema, { io: "input" }) });
  assert.equal(made.parameters.properties.city.description, "City name");
  assert.equal((await called(made, { city: "Paris" })).result, '{"city":"Paris"}');
});

const RESULTS = [
  ["text", "text"],
  [undefined, ""],
  [null, ""],
  [0, "0"],
  [false, "false"],
  [{ a: [1] }, '{"a":[1]}'],
  [Promise.resolve("later"), "later"],
];

test("results", async () => {
  for (const [returned, expected] of RESULTS) {
    const made = gadget({ name: "Give", description: "Gives.", run: () => returned });
    assert.equal((await called(made, {})).result, expected);
  }
  const cycle = {};
  cycle.self = cycle;
  for (const returned of [cycle, 10n, () => {}, Symbol("s")]) {
    const made = gadget({ name: "Give", description: "Gives.", run: () => returned });
    assert.match((await called(made, {})).error, /^TypeError: /);
  }
});

class Odd extends Error {
  get message() {
    throw new Error("no text");
  }
}

const EXCEPTIONS = [
  [new TypeError("no way"), "TypeError: no way"],
  [new Error(), "Error"],
  ["a text", "a text"],
  [undefined, "undefined"],
  [null, "null"],
  [Symbol("s"), "Symbol(s)"],
  [Object.create(null), "an error that has no text"],
  [new Odd(), "an error that has no text"],
  [new GadgetError("just this"), "just this"],
  [Object.assign(new GadgetError("x"), { message: 7 }), "7"],
  [Object.assign(new GadgetError("x"), { message: Object.create(null) }), "the function failed with an error that has no text"],
  [new Proxy(new Error("x"), { getPrototypeOf: () => { throw new Error("no"); } }), "the function failed with an error that has no text"],
];

test("exceptions are for the model", async () => {
  for (const [thrown, expected] of EXCEPTIONS) {
    const now = () => {
      throw thrown;
    };
    for (const run of [now, async () => now(), () => Promise.reject(thrown)]) {
      const made = gadget({ name: "Fail", description: "Fails.", run });
      assert.equal((await called(made, {})).error, expected);
    }
  }
});

test("a gadget ends the run, or asks the user", async () => {
  const finish = gadget({ name: "Finish", description: "Ends.", run: () => { throw new TaskComplete("all done"); } });
  const result = await new Agent({ model: new ScriptedModel(call("Finish")), gadgets: [finish] }).ask("?");
  assert.deepEqual([result.text, result.reason], ["all done", "taskCompleted"]);
  const asks = gadget({ name: "Asks", description: "Asks.", run: () => { throw new HumanInputRequired("Which?"); } });
  const asked = [];
  const onHumanInput = async (question, name) => {
    asked.push([question, name]);
    return "that one";
  };
  assert.equal((await called(asks, {}, { onHumanInput })).result, "that one");
  assert.deepEqual(asked, [["Which?", "Asks"]]);
  assert.match((await called(asks, {})).error, /Which\?/);
});

test("the context of a call", async () => {
  const seen = {};
  const made = gadget({
    name: "Look",
    description: "Looks.",
    run: async (_parameters, context) => {
      const { deps, gadgetName, invocationId, iteration, depth, runId, metadata, dependencies, budgetLeft } = context;
      context.progress("half");
      context.reportCost(0.25);
      const { reportedCost, signal } = context;
      Object.assign(seen, { deps, gadgetName, invocationId, iteration, depth, runId, metadata, dependencies, budgetLeft, reportedCost, context });
      assert.equal(signal.aborted, false);
      assert.equal(await context.askHuman("Well?"), "Yes.");
      return "looked";
    },
  });
  const agent = new Agent({ model: new ScriptedModel(call("Look", {}, { id: "l" }), "."), gadgets: [made], onHumanInput: () => "Yes." });
  const deps = { user: "ada" };
  const run = agent.stream("?", { deps, runId: "one", metadata: { tenant: 7 } });
  const progress = (await all(run)).filter(({ type }) => type === "gadget_progress");
  const result = await run.result();
  assert.deepEqual(progress.map(({ message }) => message), ["half"]);
  assert.equal(result.knownCost, 0.25);
  const { context, ...facts } = seen;
  assert.deepEqual(facts, {
    deps, gadgetName: "Look", invocationId: "l", iteration: 1, depth: 0, runId: "one", metadata: { tenant: 7 }, dependencies: {}, budgetLeft: null,
    reportedCost: 0.25,
  });
  assert.throws(() => context.progress("too late"), { name: "NotDelivered" });
});

test("results of dependencies", async () => {
  const seen = [];
  const made = gadget({ name: "Step", description: "Steps.", run: (_parameters, { dependencies, invocationId }) => void seen.push(dependencies) ?? invocationId });
  const model = new ScriptedModel(reply(call("Step", {}, { id: "a" }), call("Step", {}, { id: "b", after: ["a"] })), ".");
  await new Agent({ model, gadgets: [made] }).ask("?");
  assert.deepEqual(seen, [{}, { a: "a" }]);
});

test("a timeout aborts the signal, and waits for the clean-up", async () => {
  const steps = [];
  const made = gadget({
    name: "Wait",
    description: "Waits.",
    timeout: "20ms",
    run: async (_parameters, { signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      steps.push("cleaned");
    },
  });
  assert.match((await called(made, {})).error, /20 ms|timed out|timeout/i);
  assert.deepEqual(steps, ["cleaned"]);
});

test("a gadget sees the asynchronous context of the caller", async () => {
  const storage = new AsyncLocalStorage();
  const made = gadget({ name: "Who", description: "Says who.", run: async () => storage.getStore() });
  const one = (name) => storage.run(name, () => called(made, {}));
  const results = await Promise.all(["ada", "bob"].map(one));
  assert.deepEqual(results.map(({ result }) => result), ["ada", "bob"]);
});

test("a gadget alone", async () => {
  const made = gadget({ name: "Add", description: "Adds.", parameters: z.object({ a: z.number() }), run: ({ a }, { deps }) => a + deps.b });
  assert.equal(await made.call({ a: 1 }, GadgetContext.forTest({ b: 2 })), 3);
  await assert.rejects(made.call({ a: "x" }), GadgetError);
});

const run = () => "";
const MISTAKES = [
  [() => gadget({ description: "?", run }), TypeError, /needs a name/],
  [() => gadget({ name: "A", description: "?" }), TypeError, /a function `run`/],
  [() => gadget({ name: "A", description: "?", run, timeout: "soon" }), TypeError, /timeout: a duration/],
  [() => gadget({ name: "A", description: "?", run, parameter: {} }), TypeError, /no option parameter/],
  [() => new Agent({ model: new ScriptedModel("4"), gadgets: [run] }), TypeError, /is not a gadget/],
  [() => new Agent({ model: new ScriptedModel("4"), noSuch: 1 }), TypeError, /no option noSuch/],
  [() => new Agent({ model: 7 }), TypeError, /a model is/],
  [() => new Agent({}), ConfigError, /needs a `model`/],
  [() => new Agent({ model: "no-such-provider:x" }), ConfigError, /./],
  [() => new Agent({ model: new ScriptedModel("4"), maxIterations: "many" }), TypeError, /max_?[iI]terations/],
  [() => new Agent({ model: new ScriptedModel("4"), form: "xml" }), ConfigError, /form is/],
  [() => new Agent({ model: new ScriptedModel("4"), gadgets: [echo({ type: "strin" })] }), ConfigError, /Echo/],
  [() => new Agent({ model: new ScriptedModel("4"), gadgets: [echo(), echo()] }), ConfigError, /Echo/],
  [() => new Agent({ model: new ScriptedModel("4") }).stream("?", { timeout: 1 }), TypeError, /a run has no option timeout/],
  [() => new Agent({ model: new ScriptedModel("4") }).stream(7), TypeError, /a prompt is a string/],
];

test("mistakes of the program", () => {
  for (const [make, type, message] of MISTAKES) assert.throws(make, (error) => error instanceof type && message.test(error.message), String(make));
});

test("an option that is undefined is as if it were left out", async () => {
  const none = undefined;
  const made = echo(none, { jsonSchema: none, timeout: none, maxConcurrent: none, exclusive: none, sticky: none, permission: none, onInterrupt: none, examples: none });
  assert.deepEqual(JSON.stringify(made.spec), JSON.stringify(echo().spec));
  const model = new MockModel({ name: none, isStrict: none, price: none, contextWindow: none });
  const conditions = { contains: none, anywhere: none, hasResult: none, iteration: none, predicate: none, times: none, isOptional: none, label: none };
  const settings = { reasoning: none, error: none, errorKind: none, tokens: none, chunk: none, delay: none, chunkDelay: none, isCutOff: none };
  model.when(conditions).replies(reply("See <a>this</a>.", settings), reply(call("Echo", {}, { id: none, after: none }), settings), "Done.");
  const blocks = [{ key: "a", tag: none, description: none, instructions: none, mode: none, transform: none }];
  const approvals = { rules: none, approve: none, inStream: none, unattended: none };
  const names = [
    "system", "name", "maxIterations", "budget", "temperature", "maxTokens", "stop", "timeout", "grace", "maxConcurrent", "maxGadgetsPerReply", "maxDepth", "sequential",
    "stopOnGadgetError", "retries", "tools", "form", "examples", "markers", "anchoring", "reasoningTags", "compaction", "trailing", "remind", "onHumanInput",
  ];
  const agent = new Agent({ ...Object.fromEntries(names.map((name) => [name, none])), model, gadgets: [made], blocks, approvals });
  const options = { output: none, outputJsonSchema: none, deps: none, conversation: none, runId: none, metadata: none, signal: none, journal: none, force: none };
  assert.equal((await agent.ask("?", options)).text, "See .");
  assert.equal((await new Agent({ model, gadgets: [made], blocks: none, approvals: none, onHumanInput: none }).ask("?", options)).text, "Done.");
  model.verify();
  const context = GadgetContext.forTest(none, { runId: none, metadata: none, dependencies: none });
  assert.deepEqual([context.runId, context.metadata, context.dependencies], [null, {}, {}]);
  assert.deepEqual(new Parser({ tags: none, reasoning: none, markers: none, anchoring: none, schemas: none }).feed("x\n").map(({ type }) => type), ["text"]);
  assert.equal(writeCall("A", {}, { id: none, dependencies: none, markers: none, anchoring: none, schema: none }), writeCall("A", {}));
  assert.equal(instructions([made], { form: none, markers: none, anchoring: none }), instructions([made]));
});
