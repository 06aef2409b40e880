// In browsers and bundlers: the module is fetched from where this file is.
import load from "../module/gadgetry_wasm.js";

await load({ module_or_path: new URL("../module/gadgetry_wasm_bg.wasm", import.meta.url) });

export * from "./parser.js";
