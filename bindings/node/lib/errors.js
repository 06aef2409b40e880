// The exceptions of the package, and how those of the native part become them.

export class GadgetryError extends Error {
  constructor(message = "", { fault = "program", isRetryable = false, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.fault = fault;
    this.isRetryable = isRetryable;
  }

  get name() {
    return this.constructor.name;
  }
}

export class ConfigError extends GadgetryError {}

export class ApprovalsMissing extends ConfigError {}

export class SchemaError extends ConfigError {}

export class NotDelivered extends GadgetryError {}

export class HumanUnavailable extends GadgetryError {}

export class JournalError extends GadgetryError {}

export class CallbackError extends GadgetryError {
  constructor(callback, cause) {
    super(`the ${callback} failed: ${describe(cause)}`, { cause });
    this.callback = callback;
  }
}

export class RunError extends GadgetryError {
  constructor(message, { result, modelError, ...rest }) {
    super(message, rest);
    this.result = result;
    this.modelError = modelError;
  }

  get reason() {
    return this.result.reason;
  }
}

export class ModelCallError extends RunError {}

export class BudgetExceeded extends RunError {}

export class TooManyIterations extends RunError {}

export class RunCancelled extends RunError {}

export class NoAnswer extends RunError {}

export class GadgetError extends GadgetryError {}

export class TaskComplete extends GadgetryError {}

export class HumanInputRequired extends GadgetryError {}

const BY_NAME = { GadgetryError, ConfigError, ApprovalsMissing, SchemaError, NotDelivered, HumanUnavailable, JournalError };

const BY_REASON = {
  modelError: ModelCallError,
  withheld: ModelCallError,
  budgetExceeded: BudgetExceeded,
  maxIterations: TooManyIterations,
  cancelled: RunCancelled,
};

/** Whatever was thrown, in a line: `TypeError: no way`. */
export function describe(thrown) {
  try {
    if (!(thrown instanceof Error)) return String(thrown);
    return thrown.message ? `${thrown.name}: ${thrown.message}` : String(thrown.name);
  } catch {
    return "an error that has no text";
  }
}

const MARK = "gadgetry:";

/** Makes a typed error of an exception of the native part. */
export function revived(error) {
  if (!(error instanceof Error) || !error.message.startsWith(MARK)) return error;
  const { name, message, ...fields } = JSON.parse(error.message.slice(MARK.length));
  if (name === "TypeError") return new TypeError(message);
  if (name === "ValueError") return new RangeError(message);
  return new (BY_NAME[name] ?? GadgetryError)(message, fields);
}

/** Makes the error of a run without an answer. */
export function runError(json, result) {
  const { message, modelError, ...fields } = JSON.parse(json);
  const made = BY_REASON[result.reason] ?? RunError;
  return new made(message, { ...fields, result, modelError: modelError && read(modelError) });
}

function read({ error, ...fields }) {
  return { ...fields, message: error ?? "" };
}

/** Calls the native part; its exceptions become those of the package. */
export function sync(call) {
  try {
    return call();
  } catch (error) {
    throw revived(error);
  }
}

/** The same for what is awaited. */
export async function awaited(call) {
  try {
    return await call();
  } catch (error) {
    throw revived(error);
  }
}
