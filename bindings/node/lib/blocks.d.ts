import type { JsonSchema } from "./schema.js";

/** Where markers count. */
export type Anchoring = "anywhere" | "line_start";

/** Start, end and argument marker. */
export type Markers = readonly [start: string, end: string, argument: string];

export interface ParserOptions {
  /** Names of tags that are taken out of the text. */
  tags?: readonly string[] | undefined;
  /** Names of tags whose content is reasoning. */
  reasoning?: readonly string[] | undefined;
  markers?: Markers | undefined;
  anchoring?: Anchoring | undefined;
  /** The schemas of parameters, by the name of the gadget: they give values their types, and validate nothing. */
  schemas?: Record<string, JsonSchema> | undefined;
}

/** An event of the parser: `event.type` decides which. */
export type ParserEvent =
  | { type: "text"; text: string }
  | { type: "gadget_call_start"; gadgetName: string; invocationId: string; dependencies: string[] }
  | { type: "gadget_args_partial"; gadgetName: string; invocationId: string; fieldPath: string; delta: string; isFieldComplete: boolean }
  | {
      type: "gadget_call";
      gadgetName: string;
      invocationId: string;
      dependencies: string[];
      /** The body, as written. */
      parametersRaw: string;
      terminatedBy: "endMarker" | "nextStart" | "endOfStream";
      span: { start: number; end: number };
      /** The parameters, if they could be read. */
      parameters?: Record<string, any>;
      /** The mistake of the model, if not. */
      parseError?: string;
    }
  | { type: "custom_block_start"; blockId: string; tag: string; attrs: Record<string, unknown> }
  | { type: "custom_block_delta"; blockId: string; tag: string; delta: string }
  | { type: "custom_block_end"; blockId: string; tag: string; reason: "closed" | "selfClosing" | "endOfStream" | "limit" }
  | { type: "custom_block"; blockId: string; tag: string; content: string; attrs: Record<string, unknown>; selfClosing?: boolean }
  | { type: "diagnostic"; code: string; message: string; span: { start: number; end: number } };

/**
 * Reads a reply piece by piece, for programs that have a loop of their own.
 *
 * ```ts
 * const parser = new Parser();
 * for (const chunk of chunks) for (const event of parser.feed(chunk)) handle(event);
 * for (const event of parser.finish()) handle(event);
 * ```
 */
export class Parser {
  /** Throws `ConfigError` for names that no tag can have, and `SchemaError` for a schema that is none. */
  constructor(options?: ParserOptions);
  /** Reads a piece. However the text is cut, the events are the same after adjacent ones are joined. */
  feed(chunk: string): ParserEvent[];
  /** Reads what is held, at the end of the reply. */
  finish(): ParserEvent[];
}

/** Writes a call as a block that the parser reads as the same call. */
export function writeCall(
  name: string,
  parameters: Record<string, unknown>,
  options?: {
    id?: string | undefined;
    dependencies?: readonly string[] | undefined;
    markers?: Markers | undefined;
    anchoring?: Anchoring | undefined;
    schema?: JsonSchema | undefined;
  },
): string;
