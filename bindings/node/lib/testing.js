// Models for tests: a script, or rules. No key and no network.
import { CallbackError, GadgetryError, sync } from "./errors.js";
import { native } from "./native.js";
import { snake } from "./options.js";
import { writeCall } from "./parser.js";

export function call(gadgetName, parameters = {}, { id, after = [] } = {}) {
  return { type: "call", gadgetName, parameters, id, after };
}

const OPTIONS = ["reasoning", "error", "errorKind", "tokens", "chunk", "delay", "chunkDelay", "isCutOff"];

export function reply(...parts) {
  const last = parts.at(-1);
  const isOptions = typeof last === "object" && last !== null && last.type === undefined;
  const options = isOptions ? parts.pop() : {};
  const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name));
  if (unknown !== undefined) throw new TypeError(`a reply has no option ${unknown}`);
  return { type: "reply", parts, options };
}

function asReply(item) {
  return item.type === "reply" ? item : reply(item);
}

export class ScriptedModel {
  constructor(...replies) {
    const lines = replies.map((item) => JSON.stringify(line(asReply(item))));
    this._native = sync(() => native.Model.script(lines.join("\n")));
  }

  static fromScript(script) {
    const made = Object.create(ScriptedModel.prototype);
    made._native = sync(() => native.Model.script(script));
    return made;
  }

  static fromPath(path) {
    const made = Object.create(ScriptedModel.prototype);
    made._native = sync(() => native.Model.scriptFile(path));
    return made;
  }

  _model() {
    return this._native;
  }
}

/** A reply as a line of a script. */
function line({ parts, options }) {
  let text = "";
  for (const part of parts) {
    if (typeof part === "string") {
      text += part;
      continue;
    }
    if (text !== "" && !text.endsWith("\n")) text += "\n";
    text += writeCall(part.gadgetName, part.parameters, { id: part.id, dependencies: part.after });
  }
  const made = {};
  if (options.chunk || options.delay) {
    const letters = [...text];
    const size = options.chunk ?? Math.max(letters.length, 1);
    made.chunks = [{ delayMs: Math.round((options.delay ?? 0) * 1000) }];
    for (let start = 0; start < letters.length; start += size) {
      if (start > 0 && options.chunkDelay) made.chunks.push({ delayMs: Math.round(options.chunkDelay * 1000) });
      made.chunks.push(letters.slice(start, start + size).join(""));
    }
  } else {
    made.text = text;
  }
  if (options.error !== undefined) made.finish = "error";
  else if (options.isCutOff) made.finish = "length";
  if (options.tokens) {
    const [inputTokens, outputTokens] = options.tokens;
    made.usage = { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens };
  }
  return made;
}

const RULE = ["contains", "anywhere", "hasResult", "iteration", "predicate", "times", "isOptional", "label"];

export class MockModel {
  #rules = [];
  #predicates = [];
  #options;
  #built;
  #fault;

  constructor({ name = "mock", isStrict = true, price, contextWindow } = {}) {
    this.#options = { name, is_strict: isStrict, price, context_window: contextWindow };
  }

  when(conditions = {}) {
    if (this.#built !== undefined) throw new GadgetryError("the model is in use: add all rules before the agent is made");
    const given = typeof conditions === "string" ? { contains: conditions } : conditions;
    const rule = { label: caller() };
    for (const [name, value] of Object.entries(given)) {
      if (!RULE.includes(name)) throw new TypeError(`a rule has no condition ${name}`);
      if (value === undefined) continue;
      if (name === "predicate") rule.predicate = this.#predicates.push(value) - 1;
      else rule[snake(name)] = value;
    }
    return new Rule(this, this.#rules, rule);
  }

  repliesInOrder(...replies) {
    return this.when().replies(...replies);
  }

  get requests() {
    return JSON.parse(this.#mock().requests());
  }

  verify() {
    const complaints = this.#mock().complaints();
    if (this.#fault !== undefined) throw new CallbackError("predicate", this.#fault.error);
    if (complaints) throw new GadgetryError(complaints);
  }

  #mock() {
    this.#built ??= sync(() => new native.MockModel(JSON.stringify(this.#rules), JSON.stringify(this.#options), this.#dispatch()));
    return this.#built;
  }

  #dispatch() {
    const predicates = this.#predicates;
    const self = new WeakRef(this);
    return (_kind, number, target, json) => {
      let answer = "no";
      try {
        if (predicates[target](JSON.parse(json))) answer = "yes";
      } catch (error) {
        const model = self.deref();
        if (model !== undefined) model.#fault ??= { error };
      }
      native.settle(number, answer, "");
    };
  }

  _model() {
    return this.#mock().model();
  }
}

/** The line of the test that calls. */
function caller() {
  const lines = (new Error().stack ?? "").split("\n").slice(1);
  const outside = lines.find((it) => !it.includes(import.meta.url)) ?? "";
  return /([^/\\]+:\d+):\d+\)?$/.exec(outside)?.[1] ?? "a rule";
}

class Rule {
  #model;
  #rules;
  #rule;

  constructor(model, rules, rule) {
    this.#model = model;
    this.#rules = rules;
    this.#rule = rule;
  }

  replies(...replies) {
    const last = replies.at(-1);
    const isOptions = typeof last === "object" && last !== null && last.type === undefined;
    const { then } = isOptions ? replies.pop() : {};
    const made = replies.map((item) => fields(asReply(item)));
    this.#rules.push({ ...this.#rule, replies: made, then: then ?? (made.length === 1 ? "repeat" : "refuse") });
    return this.#model;
  }
}

/** A reply for the native part. */
function fields({ parts, options }) {
  const written = options.reasoning === undefined ? [] : [{ reasoning: options.reasoning }];
  for (const part of parts) {
    if (typeof part === "string") written.push({ text: part });
    else written.push({ call: part.gadgetName, arguments: part.parameters, id: part.id, after: part.after });
  }
  const { reasoning: _, ...rest } = options;
  const named = Object.fromEntries(Object.entries(rest).map(([name, value]) => [snake(name), value]));
  return { parts: written, ...named };
}
