// The programs of `examples/`: compiled with `tsc --strict`, and used.
import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
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

test("Hono", async () => {
  const replies = [writeCall("Weather", { city: "Rome" }), "Warm.", "Hello!"];
  const { app } = await example("hono", replies);
  assert.equal((await app.request("/ask")).status, 400);
  const streamed = await app.request("/ask?question=Weather?");
  assert.equal(streamed.headers.get("content-type"), "text/event-stream; charset=utf-8");
  const events = [...(await streamed.text()).matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data));
  assert.deepEqual(events.filter(({ type }) => type === "gadget_result").map(({ result }) => result), ["Rome: 21 degrees"]);
  assert.equal(events.at(-1).type, "run_finished");
  const body = JSON.stringify({ id: "chat", messages: [{ id: "1", role: "user", parts: [{ type: "text", text: "Hi." }] }] });
  const chat = await app.request("/api/chat", { method: "POST", body });
  assert.equal(chat.headers.get("x-vercel-ai-ui-message-stream"), "v1");
  assert.match(await chat.text(), /Hello/);
});
