// The official JavaScript SDKs behind one interface, so that one table of cases runs over all of them.
//
// Each class is one API, in three modes: `plain` (one body), `stream` (raw events, put together here as simple agents do) and
// `helper` (the SDK's own accumulator, which checks the order of what is on the wire).

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

import { assert, BASE, equal, MODEL, PNG, Reply, SCHEMAS } from "./check.mjs";

const MODES = ["plain", "stream", "helper"];
const URL_OF_PNG = `data:image/png;base64,${PNG}`;

class Client {
  constructor(mode) {
    this.mode = mode;
    // What has been seen of the last reply, also when the SDK threw.
    this.seen = new Reply();
  }

  get name() {
    return `${this.api}/${this.mode}`;
  }

  get keepsOrder() {
    return true;
  }

  user(content) {
    return { role: "user", content };
  }

  // Text as a part of a message or a result.
  part(text) {
    return { type: "text", text };
  }

  async ask(history, { tools = this.tools(), ...options } = {}) {
    this.seen = new Reply();
    await this.send(history, { model: MODEL, ...(tools.length ? { tools } : {}), ...options });
    return this.seen;
  }

  // The calls of the events must be those of the whole.
  last(final) {
    const { calls } = this.seen;
    this.seen = new Reply();
    this.finish(final);
    equal(calls, this.seen.calls);
  }
}

export class Chat extends Client {
  api = "chat";
  idPrefix = "call_";
  sdk = OpenAI;
  finishes = { stop: "stop", calls: "tool_calls", length: "length" };
  choices = {
    auto: { tool_choice: "auto" },
    none: { tool_choice: "none" },
    required: { tool_choice: "required" },
    named: { tool_choice: { type: "function", function: { name: "get_weather" } } },
    single: { parallel_tool_calls: false },
  };
  client = new OpenAI({ baseURL: `${BASE}/v1`, apiKey: "none", maxRetries: 0 });

  get keepsOrder() {
    return this.mode === "stream";
  }

  tools() {
    const kinds = Object.entries(SCHEMAS);
    return kinds.map(([name, parameters]) => ({ type: "function", function: { name, parameters, strict: true } }));
  }

  image(text) {
    const image = { type: "image_url", image_url: { url: URL_OF_PNG } };
    return { role: "user", content: [{ type: "text", text }, image] };
  }

  results(reply, texts) {
    return reply.ids.map((id, at) => ({ role: "tool", tool_call_id: id, content: texts[at] }));
  }

  async send(messages, options) {
    const { completions } = this.client.chat;
    const streamed = { stream_options: { include_usage: true }, ...options, messages };
    if (this.mode === "plain") {
      this.finish(await completions.create({ ...options, messages }));
    } else if (this.mode === "stream") {
      await this.read(await completions.create({ ...streamed, stream: true }));
    } else {
      const stream = completions.stream(streamed);
      stream.on("tool_calls.function.arguments.done", (it) => this.seen.call(null, it.name, JSON.parse(it.arguments)));
      // The helper keeps the last piece of a field that it does not know.
      let reasoning = "";
      stream.on("chunk", (it) => (reasoning += it.choices[0]?.delta.reasoning_content ?? ""));
      this.last(await stream.finalChatCompletion());
      this.seen.reasoning = reasoning;
    }
  }

  finish({ choices, usage }) {
    equal(choices.length, 1);
    const [{ message, finish_reason }] = choices;
    equal(message.role, "assistant");
    this.seen.reasoning = message.reasoning_content ?? "";
    if (message.content) this.seen.say(message.content);
    for (const call of message.tool_calls ?? []) {
      equal(call.type, "function");
      this.seen.call(call.id, call.function.name, JSON.parse(call.function.arguments));
    }
    this.seen.finish = finish_reason;
    this.seen.usage = [usage.prompt_tokens, usage.completion_tokens];
    this.seen.native = [message];
  }

