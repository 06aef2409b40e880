export interface MiddlewareOptions {
  /** How calls are written. */
  form?: "block" | "json" | undefined;
  /** How often the model may correct the calls of a reply; once by default. */
  repairs?: number | undefined;
  /** Worked turns in the prompt, at most two; they help small models. */
  examples?: number | undefined;
  /** Names of tags whose content is reasoning; `think` and `thinking` by default. */
  reasoning?: readonly string[] | undefined;
  /** `plain` for the markers of the specification, which weak models copy more easily; by default they have a word that only the prompt knows. */
  markers?: "nonce" | "plain" | undefined;
}

/** Middleware of the AI SDK 6, in the types of any version of its package. */
export interface GadgetryMiddleware {
  readonly specificationVersion: "v3";
  wrapGenerate(options: any): Promise<any>;
  wrapStream(options: any): Promise<any>;
}

/**
 * Middleware of the AI SDK that makes tools work on a model that writes text: they are written into the prompt, and calls in the reply become
 * tool calls.
 *
 * ```ts
 * const model = wrapLanguageModel({ model: provider("llama"), middleware: gadgetryMiddleware() });
 * ```
 */
export function gadgetryMiddleware(options?: MiddlewareOptions): GadgetryMiddleware;
