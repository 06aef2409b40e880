// The events of a run, as JSON has them. `docs/events.schema.json` is their schema; a test compares the two.

/** Tokens of model calls. */
export interface Usage {
  inputTokens: number;
  outputTokens: number;
  totalTokens: number;
  reasoningTokens?: number;
  cachedInputTokens?: number;
  cacheCreationTokens?: number;
  cacheCreation1hTokens?: number;
  reasoningOutsideOutput?: boolean;
  /** True if the provider has not reported them. */
  estimated?: boolean;
  /** US dollars, if the provider has reported them. */
  cost?: number | null;
}

/** Why a model call failed. */
export type ModelErrorKind =
  | "authentication"
  | "rateLimit"
  | "overloaded"
  | "contextOverflow"
  | "badRequest"
  | "transport"
  | "truncated"
  | "contentFilter"
  | "other";

/** A call that has started a subagent. */
export interface Ancestor {
  call: number;
  invocationId: string;
  /** The number of the subagent among those of the call, from 0. */
  agent: number;
}

/** What all events have. */
interface EventBase {
  /** The version of the format. */
  v: 1;
  /** The number of the event in its run, from 0. */
  seq: number;
  /** Milliseconds since the run began. */
  timeMs: number;
  /** The id of the run; of an event of a subagent, that of the subagent. */
  run?: string | null;
  /** The calls that started the subagent, the outermost first; absent for events of the run itself. */
  path?: Ancestor[];
}

/** What the events of a call have. */
interface CallBase extends EventBase {
  /** The number of the call in its run, which no other call has. */
  call: number;
  /** The id of the call, as the model wrote it. */
  invocationId: string;
}

/** The error of a model call, in the fields of an event. */
interface ErrorFields {
  /** The kind, which decides about a retry. */
  kind?: ModelErrorKind;
  /** The words of the provider, without keys. */
  error?: string;
  /** The HTTP status. */
  status?: number | null;
  /** The provider's code. */
  code?: string | null;
  /** Milliseconds to wait before the next attempt. */
  retryAfterMs?: number | null;
  /** The provider's id of the request. */
  requestId?: string | null;
  /** The numbers of the provider, if the conversation was too long. */
  overflow?: { promptTokens?: number | null; contextWindow?: number | null } | null;
}

/** Bytes of the reply. */
export interface Span {
  start: number;
  end: number;
}

/** The run begins. */
export interface RunStart extends EventBase {
  type: "run_start";
  id: string;
  /** The name of the model; empty for a single call. */
  model: string;
  /** Whether the run is one call that no model has written. */
  singleCall?: boolean;
  /** The time at which the run was created, in milliseconds since 1970. */
  startMs?: number | null;
  agent?: string | null;
  /** The run and the call that started it, if it is a subagent. */
  parent?: { run: string; call: number } | null;
  /** What the caller of the run has given. */
  metadata?: Record<string, unknown>;
}

/** A request is sent to the model. */
export interface ModelCallStart extends EventBase {
  type: "model_call_start";
  /** The number of the reply, from 1. */
  iteration: number;
  purpose?: "reply" | "summary";
}

/** The reply has ended. Its gadgets may still run. */
export interface ModelCallEnd extends EventBase, ErrorFields {
  type: "model_call_end";
  iteration: number;
  purpose?: "reply" | "summary";
  stopReason: string;
  usage: Usage;
  /** US dollars; `null` if the price is not known. */
  cost: number | null;
}

/** The visible part of the current reply is withdrawn: it was cut off, and another one replaces it. */
export interface ReplyWithdrawn extends EventBase {
  type: "reply_withdrawn";
  iteration: number;
}

/** A request failed and will be sent again. */
export interface ModelRetry extends EventBase, ErrorFields {
  type: "model_retry";
  iteration: number;
  /** The number of the retry, from 1. */
  attempt: number;
  /** The number of retries that may follow. */
  left: number;
  /** Milliseconds before the retry. */
  delayMs: number;
}

/** A request waited for a rate limit. */
export interface RateLimited extends EventBase {
  type: "rate_limited";
  delayMs: number;
}

/** Older parts of the conversation were removed or summarised. */
export interface Compaction extends EventBase {
  type: "compaction";
  strategy: "slidingWindow" | "summary" | "hybrid";
  removedTurns: number;
  removedMessages: number;
  cutTexts?: number;
  tokensBefore: number;
  tokensAfter: number;
}

/** A piece of the visible text. */
export interface TextEvent extends EventBase {
  type: "text";
  text: string;
}

/** A piece of the model's reasoning. */
export interface ReasoningEvent extends EventBase {
  type: "reasoning";
  text: string;
}

/** The header of a call is complete. */
export interface GadgetCallStart extends CallBase {
  type: "gadget_call_start";
  gadgetName: string;
  /** Ids of the calls that must be done first. */
  dependencies: string[];
}

/** More text of an argument. */
export interface GadgetArgsPartial extends CallBase {
  type: "gadget_args_partial";
  gadgetName: string;
  /** The pointer of the value. */
  fieldPath: string;
  delta: string;
  isFieldComplete: boolean;
}

/** A call is complete. */
export interface GadgetCall extends CallBase {
  type: "gadget_call";
  gadgetName: string;
  dependencies: string[];
  /** The body, as written. */
  parametersRaw: string;
  terminatedBy: "endMarker" | "nextStart" | "endOfStream";
  span: Span;
  /** The parameters, if they could be read. */
  parameters?: Record<string, unknown>;
  /** The mistake of the model, if not. */
  parseError?: string;
}

