// Agents.
import { approving } from "./approvals.js";
import { ConfigError, sync } from "./errors.js";
import { Gadget, NativeGadget } from "./gadget.js";
import { nativeModel } from "./models.js";
import { native } from "./native.js";
import { encode, seconds } from "./options.js";
import { dispatcher, Run } from "./run.js";
import { shape } from "./schema.js";

const OPTIONS = [
  "name", "system", "maxIterations", "budget", "temperature", "maxTokens", "stop", "timeout", "grace", "maxConcurrent", "maxGadgetsPerReply", "maxDepth",
  "sequential", "stopOnGadgetError", "retries", "tools", "form", "examples", "markers", "anchoring", "reasoningTags", "compaction", "trailing", "remind",
];
const RUN = ["output", "outputJsonSchema", "deps", "conversation", "runId", "metadata", "signal", "journal", "force"];
const BLOCK = ["key", "tag", "description", "instructions", "mode", "transform"];

export class Agent {
  #native;
  #gadgets;
  #blocks;
  #human;
  #approve;

  constructor(options) {
    const { model, gadgets = [], blocks = [], approvals, onHumanInput, ...rest } = options;
    for (const thing of gadgets) {
      if (!(thing instanceof Gadget || thing instanceof NativeGadget)) throw new TypeError(`${String(thing)} is not a gadget: make one with \`gadget\``);
    }
    this.#gadgets = [...gadgets];
    this.#blocks = [...blocks];
    this.#human = onHumanInput;
    const { options: decided, approve } = approving(approvals);
    this.#approve = approve;
    const foreign = this.#gadgets.filter((it) => it instanceof NativeGadget);
    const encoded = {
      ...rest,
      ...decided,
      gadgets: this.#gadgets.map((it) => {
        return it instanceof NativeGadget ? { native: foreign.indexOf(it) } : { spec: it.spec, permission: it.permission };
      }),
      blocks: this.#blocks.map(blockOf),
      human: onHumanInput !== undefined,
    };
    for (const name of ["timeout", "grace"]) {
      if (encoded[name] !== undefined) encoded[name] = seconds(name, encoded[name]);
    }
    const json = encode(encoded, [...OPTIONS, ...Object.keys(decided), "gadgets", "blocks", "human"], "an agent");
    const made = nativeModel(model);
    this.#native = sync(() => new native.Agent(made, foreign.map((it) => it._native), json));
  }

  get gadgets() {
    return [...this.#gadgets];
  }

  async ask(prompt, options = {}) {
    const result = await this.stream(prompt, options).result();
    return options.output === undefined ? result : result.output;
  }

  stream(prompt, options = {}) {
    return this.#run(prompt, options);
  }

  resume(runId, options) {
    if (options?.journal === undefined) throw new ConfigError("a run is resumed from a journal: give it `journal`");
    return this.#run(undefined, { ...options, runId });
  }

  #run(prompt, options) {
    const unknown = Object.keys(options).find((name) => !RUN.includes(name));
    if (unknown !== undefined) throw new TypeError(`a run has no option ${unknown}`);
    const { output, outputJsonSchema, deps, conversation, runId, metadata, signal, journal, force } = options;
    const isTyped = output !== undefined;
    if (outputJsonSchema !== undefined && !isTyped) throw new TypeError("`outputJsonSchema` is that of an `output`, which is missing");
    const { json, standard } = isTyped ? shape(output, outputJsonSchema, "the output", "outputJsonSchema") : {};
    const made = dispatcher({ gadgets: this.#gadgets, blocks: this.#blocks, human: this.#human, standard }, deps);
    const encoded = encode({ runId, metadata, output: json, force }, ["runId", "metadata", "output", "force"], "a run");
    const own = conversation?._native;
    let begun;
    if (journal === undefined) {
      if (typeof prompt !== "string") throw new TypeError(`a prompt is a string, not ${typeof prompt}`);
      begun = sync(() => this.#native.ask(prompt, encoded, own, made.dispatch));
    } else if (isTyped) {
      throw new ConfigError("a durable run has no `output` of a type: ask for a text");
    } else {
      begun = sync(() => this.#native.durable(journal._native, prompt, encoded, own, made.dispatch));
      // Whoever reads the run gets it; it is no unhandled rejection before.
      begun.catch(() => {});
    }
    return new Run(begun, { approve: this.#approve, conversation, isTyped, dispatcher: made, signal });
  }
}

function blockOf({ transform, ...block }) {
  const unknown = Object.keys(block).find((name) => !BLOCK.includes(name));
  if (unknown !== undefined) throw new TypeError(`a custom block has no option ${unknown}`);
  if (transform !== undefined) return { ...block, mode: "map" };
  if (block.mode === "map") throw new TypeError("a block of the mode `map` needs a `transform`");
  return block;
}

