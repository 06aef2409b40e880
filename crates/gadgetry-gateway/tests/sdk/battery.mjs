// The official JavaScript SDKs and the AI SDK before a gateway with a scripted model: `node battery.mjs BASE_URL`, after
// `npm install --ignore-scripts` in this folder.
//
// openai 6.49.0, @anthropic-ai/sdk 1.12.0, ai 6.0.326, @ai-sdk/openai 3.0.141, @ai-sdk/openai-compatible 2.0.91,
// @ai-sdk/anthropic 3.0.139, zod 4.6.7, Node.js 20. `BASE_URL` is what the example `scripted` prints.

import Anthropic from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import OpenAI from "openai";
import { LengthFinishReasonError } from "openai/error";
import { z } from "zod";

import { aiSdk } from "./ai_sdk.mjs";
import { assert, BASE, check, equal, equalParts, equalUsage, inFlight, MODEL, PARIS, PATCH } from "./check.mjs";
import { ROME, SINGLE, summary, thrown, untilIdle } from "./check.mjs";
import { Chat, clients, Messages, Responses } from "./clients.mjs";

// The first reply of a scenario, and the conversation so far.
async function start(client, scenario, options = {}) {
  const history = [client.user(`scenario: ${scenario}`)];
  return [await client.ask(history, options), history];
}

// The reply to the results of calls.
function follow(client, history, reply, texts, options = {}) {
  history.push(...reply.native, ...client.results(reply, texts));
  return client.ask(history, options);
}

async function single(client, scenario, choice, finish, parts) {
  const [reply] = await start(client, scenario, choice ? client.choices[choice] : {});
  equalParts(reply, parts, client.keepsOrder);
  equal(reply.finish, client.finishes[finish]);
  equalUsage(reply.usage, scenario, choice);
  equal(new Set(reply.ids).size, reply.calls.length);
  const hasForm = (id) => id.startsWith(client.idPrefix) && /^[a-zA-Z0-9_-]{1,64}$/.test(id);
  assert(reply.ids.every(hasForm), `ids ${reply.ids}`);
}

// An error status: class, status, text, the code in the OpenAI APIs, the type in Messages.
async function refused(client, scenario, options, kind, status, message, code, type) {
  const error = await thrown(client.sdk[kind], () => start(client, scenario, options));
  equal(error.status, status);
  assert(error.message.includes(message), error.message);
  if (client.api === "messages") equal([error.error.type, error.error.error.type], ["error", type]);
  else equal(error.code, code);
  equal(client.seen.parts, []);
  return error;
}

// What a helper of the OpenAI SDK makes of a reply that ends too early, which it demands whole.
const lacksEnd = (client) => client.mode === "helper" && client.api === "chat";

