// The programs of the README and of the guide, and the types: compiled with `tsc --strict`, and run, each by itself.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";

import ts from "typescript";

import { finished, list, read } from "./help.js";

const OPTIONS = {
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  target: ts.ScriptTarget.ES2022,
  lib: ["lib.es2022.d.ts", "lib.esnext.disposable.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts", "lib.dom.asynciterable.d.ts"],
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  types: ["node"],
  noEmit: true,
};

/** The complaints of the compiler about files. */
function complaints(files, options = { skipLibCheck: true }) {
  const all = ts.getPreEmitDiagnostics(ts.createProgram(files, { ...OPTIONS, ...options }));
  return ts.formatDiagnostics(all, { getCanonicalFileName: (name) => name, getCurrentDirectory: () => import.meta.dirname, getNewLine: () => "\n" });
}

function blocks(path) {
  return [...read(path).matchAll(/^```ts\n([^]*?)^```/gm)].map(([, block]) => block);
}

/** Writes programs into a folder of their own. */
function written(name, programs) {
  const folder = join(import.meta.dirname, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  return programs.map((text, number) => {
    const file = join(folder, `program_${number}.ts`);
    writeFileSync(file, text);
    const made = ts.transpileModule(text, { compilerOptions: { ...OPTIONS, module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler } });
    writeFileSync(file.replace(/ts$/, "js"), made.outputText);
    return file;
  });
}

function run(file) {
  return finished(spawn(process.execPath, [file.replace(/ts$/, "js")], { cwd: dirname(file), stdio: ["ignore", "pipe", "pipe"] }));
}

test("the README: one program in two blocks", async () => {
  const [first, second, ...more] = blocks("bindings/node/README.md");
  assert.deepEqual(more, []);
  const lines = first.split("\n").filter((line) => line.trim() !== "");
  assert.ok(lines.length <= 15, String(lines.length));
  const whole = first + second;
  assert.equal(complaints(written("readme", [whole])), "");
  const call = (name, ...args) => `!!!GADGET_START:${name}\n${args.map(([pointer, value]) => `!!!ARG:${pointer}\n${value}\n`).join("")}!!!GADGET_END`;
  const replies = [
    call("Weather", ["city", "Paris"]), "It is 21 degrees.", call("FinalAnswer", ["city", "Paris"], ["celsius", 21]),
    call("Weather", ["city", "Rome"], ["days", 2]), "Warm.",
  ];
  const [file] = written("readme", [whole.replace("ollama:llama3.2", "script:replies.jsonl")]);
  writeFileSync(join(dirname(file), "replies.jsonl"), replies.map((text) => JSON.stringify({ text })).join("\n"));
  const { code, out, err } = await run(file);
  assert.deepEqual([code, out], [0, 'It is 21 degrees.\n21\n[Weather {"city":"Rome","days":2}]\nWarm.'], err);
});

test("the versions of Rust in the README", () => {
  const versions = ["Cargo.toml", "bindings/Cargo.toml"].map((manifest) => /^rust-version = "(.*)"$/m.exec(read(manifest))[1]);
  for (const path of ["README.md", "crates/gadgetry/README.md", "crates/gadgetry-cli/README.md"]) {
    const [, ...named] = /with a C compiler and Rust ([\d.]+) \(([\d.]+) for Python and Node\.js\):$/m.exec(read(path)) ?? [];
    assert.deepEqual(named, versions, path);
  }
});

test("the version of Node.js in the documents", () => {
  const { engines } = JSON.parse(read("bindings/node/package.json"));
  // That of `ReadableStream.from`, in the middleware.
  assert.equal(engines.node, ">=20.6");
  for (const path of ["README.md", "crates/gadgetry/README.md", "crates/gadgetry-cli/README.md", "bindings/node/README.md", "docs/guide/typescript.md"]) {
    assert.deepEqual(/Node\.js\s+([\d.]+) or later/.exec(read(path))?.[1], engines.node.slice(2), path);
  }
});

test("the guide", async () => {
  const pages = list("docs/guide").filter((name) => name.endsWith(".md"));
  const programs = pages.flatMap((name) => blocks(`docs/guide/${name}`));
  assert.ok(programs.length >= 20, String(programs.length));
  const files = written("guide", programs);
  assert.equal(complaints(files), "");
  for (const file of files) {
    const { code, err } = await run(file);
    assert.equal(code, 0, `${file}\n${err}`);
  }
});

test("the types", () => {
  const require = createRequire(import.meta.url);
  const lib = join(dirname(require.resolve("gadgetry/package.json")), "lib");
  const own = ["index", "parser", "testing", "openai", "anthropic", "ai"].map((name) => join(lib, `${name}.d.ts`));
  assert.equal(complaints(own, { skipDefaultLibCheck: true }), "");
  assert.equal(complaints([join(import.meta.dirname, "typed.ts")]), "");
});