/** The target of a call. */
export interface Subject {
  kind: "path" | "folder" | "command" | "url";
  text: string;
  /** The folder in which a command runs. */
  folder?: string | null;
}

/** A call waits for approval. Other gadgets run meanwhile. */
export interface ApprovalRequired extends CallBase {
  type: "approval_required";
  /** The id that an answer names. */
  approval: string;
  gadgetName: string;
  parameters: Record<string, unknown>;
  subject?: Subject | null;
  /** The change of a file, as a unified diff. */
  diff?: string | null;
  /** Further facts, a line each. */
  notes?: string[];
  /** The server that defines the gadget, if it is a tool of one. */
  server?: string | null;
}

/** An approval was answered or withdrawn. */
export interface ApprovalAnswered extends CallBase {
  type: "approval_answered";
  approval: string;
  answer: "allowed" | "denied" | "withdrawn";
  /** Why it was denied. */
  reason?: string | null;
}

/** A gadget starts. */
export interface GadgetStart extends CallBase {
  type: "gadget_start";
  gadgetName: string;
  /** What the gadget receives. */
  parameters: Record<string, unknown>;
}

/** A gadget starts again, because the program ended while it was running. */
export interface GadgetRestarted extends CallBase {
  type: "gadget_restarted";
  gadgetName: string;
}

/** A picture, a sound or a file. */
export interface Media {
  kind: "image" | "audio" | "file";
  mimeType: string;
  data: { base64: string } | { url: string };
  name?: string | null;
}

/** A call was answered with a result or an error. */
export interface GadgetResult extends CallBase {
  type: "gadget_result";
  gadgetName: string;
  durationMs: number;
  /** US dollars, without subagents. */
  cost: number;
  /** What the model reads, if the call succeeded. */
  result?: string;
  /** What the model reads, if it failed. */
  error?: string;
  media?: Media[];
  /** True if the run ends with this result. */
  completesRun?: boolean;
}

/** The cost of a gadget that ended after its call was answered. */
export interface GadgetCost extends CallBase {
  type: "gadget_cost";
  gadgetName: string;
  cost: number;
}

/** A running gadget reports progress. */
export interface GadgetProgress extends CallBase {
  type: "gadget_progress";
  gadgetName: string;
  message: string;
}

/** A gadget, or the run itself, waits for input of the user. */
export interface HumanInputRequiredEvent extends EventBase {
  type: "human_input_required";
  question: string;
  /** The call, if a gadget asks. */
  call?: number | null;
  invocationId?: string | null;
}

/** The user has answered, or is not available. */
export interface HumanInputReceived extends EventBase {
  type: "human_input_received";
  answered: boolean;
  call?: number | null;
  invocationId?: string | null;
}

/** A call was not executed because of a dependency or a limit. */
export interface GadgetSkipped extends CallBase {
  type: "gadget_skipped";
  gadgetName: string;
  /** The dependency, or the name of the limit. */
  failedDependency: string;
  /** What the model reads. */
  error: string;
}

/** A custom block opens. */
export interface CustomBlockStart extends EventBase {
  type: "custom_block_start";
  blockId: string;
  /** The key of its definition. */
  tag: string;
  attrs: Record<string, unknown>;
}

/** More content of a custom block. */
export interface CustomBlockDelta extends EventBase {
  type: "custom_block_delta";
  blockId: string;
  tag: string;
  delta: string;
}

/** A custom block ends. */
export interface CustomBlockEnd extends EventBase {
  type: "custom_block_end";
  blockId: string;
  tag: string;
  reason: "closed" | "selfClosing" | "endOfStream" | "limit";
}

/** A custom block is complete. */
export interface CustomBlockEvent extends EventBase {
  type: "custom_block";
  blockId: string;
  tag: string;
  content: string;
  attrs: Record<string, unknown>;
  selfClosing?: boolean;
}

/** A problem or a correction in a reply. */
export interface Diagnostic extends EventBase {
  type: "diagnostic";
  /** The kind; stable. */
  code: string;
  message: string;
  span: Span;
}

/** All calls of a reply are answered. */
export interface IterationEnd extends EventBase {
  type: "iteration_end";
  iteration: number;
}

/** Why a run ended. */
export type FinishReason =
  | "completed"
  | "taskCompleted"
  | "maxIterations"
  | "truncated"
  | "withheld"
  | "modelError"
  | "cancelled"
  | "budgetExceeded"
  | "gadgetError"
  | "stopped";

/** The run has finished. This is its last event. */
export interface RunFinished extends EventBase, ErrorFields {
  type: "run_finished";
  reason: FinishReason;
  iterations: number;
  /** US dollars; `null` if the price of a call is not known. */
  totalCost: number | null;
  answer: string;
}

/** An event of a run: `event.type` decides which. */
export type RunEvent =
  | RunStart
  | ModelCallStart
  | ModelCallEnd
  | ReplyWithdrawn
  | ModelRetry
  | RateLimited
  | Compaction
  | TextEvent
  | ReasoningEvent
  | GadgetCallStart
  | GadgetArgsPartial
  | GadgetCall
  | ApprovalRequired
  | ApprovalAnswered
  | GadgetStart
  | GadgetRestarted
  | GadgetResult
  | GadgetCost
  | GadgetProgress
  | HumanInputRequiredEvent
  | HumanInputReceived
  | GadgetSkipped
  | CustomBlockStart
  | CustomBlockDelta
  | CustomBlockEnd
  | CustomBlockEvent
  | Diagnostic
  | IterationEnd
  | RunFinished;
