// Gadgets that are not JavaScript: built-in ones, and tools of MCP servers.
import { awaited, sync } from "./errors.js";
import { NativeGadget } from "./gadget.js";
import { native } from "./native.js";

export function builtinGadgets(folder, names) {
  return sync(() => native.builtins(folder, names)).map((it) => new NativeGadget(it));
}

export class McpServers {
  #native;

  constructor(made) {
    this.#native = made;
  }

  static async connect(servers) {
    return new McpServers(await awaited(() => native.McpServers.connect(JSON.stringify(servers))));
  }

  gadgets(reserved = []) {
    return this.#native.gadgets(reserved).map((it) => new NativeGadget(it));
  }

  problems(reserved = []) {
    return JSON.parse(this.#native.problems(reserved));
  }

  async close() {
    await awaited(() => this.#native.close());
  }

  async [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() {
    await this.close();
  }
}
