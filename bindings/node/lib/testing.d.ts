import type { Price } from "./models.js";

/** A call in a reply. Made by `call`. */
export interface CallPart {
  readonly type: "call";
  readonly gadgetName: string;
  readonly parameters: Record<string, unknown>;
}

/** A reply of a model. Made by `reply`. */
export interface Reply {
  readonly type: "reply";
}

/** Makes a call for a reply: `call("Weather", { city: "Paris" })`. */
export function call(gadgetName: string, parameters?: Record<string, unknown>, options?: { id?: string | undefined; after?: readonly string[] | undefined }): CallPart;

export interface ReplyOptions {
  /** The reasoning before the parts. */
  reasoning?: string | undefined;
  /** The model fails with this text, after the parts. */
  error?: string | undefined;
  /** The kind of the error. */
  errorKind?: import("./events.js").ModelErrorKind | undefined;
  /** The tokens of input and of output that are reported. */
  tokens?: readonly [input: number, output: number] | undefined;
  /** The characters of each piece in which it streams. */
  chunk?: number | undefined;
  /** Seconds before anything is sent. */
  delay?: number | undefined;
  /** Seconds between two pieces. */
  chunkDelay?: number | undefined;
  /** True if the reply ends at the token limit. */
  isCutOff?: boolean | undefined;
}

/** Makes a reply of texts and calls, in their order; the last argument may be its options. */
export function reply(...parts: Array<string | CallPart | ReplyOptions>): Reply;

/** What a model for tests answers with. */
export type AnyReply = string | CallPart | Reply;

/**
 * A model that gives the replies of a script, one a call, in order.
 *
 * ```ts
 * const model = new ScriptedModel(call("Add", { a: 2, b: 2 }), "2 + 2 is 4.");
 * ```
 */
export class ScriptedModel {
  constructor(...replies: AnyReply[]);
  /** Reads a script: a reply a line, as JSON, such as `{"text": "Hello."}`. */
  static fromScript(script: string): ScriptedModel;
  /** Reads a script from a file. */
  static fromPath(path: string): ScriptedModel;
  private readonly _native: unknown;
}

/** When a rule answers. */
export interface Conditions {
  /** The last message contains this text. */
  contains?: string | undefined;
  /** Some message contains this text. */
  anywhere?: string | undefined;
  /** There is a result of the call with this id. */
  hasResult?: string | undefined;
  /** The number of the reply in its run, from 1. */
  iteration?: number | undefined;
  /** This function returns true for the request, as JSON. */
  predicate?: ((request: any) => boolean) | undefined;
  /** How often the rule answers. */
  times?: number | undefined;
  /** True if the rule need not answer. */
  isOptional?: boolean | undefined;
  /** The name of the rule in reports; its place in the test by default. */
  label?: string | undefined;
}

/** A rule that has no reply yet. */
export interface Rule {
  /**
   * Answers with these, one after the other; the last argument may be `{ then }`: after the last one the rule refuses, repeats it, or begins
   * again. A single reply is repeated by default.
   */
  replies(...replies: Array<AnyReply | { then: "refuse" | "repeat" | "cycle" }>): MockModel;
}

/**
 * A model that answers by rules, and records its requests. It is strict: a request for which there is no rule fails, and `verify` fails
 * if a rule that should have answered did not.
 *
 * ```ts
 * const model = new MockModel();
 * model.when("weather").replies(call("Weather", { city: "Paris" }));
 * model.when({ hasResult: "gadget_1" }).replies("It is sunny.");
 * ```
 */
export class MockModel {
  constructor(options?: { name?: string | undefined; isStrict?: boolean | undefined; price?: Price | undefined; contextWindow?: number | undefined });
  /** Begins a rule: the first one whose conditions all hold answers a request. A text is that of `contains`. */
  when(conditions?: string | Conditions): Rule;
  /** Adds a rule that answers every request, one after the other. */
  repliesInOrder(...replies: AnyReply[]): MockModel;
  /** The requests until now, as JSON. */
  readonly requests: any[];
  /** Throws, with the requests, unless everything was as the rules expect. */
  verify(): void;
}
