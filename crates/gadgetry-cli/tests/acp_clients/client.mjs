// The official TypeScript SDK as the client of an agent; prints what it sees as one JSON object.
//
// Arguments: the folder of the SDK, what it does (`task`, `files`, `terminal`, `cancel` or `kill`), the kind of its answers to requests for permission, the
// folder of the session, and the agent with its arguments.

import { spawn } from "node:child_process";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { Readable, Writable } from "node:stream";

const [sdk, scenario, choice, folder, program, ...args] = process.argv.slice(2);
const path = `${sdk}/node_modules/@agentclientprotocol/sdk/dist/v1/stable/acp.js`;
const acp = await import(pathToFileURL(path).href);

const seen = { permissions: [], terminals: [], released: [] };
// What is open, with changes that are not saved.
const files = new Map([[join(folder, "a.txt"), "one\nunsaved\n"]]);
const hasFiles = scenario === "files";
const terminals = new Map();
let updates = [];
// Called with the commands of a session, which follow everything else that an answer is about.
let isWhole = () => {};

const editor = acp.client({ name: "editor" })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    const { toolCall, options } = params;
    seen.permissions.push({ toolCall, kinds: options.map((option) => option.kind) });
    const { optionId } = options.find((option) => option.kind === choice);
    return { outcome: { outcome: "selected", optionId } };
  })
  .onRequest(acp.methods.client.fs.readTextFile, ({ params }) => {
    if (!files.has(params.path)) throw acp.RequestError.resourceNotFound(params.path);
    return { content: files.get(params.path) };
  })
  .onRequest(acp.methods.client.fs.writeTextFile, ({ params }) => {
    files.set(params.path, params.content);
    return {};
  })
  .onRequest(acp.methods.client.terminal.create, ({ params }) => {
    const variables = Object.fromEntries((params.env ?? []).map(({ name, value }) => [name, value]));
    const terminal = spawn(params.command, params.args, { cwd: params.cwd, env: { ...process.env, ...variables } });
    let output = "";
    for (const stream of [terminal.stdout, terminal.stderr]) stream.on("data", (data) => (output += data));
    const ended = new Promise((resolve) => terminal.once("close", (exitCode, signal) => resolve({ exitCode, signal })));
    const terminalId = `terminal-${terminal.pid}`;
    terminals.set(terminalId, { ended, output: () => output });
    seen.terminals.push(terminalId);
    return { terminalId };
  })
  .onRequest(acp.methods.client.terminal.waitForExit, ({ params }) => terminals.get(params.terminalId).ended)
  .onRequest(acp.methods.client.terminal.output, ({ params }) => ({
    output: terminals.get(params.terminalId).output(),
    truncated: false,
  }))
  .onRequest(acp.methods.client.terminal.release, ({ params }) => {
    seen.released.push(params.terminalId);
    return {};
  })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    updates.push(params.update);
    if (params.update.sessionUpdate === "available_commands_update") isWhole();
  });

async function withAgent(work) {
  const agent = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  const left = new Promise((resolve) => agent.once("exit", resolve));
  const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
  await editor.connectWith(stream, async (context) => {
    const fs = { readTextFile: hasFiles, writeTextFile: hasFiles };
    const clientCapabilities = { fs, terminal: scenario === "terminal" };
    const initialize = { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities };
    const answer = await context.request(acp.methods.agent.initialize, initialize);
    await work(context, answer, agent, left);
  });
  agent.stdin.end();
  await left;
}

const ask = async (context, sessionId, text) => {
  const prompt = [{ type: "text", text }];
  const answer = await context.request(acp.methods.agent.session.prompt, { sessionId, prompt });
  return answer.stopReason;
};

let sessionId;
// A command of the agent writes a line to this pipe, and holds it open as long as it lives.
let alive;
const first = withAgent(async (context, answer, agent, left) => {
  seen.agent = answer;
  const opened = await context.request(acp.methods.agent.session.new, { cwd: folder, mcpServers: [] });
  sessionId = opened.sessionId;
  seen.modes = opened.modes.availableModes.map((mode) => mode.id);
  const asking = ask(context, sessionId, "Do it.");
  if (scenario === "kill") asking.catch(() => {});
  if (scenario === "cancel" || scenario === "kill") {
    alive = createInterface({ input: createReadStream("alive") })[Symbol.asyncIterator]();
    seen.up = `${(await alive.next()).value}\n`;
  }
  if (scenario === "cancel") await context.notify(acp.methods.agent.session.cancel, { sessionId });
  if (scenario === "kill") {
    agent.kill("SIGKILL");
    await left;
  } else {
    seen.stop = await asking;
  }
  if (scenario === "files") {
    await context.request(acp.methods.agent.session.close, { sessionId });
    await context.request(acp.methods.agent.session.delete, { sessionId });
    const listed = await context.request(acp.methods.agent.session.list, { cwd: folder });
    seen.left = listed.sessions.length;
  }
});
// The connection to an agent that was killed fails.
await (scenario === "kill" ? first.catch(() => {}) : first);
if (alive) seen.gone = (await alive.next()).done ? "" : "more";
seen.updates = updates;
seen.files = [...files.values()];
if (scenario === "kill") {
  updates = [];
  await withAgent(async (context) => {
    const listed = await context.request(acp.methods.agent.session.list, { cwd: folder });
    seen.listed = listed.sessions.map((entry) => entry.sessionId === sessionId);
    seen.title = listed.sessions[0].title;
    // The SDK hands over an answer before updates that came with it.
    const whole = new Promise((resolve) => (isWhole = resolve));
    await context.request(acp.methods.agent.session.load, { cwd: folder, sessionId, mcpServers: [] });
    await whole;
    seen.loaded = updates;
    updates = [];
    seen.stop = await ask(context, sessionId, "Go on.");
    seen.continued = updates;
    try {
      await context.request(acp.methods.agent.session.load, { cwd: folder, sessionId: "no-such", mcpServers: [] });
    } catch (error) {
      seen.unknown = error.code;
    }
  });
}
console.log(JSON.stringify(seen));
process.exit(0);
