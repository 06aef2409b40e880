import type { WrapOptions } from "./openai.js";

/**
 * Returns a copy of an `Anthropic` client whose tools work on a model that writes text: `messages.create({ tools })` and `messages.stream` stay as
 * they are; see `wrapOpenAI`.
 *
 * ```ts
 * const client = wrapAnthropic(new Anthropic({ baseURL: "http://localhost:8080/v1", apiKey: "none" }));
 * ```
 */
export function wrapAnthropic<C extends { withOptions(options: any): any }>(client: C, options?: WrapOptions): C;