  async read(stream) {
    const { seen } = this;
    const calls = [];
    let chunks = 0;
    for await (const chunk of stream) {
      assert(chunk.object === "chat.completion.chunk" && chunk.id && chunk.created && chunk.model === MODEL, "a chunk");
      if (chunk.usage) {
        equal(chunk.choices, []);
        seen.usage = [chunk.usage.prompt_tokens, chunk.usage.completion_tokens];
      }
      for (const { delta, finish_reason } of chunk.choices) {
        assert(seen.finish === null, "something came after the finish reason");
        assert(chunks++ || delta.role === "assistant", "the first delta has no role");
        seen.reasoning += delta.reasoning_content ?? "";
        if (delta.content) seen.say(delta.content);
        for (const part of delta.tool_calls ?? []) {
          if (calls[part.index]) {
            assert(!("id" in part) && !("name" in part.function), "the start of a call is repeated");
            calls[part.index].function.arguments += part.function.arguments;
          } else {
            equal(part.index, calls.length);
            assert(part.type === "function" && part.id && part.function.name, "the start of a call");
            const { index: _, ...start } = part;
            calls.push(start);
            seen.call(part.id, part.function.name, null);
          }
        }
        seen.finish = finish_reason;
      }
    }
    const places = seen.parts.filter((part) => part[0] === "call");
    calls.forEach((call, at) => (places[at][2] = JSON.parse(call.function.arguments)));
    seen.native = [{ role: "assistant", content: seen.text || null, ...(calls.length ? { tool_calls: calls } : {}) }];
  }
}

export class Responses extends Client {
  api = "responses";
  idPrefix = "call_";
  sdk = OpenAI;
  finishes = { stop: "completed", calls: "completed", length: "incomplete: max_output_tokens" };
  choices = {
    auto: { tool_choice: "auto" },
    none: { tool_choice: "none" },
    required: { tool_choice: "required" },
    named: { tool_choice: { type: "function", name: "get_weather" } },
    single: { parallel_tool_calls: false },
  };
  client = new OpenAI({ baseURL: `${BASE}/v1`, apiKey: "none", maxRetries: 0 });

  tools() {
    const kinds = Object.entries(SCHEMAS);
    return kinds.map(([name, parameters]) => ({ type: "function", name, parameters, strict: true }));
  }

  image(text) {
    const image = { type: "input_image", image_url: URL_OF_PNG };
    return { role: "user", content: [{ type: "input_text", text }, image] };
  }

  results(reply, texts) {
    return reply.ids.map((call_id, at) => ({ type: "function_call_output", call_id, output: texts[at] }));
  }

  part(text) {
    return { type: "input_text", text };
  }

  async send(input, options) {
    const body = { store: false, ...options, input };
    if (this.mode === "plain") {
      this.finish(await this.client.responses.create(body));
    } else if (this.mode === "stream") {
      await this.read(await this.client.responses.create({ ...body, stream: true }));
    } else {
      const stream = this.client.responses.stream(body);
      stream.on("response.output_item.done", ({ item }) => this.item(item));
      this.last(await stream.finalResponse());
    }
  }

  item(item) {
    if (item.type === "message") item.content.forEach((part) => this.seen.say(part.text));
    if (item.type === "reasoning") item.summary.forEach((part) => (this.seen.reasoning += part.text));
    if (item.type === "function_call") this.seen.call(item.call_id, item.name, JSON.parse(item.arguments));
    if (item.type === "custom_tool_call") this.seen.call(item.call_id, item.name, item.input);
  }

  finish({ output, status, incomplete_details, usage }) {
    output.forEach((item) => this.item(item));
    this.seen.finish = incomplete_details ? `${status}: ${incomplete_details.reason}` : status;
    if (usage) this.seen.usage = [usage.input_tokens, usage.output_tokens];
    // The helper of the SDK adds fields that the API does not take.
    this.seen.native = output.map(({ parsed_arguments: _, ...item }) => item);
  }

  async read(stream) {
    const open = [];
    let [text, number, done] = ["", 0, 0];
    for await (const event of stream) {
      equal(event.sequence_number, number++);
      const item = open[event.output_index];
      if (event.type === "response.output_item.added") {
        assert(event.output_index === open.length && done === open.length, "the indices have a gap");
        open.push(event.item);
      } else if (event.type === "response.output_text.delta") {
        equal(event.item_id, item.id);
        text += event.delta;
      } else if (event.type === "response.function_call_arguments.done") {
        equal(event.item_id, item.id);
      } else if (event.type === "response.output_item.done") {
        equal(event.item.id, item.id);
        done += 1;
        this.item(event.item);
      } else if (["response.completed", "response.incomplete", "response.failed"].includes(event.type)) {
        const { parts } = this.seen;
        this.seen = new Reply();
        this.finish(event.response);
        if (event.type !== "response.failed") {
          equal(this.seen.parts, parts);
          equal(this.seen.text, text);
        }
      }
    }
    assert(this.seen.finish, "the stream has no end");
  }
}

