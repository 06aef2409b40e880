// The middleware of the AI SDK next to that of `@ai-sdk-tool/parser`: what the tests in its repository cover, in texts of ours. Its package has none.
import assert from "node:assert/strict";
import { test } from "node:test";

import { hermesToolMiddleware, qwen3CoderToolMiddleware } from "@ai-sdk-tool/parser";
import { generateText, jsonSchema, streamText, tool, wrapLanguageModel } from "ai";
import { MockLanguageModelV3, simulateReadableStream } from "ai/test";
import { gadgetryMiddleware } from "gadgetry/ai";

const usage = { inputTokens: { total: 10, noCache: 10 }, outputTokens: { total: 5, text: 5 } };
const string = { type: "string" };
const number = { type: "number" };
const object = (properties, required = []) => ({ type: "object", properties, required });
const list = (items) => ({ type: "array", items });
const gadget = (schema) => tool({ description: "A tool.", inputSchema: jsonSchema(schema) });
const tools = {
  weather: gadget(object({ city: string, days: number }, ["city"])),
  note: gadget(object({ title: string, done: { type: "boolean" }, tags: list(string), place: object({ x: number, y: number }), points: list(object({ x: number })) })),
  ping: gadget(object({})),
};

const hermes = (name, input) => `<tool_call>\n${JSON.stringify({ name, arguments: input })}\n</tool_call>`;
const written = (json) => `<tool_call>${json}</tool_call>`;
const qwen = (name, input) => {
  const parameters = Object.entries(input).map(([key, value]) => `<parameter=${key}>\n${value}\n</parameter>\n`);
  return `<tool_call>\n<function=${name}>\n${parameters.join("")}</function>\n</tool_call>`;
};
const paris = { city: "Paris" };
const call = '{"name":"weather","arguments":{"city":"Paris"}}';
const PARIS = 'weather{"city":"Paris"}';

/**
 * What a reply has, the reply, options, and what is read of it: calls, then the rest of its text, in quotes. What the peer reads follows, if that is
 * something else: of the whole reply, and of a stream. A `!` is after a call that the AI SDK refuses; `Error` is for any error.
 */
