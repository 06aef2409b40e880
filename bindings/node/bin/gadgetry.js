#!/usr/bin/env node
// The command `gadgetry`: its program is in a package for this system, `gadgetry-cli-PLATFORM-ARCH`, which npm installs where it exists.
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";

const name = `gadgetry-cli-${process.platform}-${process.arch}`;
let program;
try {
  program = createRequire(import.meta.url).resolve(`${name}/gadgetry`);
} catch {
  console.error(`error: the package ${name} is not installed, and has the program\n  install it (npm install ${name}), or the program itself (cargo install gadgetry-cli)`);
  process.exit(1);
}
// A terminal sends its interrupts to the program as well, which decides about them.
for (const signal of ["SIGINT", "SIGQUIT"]) process.on(signal, () => {});
const { status, signal, error } = spawnSync(program, process.argv.slice(2), { stdio: "inherit" });
if (error) {
  console.error(`error: ${program}: ${error.message}`);
  process.exit(1);
}
process.exit(status ?? 128 + (signal === "SIGTERM" ? 15 : 9));
