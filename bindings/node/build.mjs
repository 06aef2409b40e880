// Builds the native part into `native/`: `node build.mjs [--profile NAME]`, by default `release`. Needs Rust.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const given = process.argv.indexOf("--profile");
const profile = given < 0 ? "release" : process.argv[given + 1];
const cargo = ["build", "--package", "gadgetry-node", "--locked", "--profile", profile, "--message-format", "json-render-diagnostics"];
const output = execFileSync("cargo", cargo, { cwd: join(here, ".."), maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "inherit"] });
// Cargo itself names the file, wherever its target folder is.
const artifacts = output.toString().split("\n").filter((line) => line.includes('"compiler-artifact"')).map((line) => JSON.parse(line));
const library = artifacts.filter((it) => it.target.name === "gadgetry_node" && it.target.kind.includes("cdylib")).at(-1).filenames[0];
mkdirSync(join(here, "native"), { recursive: true });
copyFileSync(library, join(here, "native", `gadgetry.${process.platform}-${process.arch}.node`));