const MULTI = {
  async reasoning(client) {
    const [reply, history] = await start(client, "think");
    equal([reply.reasoning, reply.text], ["Hm, well.", "Forty-two."]);
    // The next request carries it; the model does not read it again.
    history.push(...reply.native, client.user("scenario: prompt"));
    const { text } = await client.ask(history, { tools: [] });
    assert(text.includes("Forty-two.") && !text.includes("Hm, well."), text);
  },
  async chain(client) {
    const [first, history] = await start(client, "chain");
    equal(first.shape, [["call", ...PARIS]]);
    const second = await follow(client, history, first, ["rain"]);
    equal(second.shape, [["text", "And Rome."], ["call", ...ROME]]);
    equal(new Set([...first.ids, ...second.ids]).size, 2);
    const third = await follow(client, history, second, ["sun"]);
    equal(third.shape, [["text", "The results: sun."]]);
    equal(third.finish, client.finishes.stop);
  },
  async parallel_results(client) {
    const [reply, history] = await start(client, "parallel");
    equal((await follow(client, history, reply, ["rain", "sun"])).shape, [["text", "The results: rain, sun."]]);
  },
  // Without tools the calls before are still part of the conversation.
  async none_after_calls(client) {
    const [reply, history] = await start(client, "parallel");
    history.push(...reply.native, ...client.results(reply, ["rain", "sun"]));
    const last = await client.ask(history, client.choices.none);
    equal([last.shape, last.finish], [[["text", "The results: rain, sun."]], client.finishes.stop]);
  },
  // Results as lists of parts, one of them of a call that the client says has failed.
  async results_in_parts(client) {
    const [reply, history] = await start(client, "parallel");
    const results = client.results(reply, [[client.part("rain")], [client.part("sun")]]);
    if (client.api === "messages") results[0].content[0].is_error = true;
    equal((await client.ask([...history, ...reply.native, ...results])).text, "The results: rain, sun.");
  },
  // Histories that were cut: a result whose call is gone still reaches the model, and a call may have no result.
  async results_without_calls(client) {
    const gone = client.results({ ids: ["call_gone"] }, ["fog"]);
    equal((await client.ask([client.user("scenario: one"), ...gone])).text, "The results: fog.");
    const [reply, history] = await start(client, "one");
    equal((await client.ask([...history, ...reply.native, client.user("scenario: text")])).text, "Hello there.");
  },
  async depends(client) {
    const stored = client.api === "responses" ? { store: true } : {};
    const [first, history] = await start(client, "depends", stored);
    const second = await follow(client, history, first, ["Ada"], stored);
    equal(second.shape, [["call", "create", { user: { name: "Ada", age: 3 } }]]);
    equal((await follow(client, history, second, ["made"], stored)).shape, [["text", "The results: made."]]);
  },
  // The call that waits is not kept; the model reads the result and goes by that.
  async depends_without_a_store(client) {
    if (client.api !== "responses") return;
    const [first, history] = await start(client, "depends");
    equal(first.shape, [["call", ...PARIS]]);
    equal((await follow(client, history, first, ["Ada"])).calls, []);
  },
  async image(client) {
    equal((await client.ask([client.image("scenario: image")])).text, "I see an image.");
    equal((await start(client, "image"))[0].text, "I see nothing.");
  },
  async adjacent_messages(client) {
    const reply = await client.ask([client.user("scenario: echo"), client.user("second")], { tools: [] });
    equal(reply.text.split(/\s+/), ["scenario:", "echo", "second"]);
  },
  async length(client) {
    // As with the real API: the helper demands whole calls where tools are strict.
    if (lacksEnd(client)) return thrown(LengthFinishReasonError, () => start(client, "length"));
    const [reply] = await start(client, "length");
    equal(reply.parts, [["text", "Half a sent"]]);
    equal(reply.finish, client.finishes.length);
    equal(reply.usage, [100, 20]);
  },
  // The call that was whole is there; the one that was cut is not.
  async length_in_call(client) {
    if (lacksEnd(client)) return thrown(LengthFinishReasonError, () => start(client, "length-call"));
    const [reply] = await start(client, "length-call");
    equal(reply.shape, [["call", ...PARIS]]);
    // Clients of Messages drop calls unless the reason is tool_use.
    equal(reply.finish, client.finishes[client.api === "messages" ? "calls" : "length"]);
  },
  async cut(client) {
    if (client.mode === "plain") {
      const error = await thrown(client.sdk.InternalServerError, () => start(client, "cut"));
      equal(error.status, 502);
    } else if (client.api === "responses") {
      equal((await start(client, "cut"))[0].finish, "failed");
    } else {
      const error = await thrown(client.sdk.APIError, () => start(client, "cut"));
      assert(error.message.includes("cut off"), error.message);
      if (client.api === "messages") equal(error.error.error.type, "api_error");
    }
    equal(client.seen.calls, []);
  },
  async rate_limit(client) {
    const error = await refused(
      client, "rate-limit", {}, "RateLimitError", 429, "slow down", "rate_limit_error", "rate_limit_error",
    );
    equal(error.headers.get("retry-after"), "7");
  },
  async overloaded(client) {
    // The SDK of Anthropic has a class of its own for its status 529.
    const [kind, status] = client.api === "messages" ? ["OverloadedError", 529] : ["InternalServerError", 503];
    await refused(client, "overloaded", {}, kind, status, "busy", null, "overloaded_error");
  },
  async too_long(client) {
    const code = "context_length_exceeded";
    await refused(
      client, "too-long", {}, "BadRequestError", 400, "maximum context length", code, "invalid_request_error",
    );
  },
  async broken(client) {
    await refused(client, "broken", {}, "InternalServerError", 502, "not valid", "invalid_tool_call", "api_error");
  },
  async errors_have_request_ids(client) {
    const error = await thrown(client.sdk.BadRequestError, () => start(client, "too-long"));
    assert(error.requestID, "no request id");
  },
};

// A demanded call that the model does not write is an error with a status: no text is streamed before the first call.
async function stubborn(client, choice) {
  const [message, code] = ["tool_choice not satisfied", "tool_choice_not_satisfied"];
  const options = client.choices[choice];
  await refused(client, "stubborn", options, "BadRequestError", 400, message, code, "invalid_request_error");
  equal(client.seen.calls, []);
}

