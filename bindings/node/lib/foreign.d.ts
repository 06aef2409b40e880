import type { Duration, NativeGadget } from "./gadget.js";

/** The built-in gadgets for files, search, commands and pages, which cannot leave the folder; or those of these names. */
export function builtinGadgets(folder: string, names?: readonly string[]): NativeGadget[];

/** The keys of every server. In its texts, `${NAME}` is an environment variable of this process, and `${NAME:-text}` has a default. */
export interface ServerOptions {
  /** False if the server is left out. */
  enabled?: boolean | undefined;
  /** Time for a call, such as `30s`; two minutes by default. */
  timeout?: Exclude<Duration, number> | undefined;
  /** Time until the tools of the server are listed, such as `1m`; 30 seconds by default. */
  "startup-timeout"?: Exclude<Duration, number> | undefined;
  /** The revision of the protocol; by default, `auto`: the newest one that the server supports. */
  protocol?: "auto" | "2025-11-25" | "2026-07-28" | undefined;
}

/** A server that is a program. */
export interface StdioServer extends ServerOptions {
  /** A path, or a name that is looked for in `PATH`. It is started without a shell. */
  command: string;
  args?: readonly string[] | undefined;
  /** Environment variables of the program, in addition to the basic ones. */
  env?: Readonly<Record<string, string>> | undefined;
  /** The folder that it runs in; that of this process by default. */
  cwd?: string | undefined;
  url?: undefined;
}

/** A server over streamable HTTP. */
export interface HttpServer extends ServerOptions {
  url: string;
  /** Headers of each request, such as `Authorization`. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** The client of its login, for configurations shared with the command line. This package does not log in: authorize requests by `headers`. */
  oauth?: { "client-id"?: string | undefined; "client-secret"?: string | undefined; scopes?: readonly string[] | undefined } | undefined;
  command?: undefined;
}

/** How a server is reached: a command, or an address. The keys are those of the configuration file. */
export type ServerConfig = StdioServer | HttpServer;

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
