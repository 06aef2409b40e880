// In Node.js: the module is read from its file.
import { readFileSync } from "node:fs";

import { initSync } from "../module/gadgetry_wasm.js";

initSync({ module: readFileSync(new URL("../module/gadgetry_wasm_bg.wasm", import.meta.url)) });

export * from "./parser.js";
