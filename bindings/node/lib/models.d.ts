import type { MockModel, ScriptedModel } from "./testing.js";

/** What an agent takes as its model: a name such as `ollama:llama3.2`, a `Model`, a `ScriptedModel`, a `MockModel`. */
export type ModelLike = string | Model | ScriptedModel | MockModel;

/** A price in US dollars for a million tokens of input and of output. */
export type Price = readonly [input: number, output: number];

export interface ModelOptions {
  /** The address of the server, in place of the provider's own. */
  baseUrl?: string | undefined;
  /** The key, in place of the environment's. */
  apiKey?: string | undefined;
  temperature?: number | undefined;
  /** Tokens of a reply, at most. */
  maxTokens?: number | undefined;
  /** In the provider's word; `none` turns reasoning off. */
  reasoningEffort?: string | undefined;
  /** For costs and budgets; known for many models. */
  price?: Price | undefined;
  /** Tokens of a whole conversation; known for many models. */
  contextWindow?: number | undefined;
  /** Fields that are added to the body of every request. */
  extra?: Record<string, unknown> | undefined;
}

/**
 * A model of a provider or of a server on this machine, such as `anthropic:claude-haiku-4-5`, `ollama:llama3.2`, or any name with a
 * `baseUrl`. Keys and addresses come from the environment, as the providers' own programs read them.
 *
 * ```ts
 * const model = new Model("llama3.2", { baseUrl: "http://localhost:8080/v1", temperature: 0 });
 * ```
 */
export class Model {
  /** Throws `ConfigError` if the name, or a key, is missing. No request is sent. */
  constructor(name: string, options?: ModelOptions);
  readonly name: string;
  private readonly _native: unknown;
}
