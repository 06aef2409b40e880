// Tool calling for any text model.
export {
  Agent,
  type AgentOptions,
  type Answer,
  type Approval,
  type Approvals,
  type Approver,
  type Block,
  type CallSummary,
  type CustomBlock,
  type OutputOptions,
  type OutputSchema,
  type Result,
  Run,
  type RunOptions,
} from "./agent.js";
export { Conversation, type StoredMessage } from "./conversation.js";
export {
  ApprovalsMissing,
  BudgetExceeded,
  CallbackError,
  ConfigError,
  type Fault,
  GadgetError,
  GadgetryError,
  HumanInputRequired,
  HumanUnavailable,
  JournalError,
  ModelCallError,
  type ModelError,
  NoAnswer,
  NotDelivered,
  RunCancelled,
  RunError,
  SchemaError,
  TaskComplete,
  TooManyIterations,
} from "./errors.js";
export type * from "./events.js";
export { builtinGadgets, type HttpServer, McpServers, type ServerConfig, type ServerOptions, type StdioServer } from "./foreign.js";
export {
  type AnyGadget,
  type Duration,
  type Example,
  Gadget,
  gadget,
  GadgetContext,
  type GadgetOptions,
  type GadgetSpec,
  NativeGadget,
  type Permission,
  tool,
} from "./gadget.js";
export { Journal, type RunRecord } from "./journal.js";
export { Model, type ModelLike, type ModelOptions, type Price } from "./models.js";
export { type Anchoring, instructions, type Markers, Parser, type ParserEvent, type ParserOptions, writeCall } from "./parser.js";
export { chatRequest } from "./response.js";
export type { Infer, JsonSchema, StandardSchema } from "./schema.js";
export { MockModel, ScriptedModel } from "./testing.js";
