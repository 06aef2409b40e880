// The build puts them there: they are those of the package `gadgetry`.
export * from "../module/blocks.js";
export type { JsonSchema } from "../module/schema.js";

/** Base of the errors of this package. */
export class GadgetryError extends Error {
  /** Who has to change something. */
  readonly fault: "caller" | "program" | "model" | "provider" | "environment" | "unknown";
  /** Whether the same attempt may succeed later. */
  readonly isRetryable: boolean;
}

/** Options that make no sense. */
export class ConfigError extends GadgetryError {}

/** A schema that is none. */
export class SchemaError extends ConfigError {}
