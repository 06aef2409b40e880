// Gadgets: functions that a model can call.
import { awaited, describe, GadgetError, HumanInputRequired, sync, TaskComplete } from "./errors.js";
import { native } from "./native.js";
import { seconds } from "./options.js";
import { checked, shape } from "./schema.js";

const OPTIONS = [
  "name", "description", "parameters", "jsonSchema", "run", "timeout", "maxConcurrent", "exclusive", "sticky", "permission", "onInterrupt", "examples",
];

export class Gadget {
  #run;
  #standard;

  constructor(options) {
    const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name));
    if (unknown !== undefined) throw new TypeError(`a gadget has no option ${unknown}`);
    const { name, description, run, permission = "allow" } = options;
    if (typeof name !== "string" || name === "") throw new TypeError("a gadget needs a name");
    if (typeof run !== "function") throw new TypeError(`the gadget ${name} needs a function \`run\``);
    const { json, standard } = shape(options.parameters, options.jsonSchema, `the gadget ${name}`);
    this.#run = run;
    this.#standard = standard;
    this.permission = permission;
    this.spec = {
      name,
      description: description ?? "",
      parameters: json,
      exclusive: options.exclusive ?? false,
      stickyResult: options.sticky ?? false,
      onInterrupt: options.onInterrupt ?? "fail",
    };
    if (options.timeout !== undefined) this.spec.timeoutMs = Math.max(0, Math.round(1000 * seconds("timeout", options.timeout)));
    if (options.maxConcurrent !== undefined) this.spec.maxConcurrent = options.maxConcurrent;
    if (options.examples !== undefined) this.spec.examples = options.examples;
  }

  get name() {
    return this.spec.name;
  }

  get description() {
    return this.spec.description;
  }

  get parameters() {
    return this.spec.parameters;
  }

  async call(parameters, context = GadgetContext.forTest()) {
    const { value, mistakes } = await checked(this.#standard, parameters);
    if (mistakes !== undefined) throw new GadgetError(mistakes);
    return this.#run(value, context);
  }
}

export function gadget(options) {
  return new Gadget(options);
}

export class NativeGadget {
  constructor(made) {
    this._native = made;
    this.spec = JSON.parse(made.spec);
    this.permission = made.permission;
  }

  get name() {
    return this.spec.name;
  }

  get description() {
    return this.spec.description;
  }

  get parameters() {
    return this.spec.parameters;
  }
}

/** The specification of a gadget, or the thing itself where it is one. */
export function specOf(thing) {
  return thing instanceof Gadget || thing instanceof NativeGadget ? thing.spec : thing;
}

export class GadgetContext {
  #number;
  #info;
  #abort;

  constructor(number, deps, info) {
    this.#number = number;
    this.#info = info;
    this.deps = deps;
  }

  static forTest(deps, { runId = null, metadata = {}, dependencies = {} } = {}) {
    const facts = { gadgetName: "test", invocationId: "test", iteration: 1, depth: 0, idempotencyKey: "test", budgetLeft: null, reportedCost: 0 };
    return new GadgetContext(-1, deps, { ...facts, runId, metadata, dependencies });
  }

  /** What does not change during a call. */
  get #facts() {
    return (this.#info ??= this.#now());
  }

  #now() {
    return this.#number < 0 ? this.#info : JSON.parse(sync(() => native.callInfo(this.#number)));
  }

  get signal() {
    return (this.#abort ??= new AbortController()).signal;
  }

  /** Aborts the signal. */
  _abort() {
    (this.#abort ??= new AbortController()).abort();
  }

  get gadgetName() {
    return this.#facts.gadgetName;
  }

  get invocationId() {
    return this.#facts.invocationId;
  }

  get iteration() {
    return this.#facts.iteration;
  }

  get depth() {
    return this.#facts.depth;
  }

  get idempotencyKey() {
    return this.#facts.idempotencyKey;
  }

  get runId() {
    return this.#facts.runId;
  }

  get metadata() {
    return this.#facts.metadata ?? {};
  }

  get dependencies() {
    return this.#facts.dependencies;
  }

  get budgetLeft() {
    return this.#now().budgetLeft;
  }

  get reportedCost() {
    return this.#now().reportedCost;
  }

  reportCost(dollars) {
    if (this.#number < 0) this.#info.reportedCost += dollars;
    else sync(() => native.callReportCost(this.#number, dollars));
  }

  progress(message) {
    if (this.#number >= 0) sync(() => native.callProgress(this.#number, message));
  }

  async askHuman(question) {
    if (this.#number < 0) throw new HumanInputRequired(question);
    return awaited(() => native.callAskHuman(this.#number, question));
  }
}

/** What a function has returned, as text. */
export function textOf(value) {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  const text = JSON.stringify(value);
  if (text === undefined) throw new TypeError(`a gadget returns a text or a value with a form in JSON, not a ${typeof value}`);
  return text;
}

/** What a function has thrown, as the answer of a call. */
export function failure(error) {
  if (error instanceof TaskComplete) return ["complete", error.message];
  if (error instanceof HumanInputRequired) return ["human", error.message];
  if (error instanceof GadgetError) return ["error", error.message];
  return ["error", describe(error)];
}
