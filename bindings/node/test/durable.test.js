// Durable runs: kept in a file, and resumed by another process. Built-in gadgets, and MCP.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { test } from "node:test";

import { Agent, builtinGadgets, ConfigError, gadget, Journal, JournalError, McpServers, NativeGadget, ScriptedModel } from "gadgetry";
import { call } from "gadgetry/testing";

import { program } from "./help.js";

const folder = () => mkdtempSync(join(tmpdir(), "gadgetry-"));

test("a run of a journal", async () => {
  const journal = new Journal(join(folder(), "runs.db"));
  const agent = new Agent({ model: new ScriptedModel("4") });
  assert.equal((await agent.ask("?", { journal, runId: "sum" })).text, "4");
  // It has ended, so no model is called.
  const again = new Agent({ model: new ScriptedModel("5") });
  assert.equal((await again.resume("sum", { journal }).result()).text, "4");
  const [record] = await journal.runs();
  assert.deepEqual([record.id, record.status, record.answer, record.iterations], ["sum", "finished", "4", 1]);
  assert.ok(Math.abs(Date.now() - record.created.getTime()) < 3_600_000);
  await assert.rejects(agent.resume("none", { journal }).result(), JournalError);
  assert.throws(() => agent.resume("sum", {}), ConfigError);
  assert.throws(() => agent.stream("?", { journal, output: { type: "string" } }), ConfigError);
  const text = join(folder(), "text.db");
  writeFileSync(text, "no journal at all, whatever its name is; long enough to have a header of SQLite".repeat(9));
  assert.throws(() => new Journal(text), JournalError);
});

test("a run survives its process", async () => {
  const place = folder();
  const body = (end) => `
    import { appendFileSync } from "node:fs";
    const step = gadget({ name: "Step", description: "Steps.", run: () => { appendFileSync(${JSON.stringify(join(place, "steps"))}, "step "); return ""; } });
    const wait = gadget({ name: "Wait", description: "Waits.", onInterrupt: "rerun", run: () => { ${end} } });
    const model = new ScriptedModel(call("Step"), call("Wait"), "Done.");
    const agent = new Agent({ model, gadgets: [step, wait] });
    const journal = new g.Journal(${JSON.stringify(join(place, "runs.db"))});
    console.log((await agent.ask("?", { journal, runId: "r" })).text);
  `;
  const killed = await program(body("process.kill(process.pid, 'SIGKILL')"));
  assert.equal(killed.code, "SIGKILL", killed.err);
  const resumed = await program(body("return 'waited'"));
  assert.deepEqual([resumed.code, resumed.out], [0, "Done.\n"], resumed.err);
  assert.equal(readFileSync(join(place, "steps"), "utf8"), "step ");
});

test("built-in gadgets", async () => {
  const place = folder();
  writeFileSync(join(place, "a.txt"), "hello");
  const gadgets = builtinGadgets(place, ["ReadFile", "EditFile"]);
  assert.ok(gadgets.every((it) => it instanceof NativeGadget));
  assert.deepEqual(gadgets.map(({ name, permission }) => [name, permission]), [["ReadFile", "allow"], ["EditFile", "ask"]]);
  assert.ok(builtinGadgets(place).length > gadgets.length);
  assert.throws(() => builtinGadgets(place, ["Fly"]), RangeError);
  const own = gadget({ name: "Own", description: "Own.", run: () => "mine" });
  const model = new ScriptedModel(call("ReadFile", { filePath: "a.txt" }), call("Own"), "It says hello.");
  const agent = new Agent({ model, gadgets: [own, ...gadgets], approvals: { rules: ["allow ReadFile"] } });
  const result = await agent.ask("?");
  assert.match(result.conversation.stringify(), /hello/);
  assert.deepEqual(result.calls.map(({ status }) => status), ["succeeded", "succeeded"]);
});

const workplace = folder();

// A server, and its problem.
const SERVERS = [
  [{ command: "no-such-command-of-ours" }, /no-such-command-of-ours/],
  [{ command: "no-such-command-of-ours", enabled: false }, /^$/],
  [{ url: "http://localhost:9/mcp", headers: { a: "b" }, oauth: { "client-id": "c", "client-secret": "s", scopes: ["d"] }, enabled: false }, /^$/],
  [
    { command: process.execPath, args: ["-e", "setTimeout(() => {}, 60_000)"], timeout: "30s", "startup-timeout": "50ms", protocol: "2026-07-28" },
    /not ready after 50ms/,
  ],
  [
    { command: process.execPath, args: ["-e", "console.error(process.env.WORD, process.cwd()); process.exit(1)"], env: { WORD: "in" }, cwd: workplace },
    new RegExp(`in .*${basename(workplace)}`),
  ],
];

test("servers of MCP", async () => {
  const none = await McpServers.connect({});
  assert.deepEqual([none.gadgets(), none.problems()], [[], []]);
  await none.close();
  for (const [config, problem] of SERVERS) {
    const servers = await McpServers.connect({ one: config });
    assert.match(servers.problems().join("\n"), problem);
    await servers.close();
  }
  for (const bad of [7, { command: "npx", startupTimeout: "1s" }]) await assert.rejects(McpServers.connect({ bad }), RangeError);
});
