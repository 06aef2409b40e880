// Measures the package that is built here (`npm run build -- --profile measure`): `node bindings/node/bench.mjs`. Prints the best of several rounds.
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";

import { Agent, gadget, Parser, ScriptedModel } from "./lib/index.js";
import { call, reply } from "./lib/testing.js";

const { countEvents } = createRequire(import.meta.url)(`./native/gadgetry.${process.platform}-${process.arch}.node`);

/** Milliseconds of the fastest round. */
function best(work, rounds = 9) {
  const times = Array.from({ length: rounds }, () => {
    const began = performance.now();
    work();
    return performance.now() - began;
  });
  return Math.min(...times);
}

function parser() {
  const block = `!!!GADGET_START:Note\n!!!ARG:title\nA title\n!!!ARG:text\n${"Some words of a value. ".repeat(20)}\n!!!GADGET_END\n`;
  const text = ("A line of prose, as models write it.\n".repeat(12) + block).repeat(200);
  for (const size of [4, 16, 64]) {
    const chunks = text.match(new RegExp(`[^]{1,${size}}`, "g"));
    const whole = best(() => {
      const made = new Parser();
      for (const chunk of chunks) made.feed(chunk);
      made.finish();
    });
    // The chunks are copied once, as strings of Rust; that is not the parser's time.
    const rust = best(() => countEvents(chunks)) - best(() => countEvents(chunks.map(() => "")));
    const each = 1000 / chunks.length;
    console.log(`parser, chunks of ${size}: ${(whole * each).toFixed(2)} us a chunk, ${(rust * each).toFixed(2)} us in Rust alone, ${((whole - rust) * each).toFixed(2)} us over it`);
  }
}

async function runs() {
  const add = gadget({ name: "Add", description: "Adds.", parameters: { type: "object", properties: { a: { type: "number" } } }, run: async ({ a }) => a });
  const many = 40;
  const run = async (calls, isStream) => {
    const model = new ScriptedModel(reply(...Array.from({ length: calls }, (_, a) => call("Add", { a }))), "Done.");
    const agent = new Agent({ model, gadgets: [add] });
    const began = performance.now();
    if (isStream) for await (const _ of agent.stream("?"));
    else await agent.ask("?");
    return performance.now() - began;
  };
  const least = async (calls, isStream) => {
    let least = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 60; round++) least = Math.min(least, await run(calls, isStream));
    return least;
  };
  for (const isStream of [false, true]) {
    const one = await least(1, isStream);
    const all = await least(many, isStream);
    const way = isStream ? "its events read" : "asked";
    console.log(`run, ${way}: ${(one * 1000).toFixed(0)} us with one call, ${(((all - one) * 1000) / (many - 1)).toFixed(1)} us for each further call`);
  }
}

function imports() {
  const spawn = (program) => best(() => execFileSync(process.execPath, ["--input-type=module", "--eval", program]), 15);
  const own = JSON.stringify(new URL("./lib/index.js", import.meta.url).href);
  console.log(`import: ${(spawn(`await import(${own})`) - spawn("")).toFixed(0)} ms`);
}

parser();
await runs();
imports();