// A client that goes away ends its request.
async function disconnect(client) {
  const stream = await {
    chat: () => client.client.chat.completions.create({ model: MODEL, messages, stream: true }),
    responses: () => client.client.responses.create({ model: MODEL, input: messages, stream: true }),
    messages: () => client.client.messages.create({ model: MODEL, messages, max_tokens: 10, stream: true }),
  }[client.api]();
  let text = "";
  for await (const event of stream) {
    text += JSON.stringify(event);
    if (text.split("tick").length > 3) break;
  }
  // Leaving the loop aborts the request.
  await untilIdle();
}
const messages = [{ role: "user", content: "scenario: endless" }];

async function disconnectByAbort() {
  const { client } = new Chat("helper");
  const stream = client.chat.completions.stream({ model: MODEL, messages });
  let pieces = 0;
  await new Promise((resolve) => stream.on("content", () => ++pieces === 3 && resolve()));
  equal(await inFlight(), 1);
  const done = thrown(OpenAI.APIUserAbortError, () => stream.done());
  stream.abort();
  await done;
  await untilIdle();
}

async function chatCustom(isStreaming) {
  const { client } = new Chat("plain");
  const tools = [{ type: "custom", custom: { name: "apply_patch", description: "Edits.", format: { type: "text" } } }];
  const messages = [{ role: "user", content: "scenario: patch" }];
  let [call, finish] = [{ custom: { input: "" } }, null];
  if (isStreaming) {
    for await (const chunk of await client.chat.completions.create({ model: MODEL, messages, tools, stream: true })) {
      for (const { index, custom, ...delta } of chunk.choices[0].delta.tool_calls ?? []) {
        equal(index, 0);
        const input = call.custom.input + (custom.input ?? "");
        call = { ...call, ...delta, custom: { ...call.custom, ...custom, input } };
      }
      finish ??= chunk.choices[0].finish_reason;
    }
  } else {
    const { choices } = await client.chat.completions.create({ model: MODEL, messages, tools });
    finish = choices[0].finish_reason;
    [call] = choices[0].message.tool_calls;
  }
  equal([finish, call.type, call.custom.name, call.custom.input], ["tool_calls", "custom", "apply_patch", PATCH]);
  messages.push({ role: "assistant", content: null, tool_calls: [call] });
  messages.push({ role: "tool", tool_call_id: call.id, content: "done" });
  const { choices } = await client.chat.completions.create({ model: MODEL, messages, tools });
  equal(choices[0].message.content, "The results: done.");
}

async function responsesCustom(mode) {
  const client = new Responses(mode);
  const tools = [{ type: "custom", name: "apply_patch", description: "Edits.", format: { type: "text" } }];
  const [reply, history] = await start(client, "patch", { tools });
  equal(reply.parts, [["call", "apply_patch", PATCH]]);
  equal(reply.native[0].type, "custom_tool_call");
  const result = { type: "custom_tool_call_output", call_id: reply.ids[0], output: "done" };
  equal((await client.ask([...history, ...reply.native, result], { tools })).text, "The results: done.");
}

async function responsesNamespace(mode) {
  const client = new Responses(mode);
  const find = { type: "function", name: "find", parameters: { type: "object", properties: { id: { type: "string" } } } };
  const tools = [{ type: "namespace", name: "crm", description: "Customers.", tools: [find] }];
  const [reply, history] = await start(client, "crm", { tools });
  equal(reply.parts, [["call", "find", { id: "7" }]]);
  equal(reply.native[0].namespace, "crm");
  history.push(...reply.native, ...client.results(reply, ["Ada"]));
  equal((await client.ask(history, { tools })).text, "The results: Ada.");
}

const WEATHER = { Paris: "rain", Rome: "sun" };

// The helpers that run tools by themselves.
async function runTools(scenario, isStreaming, wanted) {
  const asked = [];
  const tools = [
    {
      type: "function",
      function: {
        name: "get_weather",
        parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
        parse: JSON.parse,
        function: ({ city }) => {
          asked.push(city);
          return WEATHER[city];
        },
      },
    },
  ];
  const messages = [{ role: "user", content: `scenario: ${scenario}` }];
  const { client } = new Chat("plain");
  const runner = client.chat.completions.runTools({ model: MODEL, messages, tools, stream: isStreaming });
  equal(await runner.finalContent(), wanted);
  equal(asked, ["Paris", "Rome"]);
}

