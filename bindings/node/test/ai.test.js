// The middleware of the AI SDK, with its own functions, on a model that writes text.
import assert from "node:assert/strict";
import { test } from "node:test";

import { generateText, jsonSchema, stepCountIs, streamText, tool, wrapLanguageModel } from "ai";
import { MockLanguageModelV3, simulateReadableStream } from "ai/test";
import { gadgetryMiddleware } from "gadgetry/ai";
import { z } from "zod";

import { callIn } from "./server.js";

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined },
};
const finish = (unified = "stop") => ({ finishReason: { unified, raw: unified }, usage });

/** A model that writes these texts, one a call; a function is given the prompt. */
function textModel(texts, { unified, size = 4 } = {}) {
  let at = 0;
  const next = ({ prompt }) => {
    const text = texts[at++];
    return typeof text === "function" ? text(prompt) : callIn(prompt, text);
  };
  return new MockLanguageModelV3({
    doGenerate: async (options) => ({ content: [{ type: "text", text: next(options) }], warnings: [], ...finish(unified) }),
    doStream: async (options) => {
      const pieces = next(options).match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
      const chunks = [
        { type: "stream-start", warnings: [] },
        { type: "response-metadata", id: "r", modelId: "m" },
        { type: "text-start", id: "1" },
        ...pieces.map((delta) => ({ type: "text-delta", id: "1", delta })),
        { type: "text-end", id: "1" },
        { type: "finish", ...finish(unified) },
      ];
      return { stream: simulateReadableStream({ chunks, initialDelayInMs: null, chunkDelayInMs: null }) };
    },
  });
}

const block = (name, ...args) => `!!!GADGET_START:${name}\n${args.map(([pointer, value]) => `!!!ARG:${pointer}\n${value}\n`).join("")}!!!GADGET_END\n`;
const wrapped = (model, options) => wrapLanguageModel({ model, middleware: gadgetryMiddleware(options) });
const weather = tool({
  description: "Get the weather.",
  inputSchema: z.object({ city: z.string(), days: z.number().optional() }),
  execute: async ({ city }) => `${city}: sunny`,
});

test("generateText, with its loop", async () => {
  const model = textModel([`Let me look.\n${block("weather", ["city", "Paris"])}`, "It is sunny."]);
  const result = await generateText({ model: wrapped(model), tools: { weather }, stopWhen: stepCountIs(3), prompt: "The weather?" });
  assert.equal(result.text, "It is sunny.");
  const [step] = result.steps;
  assert.deepEqual(step.toolCalls.map(({ toolName, input }) => [toolName, input]), [["weather", { city: "Paris" }]]);
  assert.deepEqual([step.finishReason, step.text.trim()], ["tool-calls", "Let me look."]);
  assert.equal(result.totalUsage.inputTokens, 20);
  const [first, second] = model.doGenerateCalls;
  assert.deepEqual([first.tools, first.toolChoice], [undefined, undefined]);
  assert.match(JSON.stringify(first.prompt), /weather[^]*Get the weather\./);
  assert.match(JSON.stringify(second.prompt), /Paris: sunny/);
});

test("streamText, with its loop", async () => {
  const model = textModel([`Let me look.\n${block("weather", ["city", "Paris"], ["days", "2"])}`, "It is sunny."]);
  const result = streamText({ model: wrapped(model), tools: { weather }, stopWhen: stepCountIs(3), prompt: "The weather?" });
  const parts = [];
  for await (const part of result.fullStream) parts.push(part);
  const types = parts.map(({ type }) => type);
  assert.ok(!types.includes("error"), JSON.stringify(parts.find(({ type }) => type === "error")?.error?.message));
  assert.deepEqual(parts.find(({ type }) => type === "tool-call").input, { city: "Paris", days: 2 });
  for (const type of ["text-start", "text-end", "tool-input-start", "tool-input-end", "tool-result"]) assert.ok(types.includes(type), type);
  const text = parts.filter(({ type }) => type === "text-delta").map((part) => part.text).join("");
  assert.equal(text.replaceAll("\n", ""), "Let me look.It is sunny.");
  assert.equal(await result.text, "It is sunny.");
  const reasons = (await result.steps).map(({ finishReason }) => finishReason);
  assert.deepEqual(reasons, ["tool-calls", "stop"]);
});

test("the model corrects a call that is not valid", async () => {
  for (const isStream of [false, true]) {
    const model = textModel([block("weather", ["town", "Paris"]), block("weather", ["city", "Paris"])]);
    const options = { model: wrapped(model), tools: { weather: { ...weather, execute: undefined } }, prompt: "The weather?" };
    const result = isStream ? streamText(options) : await generateText(options);
    if (isStream) await result.consumeStream();
    const calls = await result.toolCalls;
    assert.deepEqual(calls.map(({ input }) => input), [{ city: "Paris" }]);
    assert.equal((await result.usage).inputTokens, 20);
  }
});

test("what has no tools is passed", async () => {
  const model = textModel(["Hello.", "Hello."]);
  assert.equal((await generateText({ model: wrapped(model), prompt: "Hi." })).text, "Hello.");
  assert.equal(await streamText({ model: wrapped(model), prompt: "Hi." }).text, "Hello.");
});

test("reasoning, pictures, stop sequences, choices", async () => {
  const model = textModel(["<think>hm</think>It is sunny. END More.", block("weather", ["city", "Paris"])]);
  const picture = { type: "image", image: new Uint8Array([137, 80, 78, 71]), mediaType: "image/png" };
  const messages = [{ role: "system", content: "Be brief." }, { role: "user", content: [{ type: "text", text: "Where is this?" }, picture] }];
  const result = await generateText({ model: wrapped(model), tools: { weather }, messages, stopSequences: [" END"], allowSystemInMessages: true });
  assert.deepEqual([result.text, result.reasoningText, result.finishReason], ["It is sunny.", "hm", "stop"]);
  const [{ prompt, stopSequences }] = model.doGenerateCalls;
  assert.equal(stopSequences, undefined);
  assert.ok(prompt.at(-1).content.some(({ type, mediaType }) => type === "file" && mediaType === "image/png"), JSON.stringify(prompt));
  const forced = { weather: { ...weather, execute: undefined } };
  const { toolCalls } = await generateText({ model: wrapped(model), tools: forced, toolChoice: { type: "tool", toolName: "weather" }, prompt: "?" });
  assert.equal(toolCalls.length, 1);
});

test("a reply that is cut off is never a call", async () => {
  for (const isStream of [false, true]) {
    const model = textModel(["!!!GADGET_START:weather\n!!!ARG:city\nPar", "!!!GADGET_START:weather\n!!!ARG:city\nPar"], { unified: "length" });
    const options = { model: wrapped(model), tools: { weather }, prompt: "?", onError() {} };
    const result = isStream ? streamText(options) : await generateText(options);
    if (isStream) await result.consumeStream();
    assert.deepEqual([(await result.toolCalls).length, await result.finishReason], [0, "length"]);
  }
});

test("mistakes of the program", async () => {
  assert.throws(() => gadgetryMiddleware({ marker: 1 }), TypeError);
  const model = wrapped(textModel(["x"]), { form: "xml" });
  await assert.rejects(generateText({ model, tools: { weather }, prompt: "?", maxRetries: 0 }), { name: "ConfigError" });
});
