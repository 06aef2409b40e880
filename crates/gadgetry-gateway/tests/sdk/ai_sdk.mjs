// The AI SDK with each of its providers that can speak to the gateway.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

import { assert, BASE, check, equal, equalParts, equalUsage, inFlight, MODEL, PARIS, PATCH, PNG } from "./check.mjs";
import { Reply, ROME, SCHEMAS, SINGLE, thrown, untilIdle } from "./check.mjs";

// Each request to a model that a provider does not know is one.
globalThis.AI_SDK_LOG_WARNINGS = false;

const baseURL = `${BASE}/v1`;
const openai = createOpenAI({ baseURL, apiKey: "none" });
const anthropic = createAnthropic({ baseURL, apiKey: "none" });
const compatible = createOpenAICompatible({ name: "gadgetry", baseURL, apiKey: "none", includeUsage: true });

// `keepsOrder`: whether the provider hands on text and calls in order; over Chat Completions all text is one part. `single`: how
// parallel calls are switched off.
const PROVIDERS = {
  "openai.chat": {
    model: openai.chat(MODEL),
    options: { single: { openai: { parallelToolCalls: false } } },
    keepsOrder: false,
    overloaded: 503,
  },
  "openai.responses": {
    model: openai.responses(MODEL),
    // Otherwise the next request refers to items that the server is to have stored.
    options: { always: { openai: { store: false } }, single: { openai: { store: false, parallelToolCalls: false } } },
    keepsOrder: true,
    overloaded: 503,
  },
  "openai-compatible": {
    model: compatible(MODEL),
    options: {},
    keepsOrder: false,
    overloaded: 503,
  },
  anthropic: {
    model: anthropic(MODEL),
    options: { single: { anthropic: { disableParallelToolUse: true } } },
    keepsOrder: true,
    overloaded: 529,
  },
};

const CHOICES = { auto: "auto", none: "none", required: "required", named: { type: "tool", toolName: "get_weather" } };
const FINISHES = { stop: "stop", calls: "tool-calls", length: "length" };
const WEATHER = { Paris: "rain", Rome: "sun" };
const TOOLS = Object.fromEntries(
  Object.entries(SCHEMAS).map(([name, schema]) => [name, tool({ description: name, inputSchema: jsonSchema(schema) })]),
);

// Ways of one provider, streaming or not.
class Way {
  constructor(name, provider, isStreaming) {
    this.name = `ai/${name}/${isStreaming ? "streamText" : "generateText"}`;
    this.provider = provider;
    this.isStreaming = isStreaming;
    this.seen = new Reply();
  }

  // The reply to a scenario. Errors of a stream are thrown.
  async ask(scenario, { choice, ...options } = {}) {
    this.seen = new Reply();
    const { seen } = this;
    const named = this.provider.options;
    const request = {
      model: this.provider.model,
      maxRetries: 0,
      tools: TOOLS,
      providerOptions: named[choice] ?? named.always,
      toolChoice: CHOICES[choice],
      ...(options.messages ? {} : { prompt: `scenario: ${scenario}` }),
      ...options,
    };
    const result = this.isStreaming ? await this.stream(request) : await generateText(request);
    for (const part of this.isStreaming ? [] : result.content) {
      if (part.type === "text") seen.say(part.text);
      if (part.type === "tool-call") seen.call(part.toolCallId, part.toolName, part.input);
    }
    seen.finish = await result.finishReason;
    const usage = await result.usage;
    seen.usage = [usage.inputTokens, usage.outputTokens];
    seen.steps = await result.steps;
    seen.text_of_last = await result.text;
    seen.reasoning = await result.reasoningText;
    return seen;
  }

  async stream(request) {
    const result = streamText({ ...request, onError() {} });
    for await (const part of result.fullStream) {
      if (part.type === "error") {
        // Its promises would be rejected later without anyone to see it.
        Promise.allSettled([result.finishReason, result.usage, result.steps, result.text, result.reasoningText]);
        throw part.error;
      }
      if (part.type === "text-delta") this.seen.say(part.text);
      if (part.type === "tool-call") this.seen.call(part.toolCallId, part.toolName, part.input);
    }
    return result;
  }
}

async function single(way, scenario, choice, finish, parts) {
  const reply = await way.ask(scenario, { choice });
  equalParts(reply, parts, way.provider.keepsOrder);
  equal(reply.finish, FINISHES[finish]);
  equalUsage(reply.usage, scenario, choice);
}

// A whole agent: calls are executed and their results sent until the model answers.
async function agent(way, scenario, calls, texts) {
  const asked = [];
  const get_weather = tool({
    description: "Looks.",
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => {
      asked.push(city);
      return WEATHER[city];
    },
  });
  const reply = await way.ask(scenario, { tools: { get_weather }, stopWhen: stepCountIs(5) });
  equal(asked, ["Paris", "Rome"]);
  equal(reply.steps.map((step) => step.toolCalls.map((call) => [call.toolName, call.input])), calls);
  equal(reply.steps.map((step) => step.text.trim()), texts);
  equal(reply.text_of_last, texts.at(-1));
  equal(reply.finish, "stop");
  equal(new Set(reply.steps.flatMap((step) => step.toolCalls.map((call) => call.toolCallId))).size, 2);
}

async function refused(way, scenario, options, status, message) {
  const error = await thrown(APICallError, () => way.ask(scenario, options));
  equal(error.statusCode, status);
  assert(error.message.includes(message), error.message);
  equal(way.seen.parts, []);
  return error;
}

