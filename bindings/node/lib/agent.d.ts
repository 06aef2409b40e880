import type { Conversation } from "./conversation.js";
import type { FinishReason, RunEvent, Subject, Usage } from "./events.js";
import type { AnyGadget, Duration } from "./gadget.js";
import type { Journal } from "./journal.js";
import type { ModelLike } from "./models.js";
import type { Anchoring, Markers } from "./parser.js";
import type { Infer, JsonSchema, StandardSchema } from "./schema.js";

/** A call that waits for approval, as the user is shown it. */
export interface Approval {
  /** The id that an answer names. Another call, or the same with another effect, has another one. */
  id: string;
  gadgetName: string;
  parameters: Record<string, unknown>;
  /** The target of the call. */
  subject?: Subject | null;
  /** The change of a file, as a unified diff. */
  diff?: string | null;
  /** Further facts, a line each. */
  notes: string[];
  /** The server that defines the gadget, if it is a tool of one. */
  server?: string | null;
}

/**
 * The answer to an approval: `{ allow }` has a rule, such as `allow ReadFile(docs/**)`, for all that it allows from now on; the model reads the
 * reason of `{ deny }`; `"pending"` leaves the question open for `Run.answer`.
 */
export type Answer = boolean | { allow: string } | { deny: string } | "pending";

/** Decides about a call. What it throws ends the run, as the cause of a `CallbackError`. */
export type Approver = (approval: Approval) => Answer | Promise<Answer>;

/** Rules, of which the first that matches a call decides, and a function that decides about the rest. */
export interface Approvals {
  /** For example `["allow Read*", "deny *(.git/**)", "ask *"]`. Without a rule, the permission of the gadget decides. */
  rules?: readonly string[] | undefined;
  approve?: Approver | undefined;
  /** True if every question is left open for `Run.answer`. Without this and `approve`, calls that need an answer are denied. */
  inStream?: boolean | undefined;
  /** Why calls are denied without an approver, as the model reads it after `… needs approval, but `. */
  unattended?: string | undefined;
}

/** A custom block that is complete. */
export interface Block {
  /** The key of its definition. */
  key: string;
  content: string;
  attributes: Record<string, any>;
  /** True if the tag closed itself. */
  isSelfClosing: boolean;
}

/** A tag such as `<citation source="…">…</citation>`, which is not shown as text. */
export interface CustomBlock {
  /** The name of the block in events, and of the tag. */
  key: string;
  /** The name of the tag, if it is another one. */
  tag?: string | undefined;
  /** What the model reads about it in the list of blocks. */
  description?: string | undefined;
  /** How to write it, in place of the usual words. */
  instructions?: string | undefined;
  /** `keep`: it is in events and in the conversation. `suppress`: it is dropped. `reasoning`: its content is reasoning. */
  mode?: "keep" | "suppress" | "reasoning" | undefined;
  /** Returns the text that takes its place; nothing leaves it as it is. What it throws ends the run. */
  transform?: ((block: Block) => string | null | undefined | void) | undefined;
}

/** The options of an agent. What is left out has the default of the library. */
export interface AgentOptions<D = any> {
  model: ModelLike;
  gadgets?: ReadonlyArray<AnyGadget<D>> | undefined;
  /** Instructions for the model. */
  system?: string | undefined;
  /** The name of the agent in events. */
  name?: string | undefined;
  /** Replies of the model in a run, at most. */
  maxIterations?: number | undefined;
  /** US dollars for a run. The price of the model has to be known. */
  budget?: number | undefined;
  temperature?: number | undefined;
  /** Tokens of a reply, at most. */
  maxTokens?: number | undefined;
  /** Texts at which a reply ends. */
  stop?: readonly string[] | undefined;
  /** Time for a call of a gadget without a timeout of its own. */
  timeout?: Duration | undefined;
  /** Time for a cancelled gadget to clean up. */
  grace?: Duration | undefined;
  /** Gadgets that run at the same time, at most. */
  maxConcurrent?: number | undefined;
  maxGadgetsPerReply?: number | undefined;
  maxDepth?: number | undefined;
  /** True if gadgets run one after the other. */
  sequential?: boolean | undefined;
  /** True if the run ends when a gadget fails. */
  stopOnGadgetError?: boolean | undefined;
  /** How often a failed request is sent again; 0 for never. */
  retries?: number | undefined;
  /** How the model calls: as text, through the provider's interface, or either way. */
  tools?: "text" | "native" | "both" | undefined;
  /** How calls are written. */
  form?: "block" | "json" | undefined;
  /** Worked turns in the prompt; they help small models. */
  examples?: number | undefined;
  /** The markers of blocks. */
  markers?: Markers | undefined;
  /** Where markers count. */
  anchoring?: Anchoring | undefined;
  /** Names of tags whose content is reasoning. */
  reasoningTags?: readonly string[] | undefined;
  /** Tags that are taken out of replies. */
  blocks?: readonly CustomBlock[] | undefined;
  /** False if long conversations are not shortened. */
  compaction?: boolean | undefined;
  /** A text at the end of each request, which is not kept. */
  trailing?: string | undefined;
  /** The run continues with this text after a reply that calls nothing: only a gadget ends it. */
  remind?: string | undefined;
  /** Who decides about calls; `"off"` if whatever the model writes may run. */
  approvals?: Approvals | Approver | "off" | undefined;
  /** Answers questions of gadgets; nothing if there is no answer. */
  onHumanInput?: ((question: string, gadgetName?: string) => string | null | undefined | Promise<string | null | undefined>) | undefined;
}

