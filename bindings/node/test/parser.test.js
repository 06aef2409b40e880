// The parser: the vectors of the corpus, equal to what Rust writes, however they are cut.
import assert from "node:assert/strict";
import { test } from "node:test";

import { ConfigError, gadget, instructions, Parser, SchemaError, writeCall } from "gadgetry";
import { read } from "./help.js";
import { block, checkCorpus, checkSchemas, checkWritten, parsedBy } from "./vectors.js";

const parse = parsedBy(Parser);

test("the corpus", () => checkCorpus(parse));

test("the expectations of the corpus", () => {
  // A number whose digits would be lost stays text, see "Numbers" in ARCHITECTURE.md.
  const deviations = { C01: { a: 12, b: -8, c: "2.50", d: true, e: false }, C02: { zip: "00731" } };
  let checked = 0;
  for (const { id, area, recommend, input, expect } of JSON.parse(read("corpus/block-vectors.json")).vectors) {
    if (area !== "params" || recommend !== "match" || (expect.params === undefined && !(id in deviations))) continue;
    const calls = parse([block(input.args)]).filter(({ type }) => type === "gadget_call");
    assert.deepEqual(calls.map(({ parameters }) => parameters), [deviations[id] ?? expect.params], id);
    checked++;
  }
  assert.ok(checked >= 8, String(checked));
});

test("events are typed by `type`", () => {
  const events = parse(["Hi\n!!!GADGET_START:Add:sum:a,b\n!!!ARG:n\n2\n!!!GADGET_END\n"]);
  assert.deepEqual(events[0], { type: "text", text: "Hi\n" });
  assert.deepEqual(events[1], { type: "gadget_call_start", gadgetName: "Add", invocationId: "sum", dependencies: ["a", "b"] });
  const last = events.at(-1);
  assert.deepEqual([last.type, last.gadgetName, last.parameters, last.terminatedBy], ["gadget_call", "Add", { n: 2 }, "endMarker"]);
  const partial = events.filter(({ type }) => type === "gadget_args_partial");
  assert.deepEqual(partial.at(-1), { ...partial.at(-1), gadgetName: "Add", invocationId: "sum", fieldPath: "n", isFieldComplete: true });
});

test("characters that are cut in half", () => {
  const text = "a\u{1f600}b\u{1f600}";
  const events = parse(text.split(""));
  assert.equal(events.map((event) => event.text).join(""), text);
  // Half a character at the end is not a character.
  assert.equal(parse(["a\ud83d"]).map((event) => event.text).join(""), "a\ufffd");
});

test("schemas give values their types", () => checkSchemas(parse));

test("mistakes of the program", () => {
  assert.throws(() => new Parser({ tags: ["no name"] }), (error) => error instanceof ConfigError && /not a tag name/.test(error.message));
  assert.throws(() => new Parser({ anchoring: "somewhere" }), { name: "ConfigError", message: /anchoring is/ });
  assert.throws(() => new Parser({ schemas: { a: { type: "strin" } } }), (error) => error instanceof SchemaError && error instanceof ConfigError);
  assert.throws(() => new Parser().feed(Buffer.from("bytes")), TypeError);
  assert.throws(() => new Parser({ tag: "x" }), { name: "TypeError", message: /no option tag/ });
});

test("calls are written as they are read", () => checkWritten(parse, writeCall, ConfigError));

test("instructions", () => {
  const weather = gadget({ name: "Weather", description: "Get the weather.", run: () => "" });
  const text = instructions([weather, { name: "Clock", description: "The time.", parameters: { type: "object" } }]);
  assert.match(text, /Weather[^]*Get the weather\.[^]*Clock/);
  assert.match(text, /!!!GADGET_START:/);
  assert.doesNotMatch(instructions([weather], { form: "json" }), /!!!GADGET_START:/);
});
