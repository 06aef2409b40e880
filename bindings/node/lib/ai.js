// Middleware of the AI SDK: tool calls on a model that writes text.
import { randomBytes } from "node:crypto";

import { ConfigError, sync } from "./errors.js";
import { native } from "./native.js";
import { encode } from "./options.js";

const OPTIONS = ["form", "repairs", "examples", "reasoning", "markers"];

export function gadgetryMiddleware(options = {}) {
  const encoded = encode(options, OPTIONS, "the middleware");
  return {
    specificationVersion: "v3",

    async wrapGenerate({ doGenerate, params, model }) {
      if (!mayCall(params)) return doGenerate();
      const exchange = new Exchange(params, encoded);
      const parts = new Content();
      const results = [];
      for (;;) {
        const result = await model.doGenerate(exchange.params());
        results.push(result);
        const deltas = result.content.flatMap(contentDelta);
        const step = exchange.push([{ type: "message_start" }, ...deltas, end(result)]);
        parts.add(step.deltas);
        if (step.step !== "again") break;
      }
      const last = results.at(-1);
      return {
        ...last,
        content: parts.content,
        finishReason: parts.finishReason(last.finishReason),
        usage: results.map((it) => it.usage).reduce(plus),
        warnings: [...last.warnings, ...exchange.warnings],
      };
    },

    async wrapStream({ doStream, params, model }) {
      if (!mayCall(params)) return doStream();
      const exchange = new Exchange(params, encoded);
      const first = await model.doStream(exchange.params());
      return { ...first, stream: ReadableStream.from(streamed(exchange, model, first.stream)) };
    },
  };
}

async function* streamed(exchange, model, first) {
  let stream = first;
  let usage;
  let isFirst = true;
  const parts = new StreamParts();
  for (;;) {
    let step = exchange.push([{ type: "message_start" }]);
    yield* parts.of(step.deltas);
    let finish;
    for await (const part of stream) {
      if (part.type === "stream-start") {
        if (isFirst) yield { ...part, warnings: [...part.warnings, ...exchange.warnings] };
        continue;
      }
      if (part.type === "finish") {
        finish = part;
        usage = usage === undefined ? part.usage : plus(usage, part.usage);
        step = exchange.push([end(part)]);
      } else if (part.type === "text-delta" || part.type === "reasoning-delta") {
        step = exchange.push([{ type: part.type === "text-delta" ? "text" : "reasoning", delta: part.delta }]);
      } else {
        // The model's own texts have other bounds.
        if (!OWN_PARTS.includes(part.type) && (isFirst || part.type !== "response-metadata")) yield part;
        continue;
      }
      yield* parts.of(step.deltas);
      // Leaving the loop cancels the rest of the stream.
      if (step.step !== "more") break;
    }
    if (step.step !== "again") {
      yield* parts.close();
      yield { ...finish, type: "finish", usage: usage ?? NO_USAGE, finishReason: parts.finishReason(finish?.finishReason) };
      return;
    }
    isFirst = false;
    ({ stream } = await model.doStream(exchange.params()));
  }
}

const OWN_PARTS = ["text-start", "text-end", "reasoning-start", "reasoning-end"];

const NO_USAGE = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

/** True if there is anything to do: tools, or earlier calls in the conversation. */
function mayCall({ tools, prompt }) {
  return tools?.some(({ type }) => type === "function") || prompt.some(({ role }) => role === "tool");
}

/** A request with tools, and what the model is sent for it. */
class Exchange {
  #native;
  #params;
  #request;
  warnings;

  constructor(params, options) {
    const { prompt, tools = [], toolChoice, stopSequences, ...rest } = params;
    this.#params = rest;
    const functions = tools.filter(({ type }) => type === "function");
    this.warnings = tools
      .filter(({ type }) => type !== "function")
      .map(({ name }) => ({ type: "unsupported", feature: `the provider's tool ${name}` }));
    const body = {
      model: "model",
      messages: prompt.flatMap(chatMessages),
      tools: functions.map(({ name, description, inputSchema: parameters }) => ({ type: "function", function: { name, description, parameters } })),
      tool_choice: functions.length === 0 ? undefined : chatChoice(toolChoice),
      stop: stopSequences,
    };
    if (functions.length === 0) delete body.tools;
    this.#native = sync(() => new native.Exchange(JSON.stringify(body), randomBytes(16).toString("hex"), options));
    this.#request = JSON.parse(this.#native.request());
  }

