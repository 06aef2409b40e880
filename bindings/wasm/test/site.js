// The site in a real browser. Needs it in `target/book`, Chromium and playwright-core.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join } from "node:path";

import { exists, read } from "../help.js";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".svg": "image/svg+xml" };
const PATIENCE = 60_000;

// Each line is an argument of the command; the last one is the place.
const command = (name) => read(`target/servers/${name}.command`).trim().split("\n").at(-1);
export const skip = ["playwright", "chromium"].every((name) => exists(`target/servers/${name}.command`)) ? false : "there is no browser";

/** Serves the site; without the parser, if it is to be missing. */
export async function site(t, { parser = true } = {}) {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://site");
    const file = join(process.env.GADGETRY_ROOT, "target/book", pathname);
    if (!existsSync(file) || (!parser && pathname.startsWith("/wasm/"))) return void response.writeHead(404).end();
    response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" }).end(readFileSync(file));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${server.address().port}`;
}

/** Opens the page, and notes all that it must not do. */
export async function open(t, url, options = {}) {
  const { chromium } = createRequire(`${command("playwright")}/`)("playwright-core");
  const browser = await chromium.launch({ executablePath: command("chromium"), args: ["--no-sandbox", "--disable-gpu"] });
  t.after(() => browser.close());
  const page = await browser.newPage({ reducedMotion: "reduce", ...options });
  page.setDefaultTimeout(PATIENCE);
  const noted = [];
  page.on("pageerror", (error) => noted.push(`error: ${error}`));
  page.on("dialog", (dialog) => {
    noted.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("request", (request) => new URL(request.url()).origin !== new URL(url).origin && noted.push(`request: ${request.url()}`));
  await page.goto(url);
  return { page, noted };
}

export async function accessible(page, within = "main") {
  await page.evaluate(readFileSync(createRequire(`${command("playwright")}/`).resolve("axe-core/axe.min.js"), "utf8"));
  const found = await page.evaluate((within) => axe.run(within, { resultTypes: ["violations"] }), within);
  const serious = found.violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  assert.deepEqual(serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`), []);
}
