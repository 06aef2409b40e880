// The native part: a file of this package where it was built here, or the package of this platform.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
const platform = `${process.platform}-${process.arch}`;
const file = fileURLToPath(new URL(`../native/gadgetry.${platform}.node`, import.meta.url));

function load() {
  if (existsSync(file)) return require(file);
  try {
    return require(`@gadgetry/${platform}`);
  } catch (cause) {
    throw new Error(`gadgetry has no native part for ${platform}: build it with \`npm run build\`, which needs Rust`, { cause });
  }
}

export const native = load();
