// The programs of `examples/`: compiled with `tsc --strict`, and used.
import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";

import { writeCall } from "gadgetry";
import ts from "typescript";
import { read } from "./help.js";

const OPTIONS = {
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  target: ts.ScriptTarget.ES2022,
  lib: ["lib.es2022.d.ts", "lib.esnext.disposable.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts", "lib.dom.asynciterable.d.ts"],
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  types: ["node"],
};

const folder = join(import.meta.dirname, "examples");
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);

/** Checks the types of an example, and imports it; its model says these replies. */
async function example(name, replies) {
  const file = join(folder, `${name}.ts`);
  mkdirSync(dirname(file), { recursive: true });
  const text = read(`bindings/node/examples/${name}.ts`);
  writeFileSync(file, text);
  const complaints = ts.getPreEmitDiagnostics(ts.createProgram([file], OPTIONS));
  assert.deepEqual(complaints.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n")), []);
  const made = ts.transpileModule(text, { compilerOptions: { ...OPTIONS, module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler } });
  writeFileSync(join(folder, `${name}.js`), made.outputText);
  const script = join(folder, `${name}.jsonl`);
  writeFileSync(script, replies.map((reply) => JSON.stringify({ text: reply })).join("\n"));
  process.env.MODEL = `script:${script}`;
  return import(join(folder, `${name}.js`));
}

const replies = [writeCall("Weather", { city: "Rome" }), "Warm.", "Hello!"];

/** Uses a server with two routes: one that streams events, and one for `useChat`. */
async function check(ask, talk) {
  assert.equal((await ask("")).status, 400);
  const streamed = await ask("?question=Weather?");
  assert.equal(streamed.headers.get("content-type"), "text/event-stream; charset=utf-8");
  const events = [...(await streamed.text()).matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data));
  assert.deepEqual(events.filter(({ type }) => type === "gadget_result").map(({ result }) => result), ["Rome: 21 degrees"]);
  assert.equal(events.at(-1).type, "run_finished");
  const chat = await talk({ method: "POST", body: JSON.stringify({ id: "chat", messages: [{ id: "1", role: "user", parts: [{ type: "text", text: "Hi." }] }] }) });
  assert.equal(chat.headers.get("x-vercel-ai-ui-message-stream"), "v1");
  assert.match(await chat.text(), /Hello/);
}

test("Hono", async () => {
  const { app } = await example("hono", replies);
  await check((query) => app.request(`/ask${query}`), (init) => app.request("/api/chat", init));
});

// Handlers of routes are functions of a `Request`, so Next.js itself, 340 MB, is not needed.
test("Next.js", async () => {
  const { GET, POST } = await example("next/app/api/agent/route", replies);
  const url = "http://localhost/api/agent";
  await check((query) => GET(new Request(`${url}${query}`)), (init) => POST(new Request(url, init)));
});
