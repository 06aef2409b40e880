// Opens pages of `gadgetry inspect` in Chromium. Arguments: the folder of playwright-core and axe-core, Chromium, and a JSON object with
// the pages. Prints a line for each scenario; the first failure ends it with code 1.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [folder, executablePath, pages] = process.argv.slice(2);
const urls = JSON.parse(pages);
const require = createRequire(`${folder}/`);
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
const patience = Number(process.env.PATIENCE ?? 60_000);

/** Opens a page, waits until the run has been read, and notes all that a page must not do. */
async function open(url, { done = true, colorScheme = 'light' } = {}) {
  // Axe is a script of ours, which the policy of the page forbids; `bypassCSP` would hide that the page needs none.
  const context = await browser.newContext({ viewport: { width: 1180, height: 720 }, colorScheme, reducedMotion: 'reduce' });
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  const noted = [];
  page.on('console', (message) => message.type() === 'error' && noted.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => noted.push(`error: ${error}`));
  page.on('dialog', (dialog) => { noted.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on('request', (request) => new URL(request.url()).origin !== new URL(url).origin && !request.url().startsWith('data:') && noted.push(`request: ${request.url()}`));
  await page.goto(url);
  if (done) await page.locator('body[data-done="1"]').waitFor();
  return { page, noted, context };
}

/** Runs axe where no policy hinders it: in the world of the driver. */
async function accessible(page, what) {
  const session = await page.context().newCDPSession(page);
  const { frameTree } = await session.send('Page.getFrameTree');
  const { executionContextId: contextId } = await session.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id });
  await session.send('Runtime.evaluate', { expression: axe, contextId });
  const expression = `axe.run(document, { resultTypes: ['violations'] }).then((it) => JSON.stringify(it.violations.map(({ id, impact, nodes }) =>
    ({ id, impact, nodes: nodes.slice(0, 3).map((node) => node.html.slice(0, 160) + ' ' + node.failureSummary) }))))`;
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', { expression, contextId, awaitPromise: true });
  assert.equal(exceptionDetails, undefined);
  const violations = JSON.parse(result.value);
  assert.deepEqual(violations.filter(({ impact }) => impact === 'serious' || impact === 'critical'), [], what);
}

/** Waits until what follows a key is drawn. */
const drawn = (page) => page.evaluate(async () => {
  for (let frames = 0; frames < 4; frames++) await new Promise(requestAnimationFrame);
});

/** Presses keys, one after the other. */
async function press(page, ...keys) {
  for (const key of keys) {
    await page.keyboard.press(key);
    await drawn(page);
  }
}

/** Takes a picture that is small enough for a document. */
async function picture(page, path) {
  await page.setViewportSize({ width: 1000, height: 560 });
  await drawn(page);
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 80 });
  const bytes = Buffer.from(data, 'base64');
  assert.ok(bytes.length < 60_000, `${path}: ${bytes.length} bytes`);
  writeFileSync(path, bytes);
}

const chosen = (page) => page.locator('[role=option][aria-selected=true]');
const details = (page) => page.locator('.details');