const CASES = [
  ["a call alone", hermes("weather", paris), {}, PARIS],
  ["a call on one line", written(call), {}, PARIS],
  ["text before a call", `Let me look.\n${hermes("weather", paris)}`, {}, 'weather{"city":"Paris"} "Let me look."'],
  ["text on the line of a call", `Let me look: ${hermes("weather", paris)}`, {}, 'weather{"city":"Paris"} "Let me look:"'],
  ["text after a call", `${hermes("weather", paris)}\nOne moment.`, {}, 'weather{"city":"Paris"} "One moment."'],
  [
    "text before, between and after calls",
    `First.\n${hermes("weather", paris)}\nThen.\n${hermes("ping", {})}\nDone.`,
    {},
    String.raw`weather{"city":"Paris"} ping{} "First.\n\nThen.\n\nDone."`,
  ],
  [
    "calls without anything between",
    hermes("weather", paris) + hermes("weather", { city: "Rome" }),
    {},
    'weather{"city":"Paris"} weather{"city":"Rome"}',
  ],
  [
    "JSON over several lines",
    written(JSON.stringify({ name: "weather", arguments: { city: "Paris", days: 2 } }, null, 2)),
    {},
    'weather{"city":"Paris","days":2}',
  ],
  ["arguments before the name", written('{"arguments": {"city": "Paris"}, "name": "weather"}'), {}, PARIS],
  ["no arguments", written('{"name": "ping"}'), {}, "ping{}"],
  ["empty arguments", hermes("ping", {}), {}, "ping{}"],
  ["nested values", hermes("note", { title: "t", place: { x: 1, y: -2.5 } }), {}, 'note{"title":"t","place":{"x":1,"y":-2.5}}'],
  ["a list", hermes("note", { tags: ["a", "b, c", ""] }), {}, 'note{"tags":["a","b, c",""]}'],
  ["a list of objects", hermes("note", { points: [{ x: 1 }, { x: 2 }] }), {}, 'note{"points":[{"x":1},{"x":2}]}'],
  ["Unicode", hermes("weather", { city: "Zürich 東京 👩‍👩‍👧 e\u0301" }), {}, 'weather{"city":"Zürich 東京 👩‍👩‍👧 é"}'],
  ["escapes", written(String.raw`{"name":"weather","arguments":{"city":"a\n\"b\"\u00e9\\"}}`), {}, String.raw`weather{"city":"a\n\"b\"é\\"}`],
  ["an end tag in a string", hermes("note", { title: "a </tool_call> b" }), {}, 'note{"title":"a </tool_call> b"}'],
  ["a start tag in a string", hermes("note", { title: "a <tool_call> b" }), {}, 'note{"title":"a <tool_call> b"}'],
  ["a number as text", hermes("weather", { city: "Paris", days: "2" }), {}, 'weather{"city":"Paris","days":2}'],
  ["a text as a number", hermes("weather", { city: 75001 }), {}, 'weather{"city":"75001"}'],
  ["a boolean as text", hermes("note", { done: "true" }), {}, 'note{"done":true}'],
  ["a list as text", hermes("note", { tags: '["a"]' }), {}, 'note{"tags":["a"]}'],
  [
    "arguments as text",
    written(JSON.stringify({ name: "weather", arguments: JSON.stringify(paris) })),
    {},
    PARIS,
    String.raw`"<tool_call>{\"name\":\"weather\",\"arguments\":\"{\\\"city\\\":\\\"Paris\\\"}\"}</tool_call>"`,
    "",
  ],
  ["a comma too many", written('{"name":"weather","arguments":{"city":"Paris",},}'), {}, PARIS],
  ["single quotes", written("{'name':'weather','arguments':{'city':'Paris'}}"), {}, PARIS],
  [
    "keys without quotes",
    written('{name:"weather",arguments:{city:"Paris"}}'),
    {},
    String.raw`"<tool_call>{name:\"weather\",arguments:{city:\"Paris\"}}</tool_call>"`,
    PARIS,
  ],
  ["a line break in a string", written('{"name":"note","arguments":{"title":"a\nb"}}'), {}, String.raw`note{"title":"a\nb"}`],
  [
    "a brace too few",
    written(call.slice(0, -1)),
    {},
    "Error",
    String.raw`"<tool_call>{\"name\":\"weather\",\"arguments\":{\"city\":\"Paris\"}</tool_call>"`,
    "",
  ],
  ["not JSON", `Hm. ${written("{bad}")} So.`, {}, '"Hm. <tool_call>{bad}</tool_call> So."', '"Hm. <tool_call>{bad}</tool_call> So."', '"Hm.  So."'],
  ["an empty call", `Hm. ${written("")} So.`, {}, '"Hm. <tool_call></tool_call> So."', '"Hm. <tool_call></tool_call> So."', '"Hm.  So."'],
  ["no end tag", `<tool_call>${call}`, {}, "Error", 'weather{"city":"Paris"} "<tool_call>"', PARIS],
  ["half an end tag", `<tool_call>${call}</tool_`, {}, "Error", 'weather{"city":"Paris"} "<tool_call></tool_"', PARIS],
  ["another end tag", `<tool_call>${call}</tool_calls> So.`, {}, "Error", 'weather{"city":"Paris"} "<tool_call></tool_calls> So."', ""],
  [
    "cut off in JSON",
    `Hm. <tool_call>${call.slice(0, -6)}`,
    {},
    "Error",
    String.raw`"Hm. <tool_call>{\"name\":\"weather\",\"arguments\":{\"city\":\"Pa"`,
    '"Hm."',
  ],
  [
    "cut off in JSON by the limit of tokens",
    `Hm. <tool_call>${call.slice(0, -6)}`,
    { ended: "length" },
    '"Hm."',
    String.raw`"Hm. <tool_call>{\"name\":\"weather\",\"arguments\":{\"city\":\"Pa"`,
    '"Hm."',
  ],
  [
    "a second call before the end of the first",
    `<tool_call>${call}\n${hermes("weather", { city: "Rome" })}`,
    {},
    "Error",
    String.raw`weather{"city":"Rome"} "<tool_call>{\"name\":\"weather\",\"arguments\":{\"city\":\"Paris\"}}"`,
    'weather{"city":"Rome"}',
  ],
  ["half a start tag", "Hm. <tool_", {}, '"Hm. <tool_"'],
  ["a start tag alone", "Hm. <tool_call>", {}, '"Hm. <tool_call>"', '"Hm. <tool_call>"', '"Hm."'],
  ["angle brackets in prose", "No call: `a < b` and <b>bold</b>.", {}, '"No call: `a < b` and <b>bold</b>."'],
  [
    "an unknown tool",
    hermes("teleport", paris),
    {},
    String.raw`"<tool_call>\n{\"name\":\"teleport\",\"arguments\":{\"city\":\"Paris\"}}\n</tool_call>"`,
    'teleport{"city":"Paris"}!',
  ],
  [
    "an unknown tool, then a known one",
    `${hermes("teleport", paris)}\n${hermes("weather", paris)}`,
    {},
    String.raw`weather{"city":"Paris"} "<tool_call>\n{\"name\":\"teleport\",\"arguments\":{\"city\":\"Paris\"}}\n</tool_call>"`,
    'teleport{"city":"Paris"}! weather{"city":"Paris"}',
  ],
  ["a required argument is missing", hermes("weather", {}), {}, "Error", "weather{}", ""],
  ["an argument that the schema does not name", hermes("weather", { city: "Paris", mood: 1 }), {}, 'weather{"city":"Paris","mood":1}'],
  ["a name in another case", hermes("Weather", paris), {}, PARIS, 'Weather{"city":"Paris"}!'],
  [
    "a call in a fence",
    `Write it so:\n\`\`\`\n${hermes("weather", paris)}\n\`\`\`\n`,
    {},
    "\"Write it so:\\n```\\n<tool_call>\\n{\\\"name\\\":\\\"weather\\\",\\\"arguments\\\":{\\\"city\\\":\\\"Paris\\\"}}\\n</tool_call>\\n```\"",
    "weather{\"city\":\"Paris\"} \"Write it so:\\n```\\n\\n```\"",
  ],
  ["a start tag in code", "Write `<tool_call>` to call.", {}, '"Write `<tool_call>` to call."', '"Write `<tool_call>` to call."', '"Write `"'],
  ["JSON without tags", call, {}, PARIS, PARIS, String.raw`"{\"name\":\"weather\",\"arguments\":{\"city\":\"Paris\"}}"`],
  ["nothing", "", {}, ""],
  ["white space", " \n ", {}, ""],
  ["lines that end with CR LF", `Let me look.\r\n${hermes("weather", paris).replaceAll("\n", "\r\n")}`, {}, 'weather{"city":"Paris"} "Let me look."'],
  ["XML: two arguments", qwen("weather", { city: "Paris", days: 2 }), { form: "qwen" }, 'weather{"city":"Paris","days":2}'],
  ["XML: two calls", `${qwen("weather", paris)}\n${qwen("ping", {})}`, { form: "qwen" }, 'weather{"city":"Paris"} ping{}'],
  [
    "XML: two calls in one tag",
    qwen("weather", paris).replace("</function>", "</function>\n<function=ping>\n</function>"),
    { form: "qwen" },
    'weather{"city":"Paris"} ping{}',
  ],
  [
    "XML: text around a call",
    `Let me look.\n${qwen("weather", paris)}\nDone.`,
    { form: "qwen" },
    String.raw`weather{"city":"Paris"} "Let me look.\n\nDone."`,
  ],
  ["XML: lines", qwen("note", { title: "one\n  two\nthree" }), { form: "qwen" }, String.raw`note{"title":"one\n  two\nthree"}`],
  [
    "XML: lists and objects",
    qwen("note", { tags: '["a", "b"]', place: '{"x": 1, "y": 2}' }),
    { form: "qwen" },
    'note{"tags":["a","b"],"place":{"x":1,"y":2}}',
  ],
  ["XML: markup in a value", qwen("note", { title: "if a < b && <b>c</b>" }), { form: "qwen" }, 'note{"title":"if a < b && <b>c</b>"}'],
  ["XML: Unicode", qwen("weather", { city: "東京 👩‍👩‍👧" }), { form: "qwen" }, 'weather{"city":"東京 👩‍👩‍👧"}'],
  ["XML: no end of a parameter", qwen("weather", paris).replace("\n</parameter>", ""), { form: "qwen" }, PARIS],
  ["XML: no end of the function", qwen("weather", paris).replace("</function>\n", ""), { form: "qwen" }, "Error", PARIS],
  ["XML: cut off in a value", `Hm. ${qwen("weather", paris).split("ris")[0]}`, { form: "qwen" }, "Error", 'weather{"city":"Pa"} "Hm."'],
  [
    "XML: an unknown tool",
    qwen("teleport", paris),
    { form: "qwen" },
    String.raw`"<tool_call>\n<function=teleport>\n<parameter=city>\nParis\n</parameter>\n</function>\n</tool_call>"`,
    'teleport{"city":"Paris"}!',
  ],
  [
    "tools are off",
    hermes("weather", paris),
    { toolChoice: "none" },
    String.raw`"<tool_call>\n{\"name\":\"weather\",\"arguments\":{\"city\":\"Paris\"}}\n</tool_call>"`,
    "Error",
  ],
  ["a call is required", hermes("weather", paris), { toolChoice: "required" }, PARIS, "unknown{}!"],
  ["a call is required, and JSON alone is written", call, { toolChoice: "required" }, PARIS],
  ["a call is required, and none is written", "I do not want to.", { toolChoice: "required" }, "Error", "unknown{}!"],
  ["a tool is required", hermes("weather", paris), { toolChoice: { type: "tool", toolName: "weather" } }, PARIS, "Error", "unknown{}!"],
  ["another tool is required", hermes("weather", paris), { toolChoice: { type: "tool", toolName: "ping" } }, "Error", "Error", "unknown{}!"],
  [
    "there are no tools",
    hermes("weather", paris),
    { tools: undefined },
    String.raw`"<tool_call>\n{\"name\":\"weather\",\"arguments\":{\"city\":\"Paris\"}}\n</tool_call>"`,
    'weather{"city":"Paris"}!',
  ],
];

