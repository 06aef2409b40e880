// Measures the package that is built here (`npm run build`): `node bindings/node/bench.mjs [PEERS]`. Prints the best of several rounds.
//
// `cargo xtask bench bindings` builds it, and gives PEERS, a folder with the `node_modules` of other packages.
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

import { Agent, gadget, Parser, ScriptedModel } from "./lib/index.js";
import { gadgetryMiddleware } from "./lib/ai.js";
import { call, reply as replyOf } from "./lib/testing.js";

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
    const model = new ScriptedModel(replyOf(...Array.from({ length: calls }, (_, a) => call("Add", { a }))), "Done.");
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

/** Whole processes, in turn. Their processor time counts, because other programs change it little. */
function imports() {
  const spent = 'process.on("exit", () => { const { user, system } = process.cpuUsage(); console.log(user + system); });';
  const spawn = (program) => Number(execFileSync(process.execPath, ["--input-type=module", "--eval", spent + program])) / 1000;
  const own = JSON.stringify(new URL("./lib/index.js", import.meta.url).href);
  const rounds = Array.from({ length: 31 }, () => [spawn(""), spawn(`await import(${own})`)]);
  const [nothing, imported] = [0, 1].map((at) => rounds.map((round) => round[at]).sort((a, b) => a - b)[15]);
  console.log(`import: ${(imported - nothing).toFixed(0)} ms of processor time over a process that imports nothing`);
}

/** Lines that differ, or the middleware would end a reply as one that repeats itself. */
const lines = (count, line) => Array.from({ length: count }, (_, at) => line(at)).join("");
const NOTE = { title: "A title", text: lines(20, (at) => `Some words of value ${at}. `).trim() };

/** A reply of prose with a call at its end, in the notations of all contestants. */
function reply(count) {
  const prose = lines(count, (at) => `Line ${at} of prose, as models write it.\n`);
  return {
    block: `${prose}!!!GADGET_START:Note\n!!!ARG:title\n${NOTE.title}\n!!!ARG:text\n${NOTE.text}\n!!!GADGET_END\n`,
    hermes: `${prose}<tool_call>\n${JSON.stringify({ name: "Note", arguments: NOTE })}\n</tool_call>`,
    xml: `${prose}<Note><title>${NOTE.title}</title><text>${NOTE.text}</text></Note>`,
  };
}

const string = { type: "string" };
const TOOL = { type: "function", name: "Note", description: "Notes.", inputSchema: { type: "object", properties: { title: string, text: string } } };

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const finish = { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage };
const parts = (chunks) => [
  { type: "stream-start", warnings: [] },
  { type: "text-start", id: "1" },
  ...chunks.map((delta) => ({ type: "text-delta", id: "1", delta })),
  { type: "text-end", id: "1" },
  finish,
];

/** The inputs of the calls in a stream of parts. */
async function called(stream) {
  const calls = [];
  for await (const part of stream) if (part.type === "tool-call") calls.push(JSON.parse(part.input));
  return calls;
}

/** Reads a reply with a middleware of the AI SDK, as its `streamText` does. */
function throughMiddleware(middleware) {
  return async (chunks) => {
    const model = { doStream: async () => ({ stream: ReadableStream.from(parts(chunks)) }) };
    const given = { prompt: [{ role: "user", content: [{ type: "text", text: "?" }] }], tools: [TOOL] };
    const params = (await middleware.transformParams?.({ params: given, type: "stream", model })) ?? given;
    const { stream } = await middleware.wrapStream({ doStream: model.doStream, doGenerate: undefined, params, model });
    return called(stream);
  };
}

const PARSER = "gadgetry, parser";
const MIDDLEWARE = "gadgetry, middleware, Hermes";
const NOTHING = "a TransformStream that changes nothing";

async function peers(folder) {
  const packages = createRequire(join(resolve(folder), "package.json"));
  const theirs = packages("@ai-sdk-tool/parser");
  const { GadgetCallParser } = packages("llmist");
  const through = (made) => (chunks) => called(ReadableStream.from(parts(chunks)).pipeThrough(made()));
  const protocol = (made) => through(() => made().createStreamParser({ tools: [TOOL] }));
  const llmist = (chunks) => {
    const parser = new GadgetCallParser();
    const events = [...chunks.flatMap((chunk) => [...parser.feed(chunk)]), ...parser.finalize()];
    return events.filter(({ type }) => type === "gadget_call").map(({ call: { parameters } }) => parameters);
  };
  const ours = (chunks) => {
    const parser = new Parser();
    const events = [...chunks.flatMap((chunk) => parser.feed(chunk)), ...parser.finish()];
    return events.filter(({ type }) => type === "gadget_call").map(({ parameters }) => parameters);
  };
  const contestants = [
    [PARSER, "block", ours],
    ["llmist, parser", "block", llmist],
    ["@ai-sdk-tool/parser, Hermes", "hermes", protocol(theirs.hermesProtocol)],
    ["@ai-sdk-tool/parser, XML", "xml", protocol(theirs.morphXmlProtocol)],
    [NOTHING, "hermes", through(() => new TransformStream())],
    [MIDDLEWARE, "hermes", throughMiddleware(gadgetryMiddleware())],
    ["@ai-sdk-tool/parser, middleware, Hermes", "hermes", throughMiddleware(theirs.hermesToolMiddleware)],
  ];
  const whole = 1 << 20;
  for (const [name, count, size, rounds] of [
    ["1 KB, pieces of 4", 12, 4, 60],
    ["1 KB, pieces of 16", 12, 16, 60],
    ["1 KB, pieces of 64", 12, 64, 60],
    ["1 KB, whole", 12, whole, 60],
    ["64 KB, pieces of 16", 1600, 16, 15],
  ]) {
    const texts = reply(count);
    const least = new Map();
    for (let round = 0; round < rounds; round++) {
      for (const [contestant, notation, read] of contestants) {
        const chunks = texts[notation].match(new RegExp(`[^]{1,${size}}`, "g"));
        const began = performance.now();
        const calls = await read(chunks);
        least.set(contestant, Math.min(least.get(contestant) ?? Number.POSITIVE_INFINITY, performance.now() - began));
        const isRead = contestant === NOTHING || JSON.stringify(calls) === JSON.stringify([NOTE]);
        if (!isRead) throw new Error(`${contestant} read ${JSON.stringify(calls)}`);
      }
    }
    for (const [contestant, ms] of least) {
      const first = least.get(contestant.includes("middleware") ? MIDDLEWARE : PARSER);
      console.log(`a reply of ${name}: ${contestant}: ${(ms * 1000).toFixed(0)} us, ${(ms / first).toFixed(1)} x`);
    }
  }
}

parser();
await runs();
imports();
if (process.argv[2] !== undefined) await peers(process.argv[2]);
