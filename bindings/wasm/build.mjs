// Builds the WebAssembly module into `module/`: `node build.mjs`. Needs Rust with the target wasm32-unknown-unknown.
import { execFileSync } from "node:child_process";
import { copyFileSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));

/** Builds a package of the workspace, and returns the file that it is. Cargo itself names it, wherever its target folder is. */
function built(name, kind, options, env = process.env) {
  const cargo = ["build", "--package", name, "--locked", "--message-format", "json-render-diagnostics", ...options];
  const output = execFileSync("cargo", cargo, { cwd: join(here, ".."), env, maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "inherit"] });
  const artifacts = output.toString().split("\n").filter((line) => line.includes('"compiler-artifact"')).map((line) => JSON.parse(line));
  return artifacts.filter(({ target }) => target.name.replaceAll("_", "-") === name && target.kind.includes(kind)).at(-1).filenames[0];
}

/** The module has the names of source files, for panics: without the folders of this machine, and shorter. */
const folders = [join(here, "../.."), process.env.CARGO_HOME ?? join(homedir(), ".cargo")];
const shorter = folders.map((folder) => `--remap-path-prefix=${folder}/=`);

const pack = built("gadgetry-wasm-pack", "bin", []);
const module = built("gadgetry-wasm", "cdylib", ["--profile", "wasm", "--target", "wasm32-unknown-unknown"], {
  ...process.env,
  CARGO_ENCODED_RUSTFLAGS: shorter.join("\x1f"),
});
const folder = join(here, "module");
rmSync(folder, { recursive: true, force: true });
execFileSync(pack, [module, folder], { stdio: "inherit" });
for (const types of ["blocks.d.ts", "schema.d.ts"]) copyFileSync(join(here, "../node/lib", types), join(folder, types));