/** A model that writes this text, in pieces of this size. */
function textModel(text, size, unified) {
  const finish = { finishReason: { unified, raw: unified }, usage };
  const pieces = text.match(new RegExp(`[^]{1,${size}}`, "gu")) ?? [];
  const chunks = [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "1" },
    ...pieces.map((delta) => ({ type: "text-delta", id: "1", delta })),
    { type: "text-end", id: "1" },
    { type: "finish", ...finish },
  ];
  return new MockLanguageModelV3({
    doGenerate: async () => ({ content: [{ type: "text", text }], warnings: [], ...finish }),
    doStream: async () => ({ stream: simulateReadableStream({ chunks, initialDelayInMs: null, chunkDelayInMs: null }) }),
  });
}

/** What a middleware reads of a reply: whole, or in pieces of this size. */
async function outcome(middleware, text, { ended = "stop", ...options }, size) {
  const model = wrapLanguageModel({ model: textModel(text, size ?? 1, ended), middleware });
  const errors = [];
  const onError = (error) => errors.push(error);
  const given = { model, tools, prompt: "?", maxRetries: 0, onError, ...options };
  try {
    const result = size === undefined ? await generateText(given) : streamText(given);
    if (size !== undefined) await result.consumeStream({ onError });
    const calls = (await result.toolCalls).map(({ toolName, input, invalid }) => `${toolName}${JSON.stringify(input)}${invalid ? "!" : ""}`);
    const rest = (await result.text).trim();
    if (errors.length === 0) return { read: [...calls, ...(rest === "" ? [] : [JSON.stringify(rest)])].join(" "), reason: await result.finishReason, hasCalls: calls.length > 0 };
  } catch (error) {
    onError(error);
  }
  return { read: "Error" };
}

const SIZES = [1, 2, 3, 5, 8, 13, 1000];

for (const [name, text, options, expected, theirWhole = expected, theirStream = theirWhole] of CASES) {
  const { form, ...given } = options;
  test(name, async () => {
    for (const size of [undefined, ...SIZES]) {
      const ours = await outcome(gadgetryMiddleware({ repairs: 0 }), text, given, size);
      assert.equal(ours.read, expected, `${size}`);
      if (ours.hasCalls) assert.equal(ours.reason, "tool-calls");
      const theirs = await outcome(form === "qwen" ? qwen3CoderToolMiddleware : hermesToolMiddleware, text, given, size);
      assert.equal(theirs.read, size === undefined ? theirWhole : theirStream, `theirs, ${size}`);
    }
  });
}
