// The page of the site on which replies are tried, in a real browser. Needs the site in `target/book`, Chromium and playwright-core.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join } from "node:path";
import { test } from "node:test";

import { exists, read } from "../help.js";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".svg": "image/svg+xml" };
const PATIENCE = 60_000;

// Each line is an argument of the command; the last one is the place.
const command = (name) => read(`target/servers/${name}.command`).trim().split("\n").at(-1);
const skip = ["playwright", "chromium"].every((name) => exists(`target/servers/${name}.command`)) ? false : "there is no browser";

/** Serves the site; without the parser, if it is to be missing. */
async function site(t, { parser = true } = {}) {
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
  return `http://127.0.0.1:${server.address().port}/try.html`;
}

/** Opens the page, and notes all that it must not do. */
async function open(t, url, colorScheme = "light") {
  const { chromium } = createRequire(`${command("playwright")}/`)("playwright-core");
  const browser = await chromium.launch({ executablePath: command("chromium"), args: ["--no-sandbox", "--disable-gpu"] });
  t.after(() => browser.close());
  const page = await browser.newPage({ colorScheme, reducedMotion: "reduce" });
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

async function accessible(page) {
  await page.evaluate(readFileSync(createRequire(`${command("playwright")}/`).resolve("axe-core/axe.min.js"), "utf8"));
  const found = await page.evaluate(() => axe.run("main", { resultTypes: ["violations"] }));
  const serious = found.violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  assert.deepEqual(serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`), []);
}

for (const colors of ["light", "dark"])
  test(`replies are read while they are typed, ${colors}`, { skip }, async (t) => {
    const { page, noted } = await open(t, await site(t), colors);
    const events = page.locator("#events > li");
    const summary = page.getByRole("status");
    const shown = async (type, text) => events.filter({ hasText: type }).filter({ hasText: text }).first().waitFor();
    await shown("gadget_call", '"city": "Paris"');
    await shown("custom_block", "Answer in one line.");
    await accessible(page);

    // By the keyboard alone; arrows would turn the pages of the book.
    await page.getByLabel("Reply of the model").focus();
    await page.keyboard.press("Control+A");
    await page.keyboard.type("!!!GADGET_START:Clock:now\n!!!ARG:zone\nUTC");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Space");
    await page.getByText("and one that is not complete").waitFor();
    assert.match(await summary.textContent(), / 0 calls, and one that is not complete/);
    await page.keyboard.press("Space");
    await shown("gadget_call", '"terminatedBy": "endOfStream"');

    const hostile = '<img src=x onerror="alert(1)"><script>alert(2)</script><svg onload=alert(3)>';
    await page.getByLabel("Reply of the model").fill(`${hostile}\n!!!GADGET_START:${hostile}\n!!!ARG:${hostile}\n${hostile}\n!!!GADGET_END`);
    await shown("text", hostile);
    assert.equal(await page.locator("#events img, #events script, #events svg").count(), 0);

    await page.getByLabel("Custom tags").fill("a/b");
    await page.getByText("not a tag name").waitFor();
    assert.equal(await events.count(), 0);
    assert.match(page.url(), /\/try\.html$/);
    assert.deepEqual(noted, []);
  });

test("without the parser, the page says so", { skip }, async (t) => {
  const { page, noted } = await open(t, await site(t, { parser: false }));
  await page.getByText('Run "node bindings/wasm/build.mjs"').waitFor();
  assert.deepEqual(noted, []);
});
