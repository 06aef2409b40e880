/** A message that was stored elsewhere. */
export interface StoredMessage {
  role: "user" | "assistant" | "system";
  content: string | unknown[];
}

/**
 * What was said in several runs. A run that is given one continues it, and adds to it when it ends, however it ends.
 *
 * ```ts
 * const conversation = new Conversation();
 * await agent.ask("What is 2 + 2?", { conversation });
 * await agent.ask("Are you sure?", { conversation });
 * const stored = conversation.stringify();
 * ```
 */
export class Conversation {
  constructor();
  /** Reads what `stringify` has written. */
  static fromJSON(text: string): Conversation;
  /** Makes one of messages that were stored elsewhere. */
  static fromMessages(messages: readonly StoredMessage[]): Conversation;
  /** All messages, the oldest first, as JSON. */
  readonly messages: any[];
  readonly length: number;
  /** Writes it as JSON, to store it. */
  stringify(): string;
  /** Returns one that continues from here by itself. */
  copy(): Conversation;
}
