// What a process sees: its end with a run in flight, and memory.
import assert from "node:assert/strict";
import { test } from "node:test";

import { program } from "./help.js";

const WAIT = 'const wait = gadget({ name: "Wait", description: "Waits.", run: async () => { begin(); await new Promise(() => {}); } });';
const BEGUN = "let begin; const begun = new Promise((resolve) => (begin = resolve));";

const IN_FLIGHT = {
  "a stream that nobody reads": `
    const run = new Agent({ model: new ScriptedModel(reply("slow text", { chunk: 1, delay: 0.01, chunkDelay: 0.01 })) }).stream("?");
    await run.next();
  `,
  "a stream whose gadget never ends": `
    ${BEGUN} ${WAIT}
    const run = new Agent({ model: new ScriptedModel(call("Wait"), "."), gadgets: [wait] }).stream("?");
    while ((await run.next()).value.type !== "gadget_start");
    const busy = setInterval(() => {}, 1000); // nothing else keeps a process that waits for a gadget to begin
    await begun;
    clearInterval(busy);
  `,
  "a run that was never begun": `new Agent({ model: new ScriptedModel("x") }).stream("?");`,
  "process.exit, with a gadget that never ends": `
    ${BEGUN} ${WAIT}
    void new Agent({ model: new ScriptedModel(call("Wait"), "."), gadgets: [wait] }).ask("?");
    await begun; console.log("end"); process.exit(0);
  `,
  "process.exit, with a slow model": `
    void new Agent({ model: new ScriptedModel(reply("x", { delay: 600 })) }).ask("?");
    await new Promise(setImmediate); console.log("end"); process.exit(0);
  `,
  "process.exit, with many busy runs": `
    const add = gadget({ name: "Add", description: "Adds.", run: () => 1 });
    const agent = () => new Agent({ model: new ScriptedModel(...Array(9).fill(call("Add")), "."), gadgets: [add], blocks: [{ key: "a", transform: () => "" }] });
    let ended = 0;
    for (let n = 0; n < 8; n++) void (async () => { for (;;) { await agent().ask("?"); ended++; } })();
    while (ended < 20) await new Promise(setImmediate);
    console.log("end"); process.exit(0);
  `,
  "process.exit in a gadget": `
    const stop = gadget({ name: "Stop", description: "Ends.", run: () => { console.log("end"); process.exit(0); } });
    await new Agent({ model: new ScriptedModel(call("Stop"), "."), gadgets: [stop] }).ask("?");
  `,
  "process.exit in a transform": `
    const blocks = [{ key: "a", transform: () => { console.log("end"); process.exit(0); } }];
    await new Agent({ model: new ScriptedModel("<a>b</a>"), blocks }).ask("?");
  `,
};

for (const [name, body] of Object.entries(IN_FLIGHT)) {
  test(`the process ends by itself: ${name}`, async () => {
    const ends = body.includes('"end"') ? "" : '\nconsole.log("end");';
    for (let round = 0; round < 3; round++) {
      const { code, out, err } = await program(body + ends);
      assert.deepEqual([code, out, err], [0, "end\n", ""]);
    }
  });
}

test("an exception that no one catches ends the process", async () => {
  const { code, err } = await program('await new Agent({ model: new ScriptedModel() }).ask("?");');
  assert.equal(code, 1);
  assert.match(err, /ModelCallError/);
});

test("10,000 calls do not grow", async () => {
  // In a process of its own, which collects its garbage when it is measured, and whose young generation, which V8 makes as large as it likes,
  // is small.
  const body = `
    const add = gadget({ name: "Add", description: "Adds.", parameters: { type: "object", properties: { a: { type: "number" } } }, run: async ({ a }) => a });
    const glue = gadget({ name: "Glue", description: "Glues.", run: (_, { signal, metadata }) => String(signal.aborted) });
    const calls = 40;
    const one = reply(...Array.from({ length: calls / 2 }, (_, a) => call("Add", { a })), ...Array.from({ length: calls / 2 }, () => call("Glue")));
    async function batch(runs) {
      for (let number = 0; number < runs; number++) {
        const agent = new Agent({ model: new ScriptedModel(one, "Done."), gadgets: [add, glue], blocks: [{ key: "a", transform: () => "" }] });
        const run = agent.stream("?");
        if (number % 2 === 0) for await (const _ of run);
        const result = await run.result();
        if (result.calls.length !== calls) throw new Error("calls are missing");
        const parser = new g.Parser({ tags: ["note"] });
        for (let n = 0; n < 50; n++) parser.feed("text <note a=1>b</note>\\n!!!GADGET_START:A\\n!!!ARG:b\\nc\\n!!!GADGET_END\\n");
        parser.finish();
      }
    }
    async function resident() {
      for (let n = 0; n < 4; n++) { globalThis.gc(); await new Promise(setImmediate); }
      return process.memoryUsage().rss;
    }
    await batch(50);
    const sizes = [];
    // 10,000 calls, in five parts: the later ones must need no more than the first.
    for (let part = 0; part < 5; part++) { await batch(50); sizes.push(await resident()); }
    console.log(JSON.stringify(sizes));
  `;
  const { code, out, err } = await program(body, { args: ["--expose-gc", "--max-semi-space-size=2"] });
  assert.equal(code, 0, err);
  const sizes = JSON.parse(out);
  assert.ok(sizes.at(-1) - sizes[0] < 6 * 2 ** 20, `${sizes}`);
});

test("agents are collected, and runs that were left", async () => {
  const body = `
    const add = gadget({ name: "Add", description: "Adds.", run: () => 1 });
    const registry = new FinalizationRegistry((name) => collected.set(name, (collected.get(name) ?? 0) + 1));
    const collected = new Map();
    for (let n = 0; n < 20; n++) {
      const agent = new Agent({ model: new ScriptedModel(call("Add"), "."), gadgets: [add] });
      registry.register(agent, "agent");
      await agent.ask("?");
      const left = agent.stream("?");
      registry.register(left, "run");
    }
    for (let n = 0; n < 50 && (collected.get("agent") < 10 || !(collected.get("run") >= 10)); n++) { globalThis.gc(); await new Promise(setImmediate); }
    console.log(collected.get("agent") >= 10, collected.get("run") >= 10);
  `;
  const { out, err } = await program(body, { args: ["--expose-gc"] });
  assert.equal(out, "true true\n", err);
});

