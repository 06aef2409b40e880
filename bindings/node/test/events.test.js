// The types of events, compared with the schema of their JSON.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";

import ts from "typescript";

import { read } from "./help.js";

const require = createRequire(import.meta.url);
const file = join(dirname(require.resolve("gadgetry/package.json")), "lib/events.d.ts");

/** The names of a type, and whether they may be absent. */
function typed() {
  const program = ts.createProgram([file], { strict: true, module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext });
  const checker = program.getTypeChecker();
  const [events] = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file))).filter(({ name }) => name === "RunEvent");
  const kinds = new Map();
  for (const event of checker.getDeclaredTypeOfSymbol(events).types) {
    const fields = new Map();
    for (const property of event.getProperties()) fields.set(property.name, (property.flags & ts.SymbolFlags.Optional) !== 0);
    const type = checker.getTypeOfSymbol(event.getProperty("type"));
    kinds.set(type.value, fields);
  }
  return kinds;
}

/** The same of the schema. A property that only some of the alternatives have may be absent. */
function properties(schema, node) {
  const fields = new Map();
  const given = node.$ref === undefined ? node : { ...schema.$defs[node.$ref.split("/").at(-1)], ...node, $ref: undefined };
  const definition = node.$ref === undefined ? {} : schema.$defs[node.$ref.split("/").at(-1)];
  for (const [part, isSure] of [[definition, true], [given, true]]) {
    for (const name of Object.keys(part.properties ?? {})) {
      fields.set(name, (fields.get(name) ?? true) && !(isSure && (part.required ?? []).includes(name)));
    }
  }
  for (const alternatives of [given.oneOf ?? given.anyOf ?? []]) {
    const all = alternatives.map((it) => properties(schema, it));
    for (const one of all) {
      for (const [name, isOptional] of one) fields.set(name, isOptional || all.some((it) => !it.has(name)));
    }
  }
  return fields;
}

test("events are those of the schema", () => {
  const schema = JSON.parse(read("docs/events.schema.json"));
  const base = properties(schema, { properties: schema.properties, required: schema.required });
  const kinds = typed();
  const wanted = new Map();
  for (const event of schema.oneOf) wanted.set(event.properties.type.const, new Map([...base, ...properties(schema, event)]));
  assert.deepEqual([...kinds.keys()].sort(), [...wanted.keys()].sort());
  for (const [type, fields] of wanted) {
    assert.deepEqual([...kinds.get(type).keys()].sort(), [...fields.keys()].sort(), type);
    for (const [name, isOptional] of fields) {
      // What is sometimes absent is typed so; a type may be more careful than the schema.
      if (isOptional) assert.equal(kinds.get(type).get(name), true, `${type}.${name}`);
    }
  }
});
