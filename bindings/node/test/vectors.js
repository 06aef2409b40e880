// The texts of the corpus, and the events that Rust writes for them; what holds for every package with a parser.
import assert from "node:assert/strict";

import { native, read } from "./help.js";

const { parseJson } = native();

/** The same text in several pieces; single units of UTF-16, too, which may be half a character. */
function* cuts(chunks) {
  const text = chunks.join("");
  yield chunks;
  yield [text];
  yield text.split("");
  yield text.match(/[^]{1,3}/g) ?? [];
  yield [text.slice(0, 1), text.slice(1)];
}

/** Every text of the corpus, with the options of its parser. */
function* vectors() {
  const standard = { startPrefix: "!!!GADGET_START:", endPrefix: "!!!GADGET_END", argPrefix: "!!!ARG:" };
  for (const { id, input } of JSON.parse(read("corpus/block-vectors.json")).vectors) {
    if (input.chunks) {
      const options = {};
      if (Object.keys(input.options ?? {}).length > 0) {
        const { startPrefix, endPrefix, argPrefix } = { ...standard, ...input.options };
        options.markers = [startPrefix, endPrefix, argPrefix];
      }
      yield [id, input.chunks, options];
    }
    if (input.args) yield [id, [block(input.args)], {}];
    for (const [number, response] of (input.responses ?? []).entries()) {
      // Numbers are pauses.
      const chunks = Array.isArray(response) ? response.filter((part) => typeof part === "string") : [response];
      yield [`${id}.${number}`, chunks, {}];
    }
  }
  const tags = JSON.parse(read("corpus/tag-vectors.json"));
  for (const vector of tags.parser) {
    // Names that no tag can have are refused; a test of their own is below.
    const names = vector.tags.filter((name) => /^[\p{L}_][\p{L}\p{N}_-]*$/u.test(name));
    yield [vector.id, vector.chunks, { tags: names }];
  }
  for (const vector of tags.pipeline) {
    const texts = vector.deltas.filter(({ type }) => type === "text").map(({ delta }) => delta);
    const names = Object.entries(vector.custom_blocks).map(([key, definition]) => definition.tag ?? key);
    yield [vector.id, texts, { tags: names }];
    yield [`${vector.id} as reasoning`, texts, { reasoning: names }];
  }
  for (const [number, { form }] of JSON.parse(read("corpus/dialects.json")).entries()) {
    yield [`dialect ${number}`, [form.replaceAll("{text}", '"a <b>"').replaceAll("{n}", "7")], { tags: ["tool_call", "Calc"] }];
  }
}

export function block(args) {
  const lines = args.map(([pointer, value]) => `!!!ARG:${pointer}\n${value === null ? "" : `${value}\n`}`);
  return `!!!GADGET_START:Cook:k\n${lines.join("")}!!!GADGET_END`;
}

/** The events that Rust writes. It cannot be given half a character, so those are put together first. */
function expected(chunks, options) {
  const whole = [];
  let half = "";
  for (const chunk of chunks) {
    const text = half + chunk;
    half = /[\ud800-\udbff]$/.test(text) ? text.at(-1) : "";
    whole.push(text.slice(0, text.length - half.length));
  }
  if (half !== "") whole.push(half);
  const json = parseJson(whole, JSON.stringify(options));
  return json.split("\n").filter(Boolean).map((line) => JSON.parse(line));
}

/** What a parser reads of a text in pieces. */
export function parsedBy(Parser) {
  return (chunks, options) => {
    const parser = new Parser(options);
    return [...chunks.flatMap((chunk) => parser.feed(chunk)), ...parser.finish()];
  };
}

/** Compares what `parse` reads with what Rust writes. */
export function checkCorpus(parse) {
  let checked = 0;
  const check = (name, chunks, options) => {
    assert.deepEqual(parse(chunks, options), expected(chunks, options), `${name} ${JSON.stringify(chunks)}`);
    checked++;
  };
  for (const [name, chunks, options] of vectors()) {
    for (const cut of cuts(chunks)) check(name, cut, options);
    check(name, [chunks.join("")], { ...options, anchoring: "line_start" });
  }
  assert.ok(checked >= 300, String(checked));
}

export function checkSchemas(parse) {
  const schema = { type: "object", properties: { code: { type: "string" } } };
  const text = "!!!GADGET_START:Find\n!!!ARG:code\n7\n!!!GADGET_END";
  const found = [{ schemas: { find: schema } }, {}].map((options) => parse([text], options).at(-1).parameters);
  assert.deepEqual(found, [{ code: "7" }, { code: 7 }]);
}

export function checkWritten(parse, writeCall, ConfigError) {
  const written = writeCall("Cook", { dish: ["pie"], hot: true }, { id: "k", dependencies: ["soup"] });
  const [call] = parse([written]).filter(({ type }) => type === "gadget_call");
  assert.deepEqual([call.gadgetName, call.invocationId, call.dependencies, call.parameters], ["Cook", "k", ["soup"], { dish: ["pie"], hot: true }]);
  assert.throws(() => writeCall("no: name", {}), ConfigError);
}
