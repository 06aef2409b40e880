import type { NativeGadget } from "./gadget.js";

/** The built-in gadgets for files, search, commands and pages, which cannot leave the folder; or those of these names. */
export function builtinGadgets(folder: string, names?: readonly string[]): NativeGadget[];

/** How a server is reached: a command, or an address. */
export type ServerConfig = { command: string; args?: readonly string[]; env?: Record<string, string> } | { url: string; headers?: Record<string, string> };

/** Connections to servers of the Model Context Protocol. */
export class McpServers {
  private constructor();
  /** Connects to servers, by their names. One that cannot be reached is among the problems. */
  static connect(servers: Record<string, ServerConfig>): Promise<McpServers>;
  /** The tools as gadgets, which need approval. Names in `reserved` are those of other gadgets. */
  gadgets(reserved?: readonly string[]): NativeGadget[];
  /** What is wrong with servers and tools. */
  problems(reserved?: readonly string[]): string[];
  /** Ends the connections. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