const SCENARIOS = {
  async finished({ page }) {
    assert.deepEqual(await page.locator('[role=option] .name').allTextContents(), [
      '✓reply 1 script:script.jsonl, done, ', '✓Echo a, done, ', '✓Echo b, done, ', '✓reply 2 script:script.jsonl, done, ',
    ]);
    await press(page, 'j', 'j');
    assert.match(await details(page).innerText(), /Echo a[^]*Parameters[^]*"say": "one"[^]*Result[^]*one/);
    assert.equal(await page.locator('.graph .node').count(), 2);
    assert.equal(await page.locator('.graph .edge').count(), 1);
    await press(page, 'k');
    await page.getByText('Request: 2 messages').click();
    await page.getByRole('region', { name: 'user', exact: true }).getByText('Go!').waitFor();
    await page.getByText('Reply as received').click();
    await page.getByRole('region', { name: 'Text', exact: true }).getByText('!!!GADGET_START:Echo:a').waitFor();
    for (const view of ['2', '3', '1']) {
      await press(page, view);
      await accessible(page, `view ${view}`);
    }
    await press(page, '/');
    await page.keyboard.type('two');
    await page.locator('[role=option]').nth(1).waitFor({ state: 'detached' });
    assert.match((await page.locator('[role=option] .name').allTextContents()).join(), /Echo b/);
  },
  async failed({ page }) {
    assert.match(await page.locator('#attention').innerText(), /Errors: 2[^]*Fail a: no luck[^]*Echo b/);
    await press(page, 'e');
    assert.match(await chosen(page).innerText(), /Fail a/);
    await press(page, 'e');
    assert.match(await chosen(page).innerText(), /Echo b[^]*skipped/);
    assert.equal(await page.locator('.graph .node.failed').count(), 1);
    assert.equal(await page.locator('.graph .node.skipped').count(), 1);
    await page.getByRole('checkbox', { name: 'Errors only' }).check();
    await page.locator('[role=option]').nth(2).waitFor({ state: 'detached' });
    await accessible(page, 'errors');
  },
  async keyboard({ page }) {
    // From the beginning of the page to the list with Tab alone.
    for (let at = 0; at < 30 && await page.evaluate(() => document.activeElement?.id) !== 'steps'; at++) await press(page, 'Tab');
    await press(page, 'End');
    assert.match(await chosen(page).innerText(), /reply 2/);
    await press(page, 'Home');
    await press(page, 'ArrowDown');
    assert.match(await chosen(page).innerText(), /a/);
    const active = await page.locator('#steps').getAttribute('aria-activedescendant');
    assert.equal(await chosen(page).getAttribute('id'), active);
    await page.locator('[role=tab][aria-selected=true]').focus();
    await press(page, 'ArrowRight');
    await page.locator('#tab-Messages[aria-selected=true]:focus').waitFor();
  },
  async long({ page }) {
    assert.ok(await page.locator('[role=option]').count() < 60, 'only visible rows are elements');
    assert.match(await page.locator('#summary').innerText(), /Calls\s+2.500/);
    // Two hundred steps, and a frame each.
    const took = await page.evaluate(async () => {
      const list = document.getElementById('steps');
      const start = performance.now();
      for (let at = 0; at < 100; at++) {
        list.scrollTop = at * 600;
        await new Promise(requestAnimationFrame);
      }
      return (performance.now() - start) / 100;
    });
    console.log(`  ${took.toFixed(1)} ms a frame`);
    await page.locator('#steps').focus();
    await press(page, 'End');
    await page.locator('[aria-posinset="5000"][aria-selected=true]').waitFor();
    await press(page, '2');
    await page.getByRole('button', { name: 'Later' }).click();
    await page.getByText('Replies 26–50').waitFor();
  },
  async nested({ page }) {
    const rows = await page.locator('[role=option] .name').evaluateAll((names) => names.map((name) => [name.style.paddingInlineStart, name.textContent]));
    assert.deepEqual(rows, [
      ['0px', '✓reply 1, done, '], ['14px', '✓Ask a, done, '], ['28px', '✓subagent clerk, done, '], ['42px', '✓reply 1 small, done, '], ['56px', '✓Ask a, done, '],
    ]);
    await press(page, '3');
    assert.match(await page.locator('#panel').innerText(), /small\s+1\s+0[^]*\$0\.2500[^]*Ask\s+2/);
  },
  async hostile({ page }) {
    assert.ok(await page.locator('[role=option]').count() > 5);
    for (const view of ['2', '3', '1']) {
      await press(page, view);
    }
    for (let at = 0; at < 12; at++) {
      await press(page, 'j');
      for (const summary of await page.locator('.details summary').all()) await summary.click();
    }
    assert.equal(await page.locator('img, iframe, object, embed, base, main form, main style, main link, main script, math').count(), 0);
    const text = await page.locator('body').innerText();
    assert.doesNotMatch(text, /[\u202a-\u202e\u2066-\u2069]/);
    assert.match(await page.title(), /^gadgetry inspect$/);
    assert.equal(await page.evaluate(() => globalThis.owned), undefined);
  },
  async waiting({ page }, urls) {
    await page.locator('#attention .waits').waitFor();
    assert.match(await page.locator('#attention').innerText(), /Waiting for the user: 1[^]*WriteFile a: waits for approval: one/);
    await page.locator('#attention button').click();
    await details(page).getByText('waiting for an answer').waitFor();
    await accessible(page, 'waiting');
    // The test answers when this pipe is opened, and the page follows the run to its end.
    writeFileSync(urls.answer, '');
    await page.locator('#attention .waits').waitFor({ state: 'detached' });
    await page.locator('body[data-done="1"]').waitFor();
    assert.match(await page.locator('#summary').innerText(), /completed/);
  },
  async compared({ page }) {
    await press(page, '4');
    const select = page.getByLabel('Compare with');
    await select.selectOption({ index: 1 });
    await page.getByRole('table', { name: 'Calls', exact: true }).waitFor();
    const rows = await page.locator('table tr').allInnerTexts();
    assert.ok(rows.some((row) => /^Failed calls\s+[01]\s+[01]/.test(row)), rows.join('\n'));
    await accessible(page, 'comparison');
  },
  async pictures({ page }, { folder }) {
    await press(page, 'e');
    await picture(page, `${folder}/timeline.webp`);
    await press(page, '2');
    await picture(page, `${folder}/messages.webp`);
    await press(page, '3');
    await page.emulateMedia({ colorScheme: 'dark' });
    await drawn(page);
    await picture(page, `${folder}/costs.webp`);
    await page.emulateMedia({ colorScheme: 'light' });
    await press(page, '4');
    await page.getByLabel('Compare with').selectOption({ index: 1 });
    await page.getByRole('table', { name: 'Calls', exact: true }).waitFor();
    await drawn(page);
    await picture(page, `${folder}/comparison.webp`);
  },
  async waitingPicture({ page }, { folder, answer }) {
    await page.locator('#attention .waits').waitFor();
    await page.locator('#attention button').click();
    await drawn(page);
    await picture(page, `${folder}/waiting.webp`);
    writeFileSync(answer, '');
  },
};
SCENARIOS.exported = SCENARIOS.finished;
SCENARIOS.hostileFile = SCENARIOS.hostile;

try {
  for (const [name, url] of Object.entries(urls).filter(([name]) => Object.hasOwn(SCENARIOS, name))) {
    const start = performance.now();
    for (const colorScheme of name === 'failed' ? ['light', 'dark'] : ['light']) {
      const opened = await open(url, { colorScheme, done: !name.startsWith('waiting') });
      await SCENARIOS[name](opened, urls);
      assert.deepEqual(opened.noted, [], name);
      await opened.context.close();
    }
    console.log(`${name}: ${Math.round(performance.now() - start)} ms`);
  }
} finally {
  await browser.close();
}