// The runner asks for a thread that the server holds, and goes on without one if that is refused in the right words.
async function toolRunner(scenario, isStreaming, wanted) {
  const asked = [];
  const tool = betaZodTool({
    name: "get_weather",
    description: "Looks.",
    inputSchema: z.object({ city: z.string() }),
    run: ({ city }) => {
      asked.push(city);
      return WEATHER[city];
    },
  });
  const messages = [{ role: "user", content: `scenario: ${scenario}` }];
  const { client } = new Messages("plain");
  const runner = client.beta.messages.toolRunner({ model: MODEL, max_tokens: 100, messages, tools: [tool], stream: isStreaming });
  const last = await runner.runUntilDone();
  equal(asked, ["Paris", "Rome"]);
  equal(last.content.map((block) => block.text), [wanted]);
}

const OTHERS = {
  disconnectByAbort,
  async usageOnDemand() {
    const [reply] = await start(new Chat("stream"), "one", { stream_options: { include_usage: false } });
    equal([reply.usage, reply.calls], [null, [PARIS]]);
  },
  async messagesText() {
    const stream = new Messages("helper").client.messages.stream({
      model: MODEL, max_tokens: 10, messages: [{ role: "user", content: "scenario: text" }],
    });
    equal(await stream.finalText(), "Hello there.");
  },
  async countTokens() {
    const client = new Messages("plain");
    const messages = [client.user("scenario: text")];
    const count = (tools) => client.client.messages.countTokens({ model: MODEL, messages, ...tools });
    const few = (await count({})).input_tokens;
    const many = (await count({ tools: client.tools() })).input_tokens;
    assert(few > 0 && many > few, `${few} and ${many}`);
  },
  async models() {
    const openai = new Chat("plain").client;
    const ids = [];
    for await (const model of openai.models.list()) ids.push([model.id, model.object]);
    equal(ids, [[MODEL, "model"]]);
    equal((await openai.models.retrieve(MODEL)).id, MODEL);
    const anthropic = new Messages("plain").client;
    const names = [];
    for await (const model of anthropic.models.list()) names.push([model.id, model.type, model.display_name]);
    equal(names, [[MODEL, "model", MODEL]]);
    equal((await anthropic.models.retrieve(MODEL)).id, MODEL);
  },
  async unknownPaths() {
    const openai = new Chat("plain").client;
    const error = await thrown(OpenAI.NotFoundError, () => openai.embeddings.create({ model: MODEL, input: "x" }));
    equal(error.type, "invalid_request_error");
    const anthropic = new Messages("plain").client;
    const other = await thrown(Anthropic.NotFoundError, () => anthropic.messages.batches.list());
    equal(other.error.error.type, "not_found_error");
  },
  async concurrent() {
    const client = () => new Chat("stream");
    const asked = Array.from({ length: 16 }, (_, at) => start(client(), at % 2 ? "one" : "noargs"));
    const replies = (await Promise.all(asked)).map(([reply]) => reply);
    equal(new Set(replies.flatMap((reply) => reply.ids)).size, 16);
    replies.forEach((reply, at) => equal(reply.calls, [at % 2 ? PARIS : ["ping", {}]]));
  },
};

for (const client of clients) {
  for (const [scenario, choice, finish, parts] of SINGLE) {
    const name = choice ? `${scenario}, tool_choice ${choice}` : scenario;
    await check(`${client.name}: ${name}`, () => single(client, scenario, choice, finish, parts));
  }
  for (const [name, run] of Object.entries(MULTI)) await check(`${client.name}: ${name}`, () => run(client));
  for (const choice of ["required", "named"]) {
    await check(`${client.name}: stubborn, tool_choice ${choice}`, () => stubborn(client, choice));
  }
  if (client.mode === "stream") await check(`${client.name}: disconnect`, () => disconnect(client));
}
for (const mode of ["plain", "stream", "helper"]) {
  await check(`responses/${mode}: custom tool`, () => responsesCustom(mode));
  await check(`responses/${mode}: namespace`, () => responsesNamespace(mode));
}
for (const isStreaming of [false, true]) {
  const how = isStreaming ? " stream" : "";
  await check(`chat${how}: custom tool`, () => chatCustom(isStreaming));
  for (const [scenario, wanted] of [["chain", "The results: sun."], ["parallel", "The results: rain, sun."]]) {
    await check(`runTools${how}: ${scenario}`, () => runTools(scenario, isStreaming, wanted));
    await check(`toolRunner${how}: ${scenario}`, () => toolRunner(scenario, isStreaming, wanted));
  }
}
for (const [name, run] of Object.entries(OTHERS)) await check(name, run);
await aiSdk();
summary();
