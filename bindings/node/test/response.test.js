// Runs as responses of web servers.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { test } from "node:test";

import { readUIMessageStream, uiMessageChunkSchema, parseJsonEventStream } from "ai";
import { Agent, chatRequest, gadget, MockModel, ScriptedModel } from "gadgetry";
import { call, reply } from "gadgetry/testing";

const add = gadget({ name: "Add", description: "Adds.", run: () => "4" });
const agent = () => new Agent({ model: new ScriptedModel(reply("Hm.\n", call("Add")), "It is 4."), gadgets: [add] });

test("events", async () => {
  const response = agent().stream("?").toResponse({ status: 201, headers: { "x-own": "1" } });
  assert.equal(response.status, 201);
  assert.equal(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
  assert.equal(response.headers.get("x-own"), "1");
  const messages = (await response.text()).split("\n\n").filter(Boolean);
  const events = messages.map((message) => JSON.parse(/^data: (.*)$/m.exec(message)[1]));
  assert.deepEqual(messages.map((message) => Number(/^id: (\d+)$/m.exec(message)[1])), events.map(({ seq }) => seq));
  assert.equal(events.at(-1).type, "run_finished");
});

test("the UI message stream of the AI SDK", async () => {
  const response = agent().stream("?").toUIMessageStreamResponse();
  assert.equal(response.headers.get("x-vercel-ai-ui-message-stream"), "v1");
  const chunks = parseJsonEventStream({ stream: response.body, schema: uiMessageChunkSchema }).pipeThrough(
    new TransformStream({
      transform(chunk, controller) {
        if (!chunk.success) throw chunk.error;
        controller.enqueue(chunk.value);
      },
    }),
  );
  let last;
  for await (const message of readUIMessageStream({ stream: chunks })) last = message;
  const texts = last.parts.filter(({ type }) => type === "text").map(({ text }) => text.trim());
  assert.deepEqual(texts, ["Hm.", "It is 4."]);
  const [used] = last.parts.filter(({ type }) => type === "dynamic-tool" || type.startsWith("tool-"));
  assert.deepEqual([used.state, used.output], ["output-available", "4"]);
});

test("a request of useChat", async () => {
  const model = new MockModel();
  model.when("And in Rome?").replies("Warm.");
  const message = (role, text) => ({ id: text, role, parts: [{ type: "text", text }] });
  const body = JSON.stringify({ id: "c1", messages: [message("user", "In Paris?"), message("assistant", "Cold."), message("user", "And in Rome?")] });
  const { id, prompt, conversation } = await chatRequest(new Request("http://localhost/", { method: "POST", body }));
  assert.deepEqual([id, prompt], ["c1", "And in Rome?"]);
  assert.equal((await new Agent({ model }).ask(prompt, { conversation })).text, "Warm.");
  assert.match(JSON.stringify(model.requests), /In Paris\?[^]*Cold\./);
  await assert.rejects(chatRequest(new Request("http://localhost/", { method: "POST", body: "{" })), TypeError);
});

test("a client that leaves ends the run", async () => {
  let aborted;
  const ended = new Promise((resolve) => (aborted = resolve));
  const wait = gadget({ name: "Wait", description: "Waits.", run: (_, { signal }) => new Promise(() => signal.addEventListener("abort", aborted)) });
  const server = createServer((_request, answer) => {
    const response = new Agent({ model: new ScriptedModel(call("Wait"), "."), gadgets: [wait] }).stream("?").toResponse();
    const body = Readable.fromWeb(response.body);
    answer.on("close", () => body.destroy());
    body.on("error", () => {}).pipe(answer);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const abort = new AbortController();
  const response = await fetch(`http://127.0.0.1:${server.address().port}/`, { signal: abort.signal });
  const reader = response.body.getReader();
  let text = "";
  while (!text.includes("gadget_start")) text += new TextDecoder().decode((await reader.read()).value);
  abort.abort();
  await ended;
  server.closeAllConnections();
  server.close();
});

test("a run that fails", async () => {
  const run = () => new Agent({ model: new ScriptedModel(), retries: 0 }).stream("?");
  assert.match(await run().toResponse().text(), /"reason":"modelError"/);
  assert.match(await run().toUIMessageStreamResponse().text(), /"type":"error"/);
});
