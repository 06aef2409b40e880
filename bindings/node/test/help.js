// What several tests need.
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const root = process.env.GADGETRY_ROOT;

/** A file of the repository. */
export function read(path) {
  return readFileSync(join(root, path), "utf8");
}

/** The names of the files of a folder of the repository. */
export function list(path) {
  return readdirSync(join(root, path)).sort();
}

/** Whether the repository has a file. */
export function exists(path) {
  return existsSync(join(root, path));
}

/** The native part of the package that is installed. */
export function native() {
  const require = createRequire(import.meta.url);
  const place = dirname(require.resolve("gadgetry/package.json"));
  return require(join(place, "native", `gadgetry.${process.platform}-${process.arch}.node`));
}

/** Runs a program in a process of its own; returns its code and its output. */
export function program(body, { args = [], input } = {}) {
  const head = 'import * as g from "gadgetry";\nimport { call, reply } from "gadgetry/testing";\nconst { Agent, gadget, MockModel, ScriptedModel } = g;\n';
  const child = spawn(process.execPath, [...args, "--input-type=module", "--eval", head + body], { cwd: import.meta.dirname, stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.end(input ?? "");
  return finished(child);
}

/** Waits for the end of a process. */
export function finished(child) {
  return new Promise((resolve) => {
    let out = "";
    let err = "";
    child.stdout.on("data", (piece) => (out += piece));
    child.stderr.on("data", (piece) => (err += piece));
    child.on("close", (code, signal) => resolve({ code: code ?? signal, out, err }));
  });
}

/** All events of a run. */
export async function all(run) {
  const events = [];
  for await (const event of run) events.push(event);
  return events;
}

/** Waits for something for which nothing else keeps the process alive. */
export async function kept(promise) {
  const busy = setInterval(() => {}, 1000);
  try {
    return await promise;
  } finally {
    clearInterval(busy);
  }
}
