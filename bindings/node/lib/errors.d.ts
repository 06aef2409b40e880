import type { Result } from "./agent.js";
import type { FinishReason, ModelErrorKind } from "./events.js";

/** Who has to change something. */
export type Fault = "caller" | "model" | "program" | "provider" | "environment" | "unknown";

/** The base class of all errors that the package throws. */
export class GadgetryError extends Error {
  constructor(message?: string, options?: { fault?: Fault | undefined; isRetryable?: boolean | undefined; cause?: unknown });
  readonly fault: Fault;
  /** True if the same attempt may succeed later. */
  readonly isRetryable: boolean;
}

/** An agent, a model or an option is not valid. Found before any request is sent. */
export class ConfigError extends GadgetryError {}

/** A gadget needs approval, and the agent has no approvals. Give it some, or `approvals: "off"`. */
export class ApprovalsMissing extends ConfigError {}

/** The parameters of a gadget, or the type of an answer, have no usable JSON Schema. */
export class SchemaError extends ConfigError {}

/** A message or an answer did not reach its run: it is over, or the approval is closed. */
export class NotDelivered extends GadgetryError {}

/** A gadget asked the user, and there is none, or no answer. */
export class HumanUnavailable extends GadgetryError {}

/** A durable run cannot be begun or resumed. */
export class JournalError extends GadgetryError {}

/** A function of the caller that decides (an approver, a transform, a schema) has thrown: `cause` is what it threw. The run has ended. */
export class CallbackError extends GadgetryError {
  private constructor();
  /** The function. */
  readonly callback: string;
}

/** Why a model call failed, as the provider reports it. */
export interface ModelError {
  kind: ModelErrorKind;
  /** The words of the provider, without keys. */
  message: string;
  /** The HTTP status. */
  status?: number;
  /** The provider's code. */
  code?: string;
  /** Milliseconds to wait before the next attempt. */
  retryAfterMs?: number;
  /** The provider's id of the request. */
  requestId?: string;
}

/** A run without an answer. It has everything that was said until then. */
export class RunError extends GadgetryError {
  protected constructor();
  /** Costs, calls, and the conversation to continue from. */
  readonly result: Result<string>;
  /** The error of the model call that ended the run. */
  readonly modelError?: ModelError;
  readonly reason: FinishReason;
}

/** A model call failed, and was not retried any more; `modelError` says why. */
export class ModelCallError extends RunError {}

/** The budget is spent. */
export class BudgetExceeded extends RunError {}

/** The model was not done after `maxIterations` replies. */
export class TooManyIterations extends RunError {}

/** The run was cancelled by `Run.cancel`. */
export class RunCancelled extends RunError {}

/** The run ended without the answer of the demanded type. */
export class NoAnswer extends RunError {}

/** Thrown by a gadget: the call fails, and the model reads exactly this text. */
export class GadgetError extends GadgetryError {}

/** Thrown by a gadget: the call succeeds with this text, which is the answer of the run, and the run ends. */
export class TaskComplete extends GadgetryError {}

/** Thrown by a gadget: the user is asked this question, and the answer is the result of the call. */
export class HumanInputRequired extends GadgetryError {}
