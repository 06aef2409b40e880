// The official SDKs on a model that writes text, without a server of ours.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";
import { ConfigError } from "gadgetry";
import { wrapAnthropic } from "gadgetry/anthropic";
import { wrapOpenAI } from "gadgetry/openai";
import OpenAI from "openai";

import { textModel } from "./server.js";

let server;
before(async () => (server = await textModel()));
after(() => server.close());
beforeEach(() => server.reset());

const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const tools = [{ type: "function", function: { name: "weather", description: "Get the weather.", parameters: schema } }];
const messages = [{ role: "user", content: "What is the weather in Paris?" }];
const openai = (options) => wrapOpenAI(new OpenAI({ baseURL: server.url, apiKey: "secret", maxRetries: 0 }), options);

test("Chat Completions", async () => {
  const client = openai();
  const answer = await client.chat.completions.create({ model: "m", messages, tools });
  const [call] = answer.choices[0].message.tool_calls;
  assert.deepEqual([call.function.name, JSON.parse(call.function.arguments)], ["weather", { city: "Paris" }]);
  assert.equal(answer.choices[0].finish_reason, "tool_calls");
  const [{ body, headers }] = server.requests;
  assert.deepEqual([body.tools, headers.authorization], [undefined, "Bearer secret"]);
  const talk = [...messages, answer.choices[0].message, { role: "tool", tool_call_id: call.id, content: "sunny" }];
  const last = await client.chat.completions.create({ model: "m", messages: talk, tools });
  assert.equal(last.choices[0].message.content, "It is sunny in Paris.");
});

test("the key of a client is for its own server", async () => {
  for (const [own, apiKey, sent] of [
    ["http://127.0.0.1:9/v1", undefined, undefined],
    ["http://127.0.0.1:9/v1", "other", "Bearer other"],
    [server.url, undefined, "Bearer secret"],
  ]) {
    server.reset();
    const client = new OpenAI({ baseURL: own, apiKey: "secret", maxRetries: 0 });
    await wrapOpenAI(client, { upstream: server.url, apiKey }).chat.completions.create({ model: "m", messages, tools });
    assert.equal(server.requests[0].headers.authorization, sent);
  }
});

test("what a client sends reaches its own server", async () => {
  const away = "http://127.0.0.1:9/v1";
  const titled = { "X-Title": "a title", Accept: "x/y", "X-None": null };
  for (const [kind, given, api, sent] of [
    [Anthropic, { apiKey: "k" }, "chat", { authorization: "Bearer k", "x-api-key": undefined }],
    [Anthropic, { authToken: "t" }, "chat", { authorization: "Bearer t", "x-api-key": undefined }],
    [Anthropic, { authToken: "t" }, "messages", { authorization: "Bearer t", "x-api-key": undefined }],
    // A key in the form of the server. That of earlier SDKs is in this header.
    [Anthropic, { defaultHeaders: { "X-Api-Key": "k" } }, "chat", { authorization: "Bearer k", "x-api-key": undefined }],
    [Anthropic, { defaultHeaders: { "X-Api-Key": "k" } }, "messages", { authorization: undefined, "x-api-key": "k" }],
    [OpenAI, { apiKey: "k" }, "messages", { authorization: undefined, "x-api-key": "k" }],
    [OpenAI, { apiKey: async () => "k" }, "chat", { authorization: "Bearer k" }],
    [OpenAI, { apiKey: "k", defaultHeaders: { Authorization: "Basic Og==" } }, "chat", { authorization: "Basic Og==" }],
    // The other headers of the client, but not those of its requests to the gateway.
    [OpenAI, { apiKey: "k", defaultHeaders: titled }, "chat", { "x-title": "a title", "x-none": undefined }],
    [OpenAI, { apiKey: "k", defaultHeaders: Object.entries(titled).slice(0, 2) }, "chat", { "x-title": "a title" }],
    [Anthropic, { apiKey: "k", defaultHeaders: new Headers({ "Proxy-Token": "t" }) }, "chat", { "proxy-token": "t" }],
  ]) {
    for (const upstream of [undefined, server.url]) {
      server.reset();
      const client = new kind({ baseURL: upstream === undefined ? server.url : away, maxRetries: 0, ...given });
      const isOpenAI = kind === OpenAI;
      const made = (isOpenAI ? wrapOpenAI : wrapAnthropic)(client, { upstream, api });
      const asked = isOpenAI ? made.chat.completions.create({ model: "m", messages }) : made.messages.create({ model: "m", max_tokens: 100, messages });
      // The server has no `messages`, but sees what it is sent.
      await asked.catch((error) => assert.ok(error instanceof kind.APIError, error));
      const [{ headers }] = server.requests;
      for (const [name, value] of Object.entries(sent)) assert.equal(headers[name], upstream === undefined ? value : undefined, `${name} ${JSON.stringify(given)}`);
      assert.notEqual(headers.accept, "x/y");
    }
  }
});

test("a key that a function returns", async () => {
  const keys = ["one", "one", "two"];
  const client = wrapOpenAI(new OpenAI({ baseURL: server.url, apiKey: async () => keys.shift(), maxRetries: 0 }));
  for (let asked = 0; asked < 3; asked++) await client.chat.completions.create({ model: "m", messages });
  assert.deepEqual(server.requests.map(({ headers }) => headers.authorization), ["Bearer one", "Bearer one", "Bearer two"]);
});

