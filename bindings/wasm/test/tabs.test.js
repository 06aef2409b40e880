// Programs of the guide in tabs, in a real browser.
import assert from "node:assert/strict";
import { test } from "node:test";

import { accessible, open, site, skip } from "./site.js";

/** The languages whose programs are seen in the first tabs of a page. */
const seen = (page) => page.locator(".tabs").first().getByRole("tabpanel").evaluateAll((panels) => panels.filter((it) => it.checkVisibility()).map((it) => it.querySelector("code").classList[0]));

test("a language is chosen by the keyboard, and remembered", { skip }, async (t) => {
  const base = await site(t);
  const { page, noted } = await open(t, `${base}/guide/errors.html`);
  const tab = (name) => page.getByRole("tab", { name }).first();
  assert.deepEqual(await page.locator(".tabs").first().getByRole("tab").allTextContents(), ["Rust", "Python", "TypeScript"]);
  assert.deepEqual(await seen(page), ["language-rust"]);
  await accessible(page, ".tabs");
  // One stop of the Tab key for all tabs; arrows choose, and turn no page of the book.
  await tab("Rust").focus();
  for (const [key, name, language] of [["ArrowRight", "Python", "python"], ["ArrowLeft", "Rust", "rust"], ["ArrowLeft", "TypeScript", "ts"], ["Home", "Rust", "rust"], ["End", "TypeScript", "ts"]]) {
    await page.keyboard.press(key);
    assert.deepEqual([await tab(name).getAttribute("aria-selected"), await tab(name).evaluate((it) => it === document.activeElement)], ["true", true], key);
    assert.deepEqual(await seen(page), [`language-${language}`], key);
  }
  await tab("Python").click();
  await page.goto(`${base}/guide/agents.html`);
  assert.deepEqual(await seen(page), ["language-python"]);
  await accessible(page, ".tabs");
  assert.deepEqual(noted, []);
});

test("without JavaScript, all languages are shown", { skip }, async (t) => {
  const { page } = await open(t, `${await site(t)}/guide/errors.html`, { javaScriptEnabled: false });
  for (const name of ["rust", "python", "ts"]) assert.ok(await page.locator(`main code.language-${name}`).first().isVisible(), name);
  assert.equal(await page.getByRole("tab").count(), 0);
});
