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

/** Bytes with gzip: what a page waits for. */
const LARGEST = 130_000;

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
  assert.throws(() => new Parser({ tags: "note" }), { name: "TypeError", message: /tags: expected a list of strings/ });
  assert.throws(() => new Parser({ markers: ["a", "b"] }), { name: "TypeError", message: /markers: expected three strings/ });
  // What was refused has broken nothing.
  assert.deepEqual(parse(["a"]), [{ type: "text", text: "a" }]);
});

test("names of schemas are compared in lower case, of any script", () => {
  const schemas = { "ÉTÉ": { properties: { code: { type: "string" } } } };
  assert.deepEqual(parse(["!!!GADGET_START:été\n!!!ARG:code\n7\n!!!GADGET_END"], { schemas }).at(-1).parameters, { code: "7" });
});

test("calls are written as they are read", () => checkWritten(parse, writeCall, ConfigError));

test("numbers of parameters are those of JavaScript", () => {
  const numbers = [0, -7, 1.5, 1e-7, 5e-324, 2 ** 53, 2 ** 63, 1.7976931348623157e308];
  const schema = { properties: { numbers: { type: "array", items: { type: "number" } } } };
  const written = writeCall("Sum", { numbers }, { schema });
  assert.deepEqual(parse([written], { schemas: { Sum: schema } }).at(-1).parameters, { numbers });
});

test("the module names no folder of the machine that built it", () => {
  const text = readFileSync(join(place, "module/gadgetry_wasm_bg.wasm"), "latin1");
  assert.ok(!text.includes(process.env.GADGETRY_ROOT));
});

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