/** A type of answers: a Standard Schema, or a JSON Schema. */
export type OutputSchema = StandardSchema<any, any> | JsonSchema;

/** The options of a run. */
export interface RunOptions<D = any> {
  /** The dependencies of the run, which gadgets find in their context. */
  deps?: D | undefined;
  /** What was said before. The run adds to it when it ends. */
  conversation?: Conversation | undefined;
  /** The id of the run; no other run may have it. */
  runId?: string | undefined;
  /** Data about the run, for events and gadgets. */
  metadata?: Record<string, unknown> | undefined;
  /** Ends the run, with everything that it has begun; the one who waits gets its reason. */
  signal?: AbortSignal | undefined;
  /** Where the run is kept. One with the same `runId` that has begun there is resumed. */
  journal?: Journal | undefined;
  /** True if a run of the journal is resumed although the agent that began it was another. */
  force?: boolean | undefined;
}

/** The options of a run whose answer is a value. */
export interface OutputOptions<S extends OutputSchema = OutputSchema> {
  /** The type of the answer. */
  output: S;
  /** The JSON Schema of `output`, where a Standard Schema does not give it. */
  outputJsonSchema?: JsonSchema | undefined;
}

/** A call that the model has made. */
export interface CallSummary {
  gadgetName: string;
  invocationId: string;
  status: "succeeded" | "failed" | "skipped" | "abandoned";
}

/** The end of a run. */
export interface Result<O = string> {
  /** The answer as a text. */
  text: string;
  /** The answer of the demanded type; the text, if none was demanded. */
  output: O;
  reason: FinishReason;
  /** Replies that the model gave. */
  iterations: number;
  /** US dollars; absent if the price of a call is not known. */
  cost?: number;
  /** The known part of that. */
  knownCost: number;
  /** Tokens of all model calls. */
  usage: Usage;
  /** The calls of gadgets, in order. */
  calls: CallSummary[];
  /** What was said, to continue from. */
  conversation: Conversation;
}

/**
 * A run of an agent: its events, one by one, and then its result. It progresses while its events are read, or while `result` is awaited.
 * Leaving the loop ends it, with its gadgets.
 *
 * ```ts
 * const run = agent.stream("What is the weather in Paris?");
 * for await (const event of run) if (event.type === "text") process.stdout.write(event.text);
 * console.log((await run.result()).cost);
 * ```
 */
export class Run<O = string> implements AsyncIterableIterator<RunEvent> {
  private constructor();
  /** The id of the run. That of a durable run is known once it has begun. */
  readonly id: string;
  next(): Promise<IteratorResult<RunEvent, undefined>>;
  return(): Promise<IteratorResult<RunEvent, undefined>>;
  [Symbol.asyncIterator](): this;
  /** Yields the visible text of the model as it writes, without that of subagents. */
  texts(): AsyncGenerator<string, void, undefined>;
  /**
   * Waits for the end of the run. The events that are left are skipped.
   *
   * Throws a `RunError` for a run without an answer: `ModelCallError`, `BudgetExceeded`, `TooManyIterations`, `RunCancelled`, `NoAnswer`.
   */
  result(): Promise<Result<O>>;
  /** Returns the approvals that are open. */
  approvals(): Approval[];
  /** Answers an open approval. Throws `NotDelivered` if it is closed or unknown. */
  answer(approval: string | Approval, answer: Answer): void;
  /** Adds a message of the user to the next request. Throws `NotDelivered` if the run is over. */
  inject(text: string): void;
  /** Makes the conversation shorter before the next request. Throws `NotDelivered` if the run is over. */
  compact(): void;
  /** Stops the run: gadgets are cancelled, and `result` throws `RunCancelled`, with what was said until then. */
  cancel(): void;
  /** Drops the run, with everything that it has begun. Nothing more can be read of it. */
  close(): void;
  [Symbol.asyncDispose](): Promise<void>;
  /** The run as a response of a web server: each event as a server-sent event. A client that leaves ends the run. */
  toResponse(init?: ResponseInit): Response;
  /** The same in the UI message stream of the AI SDK, for `useChat`. */
  toUIMessageStreamResponse(init?: ResponseInit): Response;
}

/**
 * A model with gadgets that answers prompts. Runs of one agent may be at the same time.
 *
 * ```ts
 * const agent = new Agent({ model: "ollama:llama3.2", gadgets: [weather], system: "Be brief." });
 * console.log((await agent.ask("What is the weather in Paris?")).text);
 * ```
 */
export class Agent<D = any> {
  /** Throws `ConfigError`, `ApprovalsMissing` or `SchemaError` if it cannot be made. No request is sent. */
  constructor(options: AgentOptions<D>);
  /** The gadgets, in order. */
  readonly gadgets: ReadonlyArray<AnyGadget<D>>;
  /**
   * Asks the model, and waits for the end of the run. With `output` the answer is a value of that schema, and not a `Result`; one that does not
   * fit is corrected by the model.
   *
   * Throws a `RunError` for a run without an answer.
   */
  ask<S extends OutputSchema>(prompt: string, options: RunOptions<D> & OutputOptions<S>): Promise<Infer<S, any>>;
  ask(prompt: string, options?: RunOptions<D>): Promise<Result>;
  /** Starts a run whose events are read one by one. The arguments are those of `ask`. */
  stream<S extends OutputSchema>(prompt: string, options: RunOptions<D> & OutputOptions<S>): Run<Infer<S, any>>;
  stream(prompt: string, options?: RunOptions<D>): Run;
  /** Resumes a run that `journal` has, whatever its prompt was. A run that has ended gives its result at once. */
  resume(runId: string, options: RunOptions<D> & { journal: Journal }): Run;
}
