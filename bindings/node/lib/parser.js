// The parser alone; prompts and calls as text, for programs that have a loop of their own.
import { sync } from "./errors.js";
import { specOf } from "./gadget.js";
import { native } from "./native.js";
import { encode } from "./options.js";

const PARSER = ["tags", "reasoning", "markers", "anchoring", "schemas"];
const CALL = ["id", "dependencies", "markers", "anchoring", "schema"];
const PROMPT = ["form", "markers", "anchoring"];
const NONE = Object.freeze([]);

export class Parser {
  #native;
  /** The call that is open: the events of its arguments name it. */
  #call = { gadgetName: "", invocationId: "" };
  /** Half of a character that the last chunk ended with. */
  #half = "";

  constructor(options = {}) {
    const encoded = encode(options, PARSER, "a parser");
    this.#native = sync(() => new native.Parser(encoded));
  }

  feed(chunk) {
    if (typeof chunk !== "string") throw new TypeError(`a chunk is a string, not ${typeof chunk}`);
    let text = chunk;
    if (this.#half !== "") {
      text = this.#half + text;
      this.#half = "";
    }
    if ((text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800) {
      this.#half = text.at(-1);
      text = text.slice(0, -1);
    }
    return this.#events(this.#native.feed(text));
  }

  finish() {
    const last = this.#half === "" ? NONE : this.#events(this.#native.feed(this.#half));
    this.#half = "";
    const events = this.#events(this.#native.finish());
    return last.length === 0 ? events : [...last, ...events];
  }

  #events(encoded) {
    if (encoded === null) return [];
    if (typeof encoded === "string") return [this.#event(encoded)];
    const events = new Array(encoded.length);
    for (let at = 0; at < encoded.length; at++) events[at] = this.#event(encoded[at]);
    return events;
  }

  #event(encoded) {
    const letter = encoded.charCodeAt(0);
    if (letter === 116) return { type: "text", text: encoded.slice(1) };
    if (letter === 123) {
      const event = JSON.parse(encoded);
      if (event.type === "gadget_call_start") this.#call = event;
      return event;
    }
    const colon = encoded.indexOf(":");
    const end = colon + 1 + Number(encoded.slice(1, colon));
    const { invocationId, gadgetName } = this.#call;
    return {
      type: "gadget_args_partial",
      invocationId,
      gadgetName,
      fieldPath: encoded.slice(colon + 1, end),
      delta: encoded.slice(end),
      isFieldComplete: letter === 65,
    };
  }
}

export function writeCall(name, parameters, options = {}) {
  const encoded = encode(options, CALL, "a call");
  return sync(() => native.writeCall(name, JSON.stringify(parameters), encoded));
}

export function instructions(gadgets, options = {}) {
  const encoded = encode(options, PROMPT, "a prompt");
  const specs = JSON.stringify(gadgets.map(specOf));
  return sync(() => native.instructions(specs, encoded));
}