// The error in the middle of a stream: the providers hand on what the server has sent.
async function failed(way, scenario, options, message) {
  let error;
  try {
    await way.ask(scenario, options);
  } catch (thrown) {
    error = thrown;
  }
  assert(error, `no error, but ${JSON.stringify(way.seen.parts)}`);
  const text = `${error.message ?? ""} ${JSON.stringify(error)}`;
  assert(text.includes(message), text);
  equal(way.seen.calls, []);
}

const CASES = {
  async image(way) {
    const image = { type: "image", image: `data:image/png;base64,${PNG}` };
    const content = [{ type: "text", text: "scenario: image" }, image];
    equal((await way.ask("", { messages: [{ role: "user", content }] })).text, "I see an image.");
    equal((await way.ask("image")).text, "I see nothing.");
  },
  async reasoning(way) {
    const reply = await way.ask("think");
    equal(reply.text, "Forty-two.");
    // The provider for OpenAI's own servers does not know the field, which others have added.
    equal(reply.reasoning, way.name.includes("openai.chat") ? undefined : "Hm, well.");
  },
  async length(way) {
    const reply = await way.ask("length");
    equal([reply.text, reply.finish, reply.usage], ["Half a sent", "length", [100, 20]]);
  },
  // The call that was whole is there; the one that was cut is not.
  async length_in_call(way) {
    const reply = await way.ask("length-call");
    equal(reply.shape, [["call", ...PARIS]]);
    equal(reply.finish, way.name.includes("anthropic") ? "tool-calls" : "length");
  },
  async cut(way) {
    if (way.isStreaming) await failed(way, "cut", {}, "cut off");
    else await refused(way, "cut", {}, 502, "cut off");
  },
  async rate_limit(way) {
    const error = await refused(way, "rate-limit", {}, 429, "slow down");
    equal(error.responseHeaders["retry-after"], "7");
    equal(error.isRetryable, true);
  },
  async overloaded(way) {
    equal((await refused(way, "overloaded", {}, way.provider.overloaded, "busy")).isRetryable, true);
  },
  async too_long(way) {
    equal((await refused(way, "too-long", {}, 400, "maximum context length")).isRetryable, false);
  },
  async broken(way) {
    await refused(way, "broken", {}, 502, "not valid");
  },
  async stubborn(way) {
    const message = "tool_choice not satisfied";
    for (const choice of ["required", "named"]) {
      await refused(way, "stubborn", { choice }, 400, message);
    }
  },
  async chain(way) {
    await agent(way, "chain", [[PARIS], [ROME], []], ["", "And Rome.", "The results: sun."]);
  },
  async parallel_results(way) {
    await agent(way, "parallel", [[PARIS, ROME], []], ["Both:", "The results: rain, sun."]);
  },
  async no_call_without_tools(way) {
    equal((await way.ask("text", { tools: undefined })).text, "Hello there.");
  },
};

async function disconnect(way) {
  const controller = new AbortController();
  const result = streamText({
    model: way.provider.model,
    prompt: "scenario: endless",
    abortSignal: controller.signal,
    maxRetries: 0,
    onError() {},
  });
  let [pieces, isAborted] = [0, false];
  for await (const part of result.fullStream) {
    if (part.type === "text-delta" && ++pieces === 3) {
      equal(await inFlight(), 1);
      controller.abort();
    }
    isAborted ||= part.type === "abort";
  }
  equal(isAborted, true);
  await untilIdle();
}

async function custom(way) {
  const apply_patch = openai.tools.customTool({ name: "apply_patch", description: "Edits.", format: { type: "text" } });
  const reply = await way.ask("patch", { tools: { apply_patch } });
  equal(reply.parts, [["call", "apply_patch", PATCH]]);
  equal(reply.finish, "tool-calls");
}

// Without `store: false` the provider refers to its earlier messages by their ids. They reach the model all the same, or an error
// says what to do; a conversation with holes in it would go unnoticed.
async function stored(way) {
  const model = way.provider.model;
  const messages = [{ role: "user", content: "scenario: text" }];
  messages.push(...(await generateText({ model, messages, maxRetries: 0 })).response.messages);
  messages.push({ role: "user", content: "scenario: prompt" });
  let text;
  try {
    ({ text } = await way.ask("", { messages, tools: undefined, providerOptions: undefined }));
  } catch (error) {
    equal(error.constructor, APICallError);
    assert([400, 404].includes(error.statusCode), `status ${error.statusCode}`);
    return assert(error.message.includes("store"), error.message);
  }
  assert(text.includes("Hello there."), text);
}

export async function aiSdk() {
  for (const [name, provider] of Object.entries(PROVIDERS)) {
    for (const isStreaming of [false, true]) {
      const way = new Way(name, provider, isStreaming);
      for (const [scenario, choice, finish, parts] of SINGLE) {
        // The provider for other servers has no option for it.
        if (choice === "single" && !provider.options.single) continue;
        const title = choice ? `${scenario}, tool_choice ${choice}` : scenario;
        await check(`${way.name}: ${title}`, () => single(way, scenario, choice, finish, parts));
      }
      for (const [title, run] of Object.entries(CASES)) await check(`${way.name}: ${title}`, () => run(way));
      if (isStreaming) await check(`${way.name}: disconnect`, () => disconnect(way));
      if (name === "openai.responses") {
        await check(`${way.name}: custom tool`, () => custom(way));
        await check(`${way.name}: stored items`, () => stored(way));
      }
    }
  }
}