export class Messages extends Client {
  api = "messages";
  idPrefix = "toolu_";
  sdk = Anthropic;
  finishes = { stop: "end_turn", calls: "tool_use", length: "max_tokens" };
  choices = {
    auto: { tool_choice: { type: "auto" } },
    none: { tool_choice: { type: "none" } },
    required: { tool_choice: { type: "any" } },
    named: { tool_choice: { type: "tool", name: "get_weather" } },
    single: { tool_choice: { type: "auto", disable_parallel_tool_use: true } },
  };
  client = new Anthropic({ baseURL: BASE, apiKey: "none", maxRetries: 0 });

  tools() {
    return Object.entries(SCHEMAS).map(([name, input_schema]) => ({ name, description: name, input_schema }));
  }

  image(text) {
    const source = { type: "base64", media_type: "image/png", data: PNG };
    return { role: "user", content: [{ type: "image", source }, { type: "text", text }] };
  }

  results(reply, texts) {
    const blocks = reply.ids.map((id, at) => ({ type: "tool_result", tool_use_id: id, content: texts[at] }));
    return [{ role: "user", content: blocks }];
  }

  async send(messages, options) {
    const body = { max_tokens: 1000, ...options, messages };
    if (this.mode === "plain") {
      this.finish(await this.client.messages.create(body));
    } else if (this.mode === "stream") {
      await this.read(await this.client.messages.create({ ...body, stream: true }));
    } else {
      const stream = this.client.messages.stream(body);
      stream.on("contentBlock", (it) => it.type === "tool_use" && this.seen.call(it.id, it.name, it.input));
      this.last(await stream.finalMessage());
    }
  }

  finish(message) {
    equal([message.type, message.role, message.model], ["message", "assistant", MODEL]);
    for (const block of message.content) {
      if (block.type === "text") this.seen.say(block.text);
      if (block.type === "thinking") this.seen.reasoning += block.thinking;
      if (block.type === "tool_use") this.seen.call(block.id, block.name, block.input);
    }
    this.seen.finish = message.stop_reason;
    this.seen.usage = [message.usage.input_tokens, message.usage.output_tokens];
    this.seen.native = [{ role: "assistant", content: message.content }];
  }

  async read(stream) {
    const { seen } = this;
    const content = [];
    let [open, json, isOver, first] = [null, "", false, null];
    for await (const event of stream) {
      assert(!isOver, "something came after message_stop");
      if (event.type === "message_start") {
        equal([event.message.content, event.message.stop_reason], [[], null]);
        first = event.message.usage;
      } else if (event.type === "content_block_start") {
        assert(open === null && event.index === content.length, "the indices have a gap");
        open = { ...event.content_block };
        content.push(open);
        json = "";
      } else if (event.type === "content_block_delta") {
        assert(open !== null && event.index === content.length - 1, "a delta outside of its block");
        if (event.delta.type === "text_delta") open.text += event.delta.text;
        if (event.delta.type === "thinking_delta") {
          open.thinking += event.delta.thinking;
          seen.reasoning += event.delta.thinking;
        }
        if (event.delta.type === "input_json_delta") json += event.delta.partial_json;
      } else if (event.type === "content_block_stop") {
        equal(event.index, content.length - 1);
        if (open.type === "text") {
          assert(open.text, "an empty text block");
          seen.say(open.text);
        } else if (open.type === "tool_use") {
          if (json) open.input = JSON.parse(json);
          seen.call(open.id, open.name, open.input);
        }
        open = null;
      } else if (event.type === "message_delta") {
        assert(open === null, "a block is open at the end");
        seen.finish = event.delta.stop_reason;
        seen.usage = [event.usage.input_tokens ?? first.input_tokens, event.usage.output_tokens];
      } else if (event.type === "message_stop") {
        isOver = true;
      }
    }
    assert(isOver, "the stream has no end");
    seen.native = [{ role: "assistant", content }];
  }
}

export const clients = [Chat, Responses, Messages].flatMap((kind) => MODES.map((mode) => new kind(mode)));