  /** The parameters of the next call of the model. */
  params() {
    const { messages, trailing = [] } = this.#request;
    return { ...this.#params, prompt: [...messages, ...trailing].map(promptMessage) };
  }

  push(deltas) {
    const step = JSON.parse(sync(() => this.#native.push(JSON.stringify(deltas))));
    if (step.step === "again") this.#request = step.request;
    return step;
  }
}

function chatChoice(choice) {
  if (choice === undefined) return undefined;
  return choice.type === "tool" ? { type: "function", function: { name: choice.toolName } } : choice.type;
}

function chatMessages({ role, content }) {
  if (role === "system") return [{ role, content }];
  if (role === "user") return [{ role, content: content.map(chatPart) }];
  if (role === "tool") {
    const results = content.filter(({ type }) => type === "tool-result");
    return results.map(({ toolCallId, output }) => ({ role, tool_call_id: toolCallId, content: resultText(output) }));
  }
  const text = content.filter(({ type }) => type === "text").map((part) => part.text).join("");
  const calls = content.filter(({ type }) => type === "tool-call").map(({ toolCallId, toolName, input }) => {
    const written = typeof input === "string" ? input : JSON.stringify(input ?? {});
    return { id: toolCallId, type: "function", function: { name: toolName, arguments: written } };
  });
  return [{ role, content: text, ...(calls.length > 0 ? { tool_calls: calls } : {}) }];
}

function chatPart(part) {
  if (part.type === "text") return { type: "text", text: part.text };
  if (!part.mediaType.startsWith("image/")) throw new ConfigError(`the middleware passes images only, and no ${part.mediaType}`);
  const type = part.mediaType === "image/*" ? "image/png" : part.mediaType;
  const data = part.data instanceof Uint8Array ? Buffer.from(part.data).toString("base64") : String(part.data);
  const isUrl = part.data instanceof URL || /^(https?|data):/.test(data);
  return { type: "image_url", image_url: { url: isUrl ? data : `data:${type};base64,${data}` } };
}

function resultText(output) {
  switch (output.type) {
    case "text":
    case "error-text":
      return output.value;
    case "execution-denied":
      return `The user denied this call${output.reason ? `: ${output.reason}` : "."}`;
    case "content":
      return output.value.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n");
    default:
      return JSON.stringify(output.value);
  }
}

/** A message of the engine for the AI SDK. */
function promptMessage({ role, content }) {
  const parts = content.map((part) => (part.type === "media" ? filePart(part) : { type: "text", text: part.text ?? "" }));
  if (role === "system") return { role, content: parts.map(({ text }) => text).join("\n\n") };
  return { role, content: parts };
}

function filePart({ mimeType: mediaType, data: { base64, url } }) {
  return { type: "file", mediaType, data: url === undefined ? base64 : new URL(url) };
}

function contentDelta(part) {
  if (part.type === "text") return [{ type: "text", delta: part.text }];
  if (part.type === "reasoning") return [{ type: "reasoning", delta: part.text }];
  return [];
}

const STOPS = { stop: "stop", length: "max_tokens", "content-filter": "content_filter", "tool-calls": "tool_use", error: "error" };

function end({ finishReason, usage }) {
  const { inputTokens, outputTokens } = usage ?? NO_USAGE;
  const delta = { type: "message_end", stopReason: STOPS[finishReason.unified] ?? finishReason.raw ?? "other" };
  if (inputTokens.total === undefined || outputTokens.total === undefined) return delta;
  const total = inputTokens.total + outputTokens.total;
  return { ...delta, usage: { inputTokens: inputTokens.total, outputTokens: outputTokens.total, totalTokens: total } };
}

/** What both ways of answering know of the deltas of the client. */
class Ending {
  #hasCalls = false;
  #stop;
  #error;

  see(delta) {
    if (delta.type === "tool_call") this.#hasCalls = true;
    else if (delta.type === "message_end") this.#stop = delta.stopReason;
    else if (delta.type === "error") this.#error = delta;
  }

  finishReason(given) {
    const raw = given?.raw;
    if (this.#error !== undefined) return { unified: "error", raw };
    if (this.#hasCalls) return { unified: "tool-calls", raw };
    if (this.#stop === "max_tokens") return { unified: "length", raw };
    if (this.#stop === "stop" || this.#stop === "stop_sequence") return { unified: "stop", raw };
    return given ?? { unified: "other", raw };
  }

  get error() {
    return this.#error;
  }
}

function toolCall({ id, name, input }) {
  return { type: "tool-call", toolCallId: id, toolName: name, input: JSON.stringify(input) };
}

function failed({ error, message, kind }) {
  return new Error(`the reply cannot be used: ${error ?? message ?? kind}`);
}

class Content extends Ending {
  content = [];

  add(deltas) {
    for (const delta of deltas) {
      this.see(delta);
      if (delta.type === "text" || delta.type === "reasoning") {
        const last = this.content.at(-1);
        if (last?.type === delta.type) last.text += delta.delta;
        else if (delta.delta !== "") this.content.push({ type: delta.type, text: delta.delta });
      } else if (delta.type === "tool_call") {
        this.content.push(toolCall(delta));
      } else if (delta.type === "error") {
        throw failed(delta);
      }
    }
  }
}

class StreamParts extends Ending {
  #open;
  #number = 0;

  *of(deltas) {
    for (const delta of deltas) {
      this.see(delta);
      if (delta.type === "text" || delta.type === "reasoning") {
        if (delta.delta === "") continue;
        if (this.#open?.type !== delta.type) {
          yield* this.close();
          this.#open = { type: delta.type, id: `gadgetry-${this.#number++}` };
          yield { type: `${delta.type}-start`, id: this.#open.id };
        }
        yield { type: `${delta.type}-delta`, id: this.#open.id, delta: delta.delta };
      } else if (delta.type === "tool_call") {
        yield* this.close();
        const call = toolCall(delta);
        yield { type: "tool-input-start", id: call.toolCallId, toolName: call.toolName };
        yield { type: "tool-input-delta", id: call.toolCallId, delta: call.input };
        yield { type: "tool-input-end", id: call.toolCallId };
        yield call;
      } else if (delta.type === "error") {
        yield* this.close();
        yield { type: "error", error: failed(delta) };
      }
    }
  }

  *close() {
    if (this.#open !== undefined) yield { type: `${this.#open.type}-end`, id: this.#open.id };
    this.#open = undefined;
  }
}

function sum(one, other) {
  return one === undefined && other === undefined ? undefined : (one ?? 0) + (other ?? 0);
}

function plus(one, other) {
  const added = (name) => {
    return Object.fromEntries(Object.keys(one[name]).map((key) => [key, sum(one[name][key], other[name][key])]));
  };
  return { ...other, inputTokens: added("inputTokens"), outputTokens: added("outputTokens") };
}
