// What llmist takes for the loads of `crates/gadgetry/benches/peers.rs`: `node llmist.mjs PACKAGES < loads.json`.
//
// PACKAGES is the folder with `node_modules`. The loads come from our own program, so that both read the same pieces.
// Each is run until two seconds have passed, at least five times, and the best time counts: by then the compiler of
// the JavaScript engine has done its work. Printed are the seconds of each load.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const packages = createRequire(join(resolve(process.argv[2]), "package.json"));
const { AgentBuilder, GadgetCallParser, LLMist, createGadget, createLogger } = packages("llmist");
// llmist's own copy: another one makes schemas that it does not know.
const { z } = createRequire(packages.resolve("llmist"))("zod");

const loads = JSON.parse(readFileSync(0, "utf8"));
const AT_LEAST_SECONDS = 2;
const AT_LEAST_RUNS = 5;

async function best(run) {
  let best = Infinity;
  const began = performance.now();
  for (let runs = 0; runs < AT_LEAST_RUNS || performance.now() - began < AT_LEAST_SECONDS * 1000; runs += 1) {
    best = Math.min(best, await run());
  }
  return best / 1000;
}

function check(what, got, expected) {
  if (got !== expected) throw new Error(`${what}: ${got}, not ${expected}`);
}

// Every event is looked at, as our bench does.
function read(pieces) {
  const parser = new GadgetCallParser();
  let [text, calls] = [0, 0];
  const look = (event) => {
    if (event.type === "text") text += event.content.length;
    if (event.type === "gadget_call" && event.call.parameters) calls += 1;
  };
  const began = performance.now();
  for (const piece of pieces) for (const event of parser.feed(piece)) look(event);
  for (const event of parser.finalize()) look(event);
  return [performance.now() - began, text, calls];
}

function reading({ pieces, text, calls }) {
  return best(() => {
    const [took, seen, called] = read(pieces);
    check("characters of text", seen, text);
    check("calls", called, calls);
    return took;
  });
}

// A model whose replies are there before they are requested; a reply is one piece.
function ready(replies) {
  let next = 0;
  return {
    providerId: "ready",
    priority: 100,
    supports: () => true,
    async *stream() {
      yield { text: replies[next] };
      next += 1;
      yield { text: "", finishReason: "stop", usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 } };
    },
    // As good as our own estimate. Without it llmist builds the tables of a tokenizer in each iteration: seconds.
    countTokens: async (messages) => Math.ceil(messages.reduce((sum, { content }) => sum + content.length, 0) / 4),
    getModelSpecs: () => [],
  };
}

const model = {
  provider: "ready",
  modelId: "ready",
  displayName: "ready",
  contextWindow: 1_000_000_000,
  maxOutputTokens: 1_000_000,
  pricing: { input: 0, output: 0 },
  knowledgeCutoff: "none",
  features: { streaming: true, functionCalling: true, vision: false },
};

async function iterating({ replies, prompt, gadget, result }) {
  const run = async () => {
    let calls = 0;
    const Fetch = createGadget({
      name: gadget,
      description: "Fetches a page",
      schema: z.object({
        url: z.string().min(1),
        limit: z.number().int().min(0).optional(),
        follow: z.boolean().default(true),
      }),
      execute: () => {
        calls += 1;
        return result;
      },
    });
    const client = new LLMist({ autoDiscoverProviders: false, adapters: [ready(replies)], customModels: [model] });
    const agent = new AgentBuilder(client)
      .withModel("ready:ready")
      .withLogger(createLogger({ type: "hidden" }))
      .withGadgets(Fetch)
      .withMaxIterations(replies.length)
      .ask(prompt);
    const began = performance.now();
    for await (const event of agent.run()) if (event.type === "never") throw new Error("an event of no kind");
    const took = performance.now() - began;
    check("calls", calls, replies.length - 1);
    return took;
  };
  return (await best(run)) / (replies.length - 1);
}

console.log(`prose ${await reading(loads.prose)}`);
console.log(`calls ${await reading(loads.calls)}`);
console.log(`iteration ${await iterating(loads.iteration)}`);
