// Schemas: JSON Schema as it is, or whatever is a Standard Schema, such as those of zod, Valibot and ArkType.
import { SchemaError, describe } from "./errors.js";

/**
 * What a schema is: its JSON Schema, and how a value is checked and made; `undefined` where the engine's check is all. `option` names the one by
 * which the caller gives the JSON Schema of a Standard Schema.
 */
export function shape(schema, given, owner, option = "jsonSchema") {
  if (schema === undefined || schema === null) {
    return { json: given ?? { type: "object", properties: {} }, standard: undefined };
  }
  const standard = schema["~standard"];
  if (standard === undefined) {
    if (typeof schema !== "object") throw new TypeError(`${owner}: a schema is a JSON Schema or a Standard Schema, not ${String(schema)}`);
    return { json: schema, standard: undefined };
  }
  return { json: clean(given ?? jsonSchema(schema, standard, owner, option)), standard };
}

function jsonSchema(schema, standard, owner, option) {
  try {
    if (typeof standard.jsonSchema?.input === "function") return standard.jsonSchema.input({ target: "draft-2020-12" });
    if (typeof schema.toJsonSchema === "function") return schema.toJsonSchema();
  } catch (cause) {
    throw new SchemaError(`${owner}: the schema cannot be written as a JSON Schema: ${describe(cause)}`, { cause });
  }
  if (standard.vendor === "zod") {
    // `toJSONSchema` of a zod that this package finds would lose descriptions if the caller has another copy of zod.
    const written = `${option}: z.toJSONSchema(schema, { io: "input" })`;
    throw new SchemaError(`${owner}: only schemas of zod 4.2 or later, and not those of zod/mini, give their JSON Schema: update zod, or add \`${written}\``);
  }
  throw new SchemaError(`${owner}: the schemas of ${standard.vendor} do not give their JSON Schema: give it as well, as \`${option}\``);
}

function clean({ $schema: _, ...schema }) {
  return schema;
}

/** Checks a value. Returns `{ value }`, or `{ mistakes }` as a text. May be a promise. */
export function checked(standard, value) {
  if (standard === undefined) return { value };
  const result = standard.validate(value);
  return result instanceof Promise ? result.then(read) : read(result);
}

function read(result) {
  if (result.issues === undefined) return { value: result.value };
  const lines = result.issues.map(({ path, message }) => {
    const keys = (path ?? []).map((part) => String(typeof part === "object" ? part.key : part));
    return keys.length === 0 ? message : `${keys.join(".")}: ${message}`;
  });
  return { mistakes: lines.join("\n") };
}
