// The page of the site on which replies are tried, in a real browser.
import assert from "node:assert/strict";
import { test } from "node:test";

import { accessible, open, site, skip } from "./site.js";

for (const colors of ["light", "dark"])
  test(`replies are read while they are typed, ${colors}`, { skip }, async (t) => {
    const { page, noted } = await open(t, `${await site(t)}/try.html`, { colorScheme: colors });
    const events = page.locator("#events > li");
    const summary = page.getByRole("status");
    const shown = async (type, text) => events.filter({ hasText: type }).filter({ hasText: text }).first().waitFor();
    await shown("gadget_call", '"city": "Paris"');
    await shown("custom_block", "Answer in one line.");
    await accessible(page);

    // By the keyboard alone; arrows would turn the pages of the book.
    await page.getByLabel("The model's reply").focus();
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
    await page.getByLabel("The model's reply").fill(`${hostile}\n!!!GADGET_START:${hostile}\n!!!ARG:${hostile}\n${hostile}\n!!!GADGET_END`);
    await shown("text", hostile);
    assert.equal(await page.locator("#events img, #events script, #events svg").count(), 0);

    await page.getByLabel("Custom tags").fill("a/b");
    await page.getByText("not a tag name").waitFor();
    assert.equal(await events.count(), 0);
    assert.match(page.url(), /\/try\.html$/);
    assert.deepEqual(noted, []);
  });

test("without the parser, the page says so", { skip }, async (t) => {
  const { page, noted } = await open(t, `${await site(t, { parser: false })}/try.html`);
  await page.getByText('Run "node bindings/wasm/build.mjs"').waitFor();
  assert.deepEqual(noted, []);
});
