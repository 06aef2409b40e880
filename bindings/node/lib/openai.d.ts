/** How the server of the model is reached. */
export interface WrapOptions {
  /** The base URL of the server, if it is another one than the client's. */
  upstream?: string | undefined;
  /** The API of the server. */
  api?: "chat" | "completions" | "responses" | "messages" | undefined;
  /**
   * The key of the server. By default, what the client sends, unless `upstream` is on another server, which gets no headers of the client either;
   * an empty text for none.
   */
  apiKey?: string | undefined;
  /** The URL of a proxy. By default, those of the environment if `NODE_USE_ENV_PROXY` is `1`. */
  proxy?: string | undefined;
}

/**
 * Returns a copy of an `OpenAI` client whose tools work on a model that writes text: `chat.completions.create({ tools, stream: true })` and
 * `responses.create` stay as they are. The gateway writes the tools into the prompt, and makes tool calls of what the model writes, in this
 * process. Its requests have the credentials and the `defaultHeaders` of the client, but are not sent by the client's `fetch`: they trust the
 * machine's certificates.
 *
 * ```ts
 * const client = wrapOpenAI(new OpenAI({ baseURL: "http://localhost:8080/v1", apiKey: "none" }));
 * ```
 */
export function wrapOpenAI<C extends { withOptions(options: any): any }>(client: C, options?: WrapOptions): C;