test("proxies", async (t) => {
  const proxy = new URL(server.url).origin;
  t.after(() => ["NODE_USE_ENV_PROXY", "HTTP_PROXY"].forEach((name) => delete process.env[name]));
  for (const [environment, named, reaches] of [
    [{ NODE_USE_ENV_PROXY: "1", HTTP_PROXY: proxy }, undefined, true],
    [{ NODE_USE_ENV_PROXY: "1", HTTP_PROXY: "http://127.0.0.1:9" }, proxy, true],
    [{ NODE_USE_ENV_PROXY: "", HTTP_PROXY: proxy }, undefined, false],
  ]) {
    server.reset();
    Object.assign(process.env, environment);
    const client = new OpenAI({ baseURL: "http://model.invalid/v1", apiKey: "k", maxRetries: 0 });
    const asked = wrapOpenAI(client, { proxy: named }).chat.completions.create({ model: "m", messages });
    if (!reaches) {
      await assert.rejects(asked, OpenAI.APIError);
      continue;
    }
    await asked;
    assert.equal(server.requests[0].target, "http://model.invalid/v1/chat/completions");
  }
  assert.throws(() => openai({ proxy: "no address" }), ConfigError);
});

test("streams", async () => {
  const client = openai();
  let text = "";
  let json = "";
  const names = [];
  for await (const { choices } of await client.chat.completions.create({ model: "m", messages, tools, stream: true })) {
    for (const { delta } of choices) {
      text += delta.content ?? "";
      for (const call of delta.tool_calls ?? []) {
        if (call.function.name) names.push(call.function.name);
        json += call.function.arguments ?? "";
      }
    }
  }
  assert.deepEqual([text.trim(), names, JSON.parse(json)], ["Let me look.", ["weather"], { city: "Paris" }]);
  // A stream that is left ends its request.
  for await (const _ of await client.chat.completions.create({ model: "m", messages, tools, stream: true })) break;
});

test("the SDK's own loop of tools", async () => {
  const called = [];
  const runner = openai().chat.completions.runTools({
    model: "m",
    messages,
    tools: [{ type: "function", function: { ...tools[0].function, parse: JSON.parse, function: ({ city }) => void called.push(city) ?? "sunny" } }],
  });
  assert.equal(await runner.finalContent(), "It is sunny in Paris.");
  assert.deepEqual(called, ["Paris"]);
});

test("Responses", async () => {
  const tool = { type: "function", name: "weather", description: "Get the weather.", parameters: schema, strict: false };
  const answer = await openai().responses.create({ model: "m", input: "What is the weather in Paris?", tools: [tool] });
  const calls = answer.output.filter(({ type }) => type === "function_call");
  assert.deepEqual(calls.map((it) => [it.name, JSON.parse(it.arguments)]), [["weather", { city: "Paris" }]]);
  const types = [];
  for await (const event of await openai().responses.create({ model: "m", input: "The weather in Paris?", tools: [tool], stream: true })) types.push(event.type);
  assert.equal(types.at(-1), "response.completed");
  assert.ok(types.includes("response.function_call_arguments.done"));
});

const anthropicTools = [{ name: "weather", description: "Get the weather.", input_schema: schema }];

test("Messages", async () => {
  const client = wrapAnthropic(new Anthropic({ baseURL: server.url, apiKey: "secret", maxRetries: 0 }));
  const answer = await client.messages.create({ model: "m", max_tokens: 100, messages, tools: anthropicTools });
  const used = answer.content.filter(({ type }) => type === "tool_use");
  assert.deepEqual(used.map(({ name, input }) => [name, input]), [["weather", { city: "Paris" }]]);
  assert.equal(answer.stop_reason, "tool_use");
  const stream = client.messages.stream({ model: "m", max_tokens: 100, messages, tools: anthropicTools });
  let text = "";
  stream.on("text", (piece) => (text += piece));
  const whole = await stream.finalMessage();
  assert.equal(text.trim(), "Let me look.");
  assert.deepEqual(whole.content.filter(({ type }) => type === "tool_use").map(({ input }) => input), [{ city: "Paris" }]);
});

test("errors are those of the SDK", async () => {
  server.fails = true;
  await assert.rejects(openai().chat.completions.create({ model: "m", messages, tools }), (error) => {
    return error instanceof OpenAI.RateLimitError && /slow down/.test(error.message);
  });
  const away = wrapOpenAI(new OpenAI({ baseURL: "http://127.0.0.1:9/v1", apiKey: "none", maxRetries: 0 }));
  await assert.rejects(away.chat.completions.create({ model: "m", messages }), OpenAI.APIError);
  assert.throws(() => openai({ api: "soap" }), ConfigError);
});

test("abort", async () => {
  server.isSlow = true;
  for (const stream of [false, true]) {
    const abort = new AbortController();
    const over = openai().chat.completions.create({ model: "m", messages, tools, stream }, { signal: abort.signal });
    await server.next();
    abort.abort();
    await assert.rejects(async () => {
      for await (const _ of await over);
    }, OpenAI.APIUserAbortError);
  }
});
