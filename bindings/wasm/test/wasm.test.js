// The parser in WebAssembly: the vectors of the corpus, equal to what Rust writes; its size; its types.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { ConfigError, Parser, SchemaError, writeCall } from "gadgetry-wasm";
import ts from "typescript";
import { read } from "../help.js";
import { checkCorpus, checkSchemas, checkWritten, parsedBy } from "../vectors.js";

/** Bytes with gzip: what a page waits for. 164,700 when it was written. */
const LARGEST = 170_000;

const place = dirname(createRequire(import.meta.url).resolve("gadgetry-wasm/package.json"));

const parse = parsedBy(Parser);

test("the corpus", () => checkCorpus(parse));

test("schemas give values their types", () => checkSchemas(parse));

test("mistakes of the program", () => {
  assert.throws(() => new Parser({ tags: ["no name"] }), (error) => error instanceof ConfigError && /not a tag name/.test(error.message));
  assert.throws(() => new Parser({ anchoring: "somewhere" }), { name: "ConfigError", fault: "program", message: /anchoring is/ });
  assert.throws(() => new Parser({ schemas: { a: 7 } }), SchemaError);
  assert.throws(() => new Parser().feed(Buffer.from("bytes")), TypeError);
  assert.throws(() => new Parser({ tag: "x" }), { name: "TypeError", message: /no option tag/ });
  // What was refused has broken nothing.
  assert.deepEqual(parse(["a"]), [{ type: "text", text: "a" }]);
});

test("calls are written as they are read", () => checkWritten(parse, writeCall, ConfigError));

test("the size", () => {
  const size = ["gadgetry_wasm_bg.wasm", "gadgetry_wasm.js"].map((name) => gzipSync(readFileSync(join(place, "module", name)), { level: 9 }).length);
  const all = size.reduce((sum, it) => sum + it);
  assert.ok(all <= LARGEST, `${all} bytes with gzip`);
});

test("the README and the types", async () => {
  const [program, ...more] = [...read("bindings/wasm/README.md").matchAll(/^```ts\n([^]*?)^```/gm)].map(([, block]) => block);
  assert.deepEqual(more, []);
  const file = join(import.meta.dirname, "readme.ts");
  writeFileSync(file, program);
  const options = {
    strict: true,
    noEmit: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    skipDefaultLibCheck: true,
    types: ["node"],
  };
  const complaints = ts.getPreEmitDiagnostics(ts.createProgram([file], options));
  assert.deepEqual(complaints.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n")), []);
  const made = ts.transpileModule(program, { compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext } });
  writeFileSync(file.replace(/ts$/, "js"), made.outputText);
  const lines = [];
  const print = console.log;
  console.log = (...line) => lines.push(line);
  try {
    await import(file.replace(/ts$/, "js"));
  } finally {
    console.log = print;
  }
  assert.deepEqual(lines, [["Weather", { city: "Paris" }]]);
});
