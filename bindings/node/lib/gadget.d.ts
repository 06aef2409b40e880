import type { Infer, JsonSchema, StandardSchema } from "./schema.js";

/** Seconds, or a text such as `10s`, `1.5m`, `200ms`. */
export type Duration = number | `${number}${"ms" | "s" | "m" | "h"}`;

/** What holds for the calls of a gadget without a rule. */
export type Permission = "allow" | "ask" | "deny";

/** A call that shows how to use a gadget. */
export interface Example {
  params: Record<string, unknown>;
  output?: string | undefined;
  comment?: string | undefined;
}

/** The description of a gadget, as a prompt needs it. */
export interface GadgetSpec {
  name: string;
  description: string;
  parameters: JsonSchema;
  [option: string]: unknown;
}

/** The parts of a gadget. */
export interface GadgetOptions<S, P, D> {
  /** The name by which the model calls it. */
  name: string;
  /** What the model reads about it. */
  description: string;
  /** Its parameters: a Standard Schema, or a JSON Schema. They are checked before the call, and a mistake goes back to the model. */
  parameters?: S | undefined;
  /** The JSON Schema of the parameters, where a Standard Schema does not give it. */
  jsonSchema?: JsonSchema | undefined;
  /**
   * The function. What it returns is the text of the result, as JSON if it is not a text; what it throws fails the call, and the model
   * reads it.
   */
  run: (parameters: P, context: GadgetContext<D>) => unknown;
  /** After this time a call is cancelled: its signal is aborted. 0 for never. */
  timeout?: Duration | undefined;
  /** Calls that may run at the same time. */
  maxConcurrent?: number | undefined;
  /** True if no other gadget may run at the same time. */
  exclusive?: boolean | undefined;
  /** True if compaction keeps its results. */
  sticky?: boolean | undefined;
  /** `ask` if the user decides about each call for which there is no rule. */
  permission?: Permission | undefined;
  /** What happens to a call of a durable run that was running when the program ended. */
  onInterrupt?: "fail" | "rerun" | "ask" | undefined;
  examples?: readonly Example[] | undefined;
}

/** A function that a model can call. Made by `gadget`. */
export class Gadget<P = any, D = any> {
  private constructor(options: GadgetOptions<unknown, P, D>);
  /** The name by which the model calls it. */
  readonly name: string;
  /** What the model reads about it. */
  readonly description: string;
  /** The JSON Schema of its parameters. */
  readonly parameters: JsonSchema;
  readonly permission: Permission;
  /** Its specification: name, description, schema, limits. */
  readonly spec: GadgetSpec;
  /** Calls it as a model does, for tests: the parameters are checked by its Standard Schema, if it has one. */
  call(parameters: unknown, context?: GadgetContext<D>): Promise<unknown>;
}

/** A gadget that is not JavaScript: a built-in one, or a tool of an MCP server. */
export class NativeGadget {
  private constructor();
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
  readonly permission: Permission;
  readonly spec: GadgetSpec;
}

/** A gadget of whatever kind. */
export type AnyGadget<D = any> = Gadget<any, D> | NativeGadget;

/**
 * Makes a gadget of a function.
 *
 * ```ts
 * const weather = gadget({
 *   name: "Weather",
 *   description: "Get the weather for a city.",
 *   parameters: z.object({ city: z.string().describe("City name, like Paris") }),
 *   run: async ({ city }) => `${city}: 21 degrees`,
 * });
 * ```
 */
export function gadget<S extends StandardSchema<any, any>, D = unknown>(options: GadgetOptions<S, Infer<S>, D> & { parameters: S }): Gadget<Infer<S>, D>;
export function gadget<P = Record<string, any>, D = unknown>(options: GadgetOptions<JsonSchema, P, D>): Gadget<P, D>;

/** `gadget`, by the name that most others have for it. */
export const tool: typeof gadget;

/** The call that a gadget executes. */
export class GadgetContext<D = unknown> {
  private constructor();
  /** A context without a run, for tests of gadgets. */
  static forTest<D>(
    deps?: D,
    info?: { runId?: string | undefined; metadata?: Record<string, unknown> | undefined; dependencies?: Record<string, string> | undefined },
  ): GadgetContext<D>;
  /** The dependencies of the run. */
  readonly deps: D;
  /** Aborted when the call is cancelled, or past its timeout. */
  readonly signal: AbortSignal;
  readonly gadgetName: string;
  readonly invocationId: string;
  /** The number of the reply, from 1. */
  readonly iteration: number;
  /** 0 in a run, 1 in its subagents. */
  readonly depth: number;
  /** The same when a call of a durable run is executed again. */
  readonly idempotencyKey: string;
  readonly runId: string | null;
  /** What the caller of the run has given. */
  readonly metadata: Record<string, unknown>;
  /** The results of the calls that this one depends on, by their ids. */
  readonly dependencies: Record<string, string>;
  /** US dollars that the run may still spend; `null` without a budget. */
  readonly budgetLeft: number | null;
  readonly reportedCost: number;
  /** Adds US dollars to the costs of the run. */
  reportCost(dollars: number): void;
  /** Emits an event with a message for the user. */
  progress(message: string): void;
  /** Asks the user. Throws `HumanUnavailable` if there is none, or no answer. */
  askHuman(question: string): Promise<string>;
}
