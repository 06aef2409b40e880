// The parser, and calls as text.
import * as module from "../module/gadgetry_wasm.js";

export class GadgetryError extends Error {
  constructor(message = "", { fault = "program", isRetryable = false } = {}) {
    super(message);
    this.fault = fault;
    this.isRetryable = isRetryable;
  }

  get name() {
    return this.constructor.name;
  }
}

export class ConfigError extends GadgetryError {}

export class SchemaError extends ConfigError {}

const BY_NAME = { ConfigError, SchemaError };

export class Parser {
  #module;
  /** Half of a character that the last chunk ended with. */
  #half = "";

  constructor(options = {}) {
    const encoded = JSON.stringify(options);
    this.#module = sync(() => new module.Parser(encoded));
  }

  feed(chunk) {
    if (typeof chunk !== "string") throw new TypeError(`a chunk is a string, not ${typeof chunk}`);
    let text = this.#half + chunk;
    this.#half = "";
    if ((text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800) {
      this.#half = text.at(-1);
      text = text.slice(0, -1);
    }
    return JSON.parse(this.#module.feed(text));
  }

  finish() {
    const last = this.#half === "" ? [] : JSON.parse(this.#module.feed(this.#half));
    this.#half = "";
    return [...last, ...JSON.parse(this.#module.finish())];
  }
}

export function writeCall(name, parameters, options = {}) {
  return sync(() => module.write_call(name, JSON.stringify(parameters), JSON.stringify(options)));
}

/** Calls the module; the problems that it raises become exceptions. */
function sync(call) {
  try {
    return call();
  } catch (raised) {
    if (typeof raised !== "string") throw raised;
    const { name, message, ...fields } = JSON.parse(raised);
    if (name === "TypeError") throw new TypeError(message);
    throw new (BY_NAME[name] ?? GadgetryError)(message, fields);
  }
}
