// Tool calling for any text model.
export { Agent } from "./agent.js";
export { Conversation } from "./conversation.js";
export {
  ApprovalsMissing, BudgetExceeded, CallbackError, ConfigError, GadgetError, GadgetryError, HumanInputRequired, HumanUnavailable, JournalError,
  ModelCallError, NoAnswer, NotDelivered, RunCancelled, RunError, SchemaError, TaskComplete, TooManyIterations,
} from "./errors.js";
export { builtinGadgets, McpServers } from "./foreign.js";
export { Gadget, gadget, gadget as tool, GadgetContext, NativeGadget } from "./gadget.js";
export { Journal } from "./journal.js";
export { Model } from "./models.js";
export { instructions, Parser, writeCall } from "./parser.js";
export { chatRequest } from "./response.js";
export { Run } from "./run.js";
export { MockModel, ScriptedModel } from "./testing.js";
