// @ts-check
// The page: where records come from, which run is open, keys, and rendering at most once a frame.
'use strict';

/**
 * @typedef {{ id: string, title: string, state: string }} Listed
 * @typedef {{ list: () => Promise<Listed[]>, read: (id: string, from: number, take: (record: any) => void, signal: AbortSignal) => Promise<boolean>, isLive: boolean }} Source
 */

/** Records that are folded before the page may draw. */
const BATCH = 2000;

/**
 * Runs that are a part of this file.
 * @param {string} text
 * @returns {Source}
 */
function embedded(text) {
  /** @type {{ runs: { title: string, state: string, records: any[] }[] }} */
  const { runs } = JSON.parse(text);
  return {
    isLive: false,
    list: async () => runs.map(({ title, state }, at) => ({ id: String(at), title, state })),
    read: async (id, from, take) => {
      for (const record of runs[Number(id)].records.slice(from)) take(record);
      return true;
    },
  };
}

/**
 * Runs of the server of this page. A reading ends with a line that says so; one that ends without it was cut off.
 * @returns {Source}
 */
function served() {
  return {
    isLive: true,
    list: async () => {
      const answer = await fetch('runs', { cache: 'no-store' });
      if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
      return answer.json();
    },
    read: async (id, from, take, signal) => {
      const answer = await fetch(`runs/${encodeURIComponent(id)}/from/${from}`, { cache: 'no-store', signal });
      if (!answer.ok || !answer.body) throw new Error((await answer.text()) || `the server answers ${answer.status}`);
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      /** @type {string[]} */
      let rest = [];
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return false;
        const lines = value.split('\n');
        if (lines.length === 1) {
          rest.push(value);
          continue;
        }
        lines[0] = rest.join('') + lines[0];
        rest = [lines.pop() ?? ''];
        for (const line of lines) {
          if (line === '') continue;
          const record = JSON.parse(line);
          if (record.type === 'inspect_end') return true;
          take(record);
        }
      }
    },
  };
}

const VIEWS = ['Timeline', 'Messages', 'Costs', 'Compare'];

/** @param {string} id */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

const data = document.getElementById('data');
const source = data ? embedded(data.textContent ?? '') : served();
const search = /** @type {HTMLInputElement} */ (byId('search'));
const onlyErrors = /** @type {HTMLInputElement} */ (byId('only-errors'));

const page = {
  /** @type {Listed[]} */ runs: [],
  /** @type {Listed | null} */ open: null,
  run: emptyRun(),
  /** @type {Step | null} */ chosen: null,
  view: 'Timeline',
  from: 0,
  /** @type {{ id: string, run: Run } | null} */ other: null,
  reading: new AbortController(),
  isDirty: false,
  /** @type {{ version: number, key: string, all: { step: Step, depth: number }[], shown: { step: Step, depth: number }[] } | null} */ rows: null,
};
const timeline = makeTimeline(choose, redraw);
/** What was drawn last, by the id of its element. */
const drawn = new Map();

function redraw() {
  if (page.isDirty) return;
  page.isDirty = true;
  requestAnimationFrame(draw);
}

/**
 * Replaces what an element has if that would be something else than last time, so that the focus stays.
 * @param {string} id
 * @param {string} key
 * @param {() => Node[]} content
 */
function put(id, key, content) {
  if (drawn.get(id) === key) return;
  drawn.set(id, key);
  byId(id).replaceChildren(...content());
}

function rows() {
  const wanted = search.value.trim().toLowerCase();
  const key = `${wanted}\n${onlyErrors.checked}`;
  if (page.rows?.version !== page.run.version || page.rows.key !== key) {
    const all = rowsOf(page.run);
    const isShown = (/** @type {Step} */ step) =>
      (!onlyErrors.checked || BAD.has(step.state) || step.state === 'warning') && (wanted === '' || matches(step, wanted));
    const shown = wanted === '' && !onlyErrors.checked ? all : all.filter(({ step }) => isShown(step));
    page.rows = { version: page.run.version, key, all, shown };
  }
  return page.rows;
}

function draw() {
  page.isDirty = false;
  const { run, view } = page;
  const { all, shown } = rows();
  put('title', page.open?.title ?? '', () => [document.createTextNode(oneLine(page.open?.title ?? 'No run', 200))]);
  put('runs', JSON.stringify([page.runs, page.open?.id]), () => page.runs.map(runItem));
  const numbers = figures(run).filter(([, value], at) => at < 4 || value !== 0);
  put('summary', JSON.stringify(numbers), () => pairs(numbers.map(([name, , text]) => [name, text])));
  const parts = attention(run, all, choose);
  byId('attention').hidden = parts.length === 0;
  put('attention', parts.map((part) => part.textContent).join('\n'), () => parts);
  if (run.limit) notice(run.limit);
  put('tabs', `${view} ${page.runs.length > 1}`, tabs);
  const panel = byId('panel');
  panel.setAttribute('aria-labelledby', `tab-${view}`);
  if (view === 'Timeline') {
    put('panel', view, () => [timeline.root]);
    timeline.update(run, shown, page.chosen);
  } else if (view === 'Messages') {
    const key = `${view} ${run.version} ${page.from} ${shown.length}`;
    put('panel', key, () => messagesPanel(shown, page.from, (from) => { page.from = from; redraw(); panel.focus(); }, choose));
  } else if (view === 'Costs') {
    put('panel', `${view} ${run.version}`, () => costsPanel(run));
  } else {
    put('panel', `${view} ${run.version} ${page.other?.id} ${page.other?.run.version}`, comparePanel);
  }
}

/**
 * @param {Listed} listed
 * @returns {Node}
 */
function runItem(listed) {
  const item = button(oneLine(listed.title, 120), () => open(listed), 'run');
  item.append(make('small', '', visible(listed.state)));
  if (listed.id === page.open?.id) item.setAttribute('aria-current', 'true');
  return make('li', '', item);
}

/** @returns {Node[]} */
function tabs() {
  return VIEWS.filter((view) => view !== 'Compare' || page.runs.length > 1).map((view) => {
    const tab = button(view, () => show(view));
    tab.id = `tab-${view}`;
    tab.setAttribute('role', 'tab');
    tab.setAttribute('aria-controls', 'panel');
    tab.setAttribute('aria-selected', String(view === page.view));
    tab.tabIndex = view === page.view ? 0 : -1;
    return tab;
  });
}

/** @returns {Node[]} */
function comparePanel() {
  const select = /** @type {HTMLSelectElement} */ (make('select', ''));
  select.append(make('option', '', 'Choose a run'));
  for (const listed of page.runs.filter(({ id }) => id !== page.open?.id)) {
    const option = /** @type {HTMLOptionElement} */ (make('option', '', oneLine(listed.title, 80)));
    option.value = listed.id;
    option.selected = listed.id === page.other?.id;
    select.append(option);
  }
  select.addEventListener('change', async () => {
    const [id, run] = [select.value, emptyRun()];
    page.other = page.runs.some((listed) => listed.id === id) ? { id, run } : null;
    redraw();
    if (page.other) {
      const stop = new AbortController();
      await source.read(id, 0, (record) => { fold(run, record); redraw(); }, stop.signal).catch((error) => notice(String(error)));
    }
  });
  const { other } = page;
  const title = page.runs.find(({ id }) => id === other?.id)?.title ?? '';
  return [make('label', '', 'Compare with ', select), ...(other ? comparison(page.run, other.run, title) : [])];
}

/** @param {string} text */
function notice(text) {
  byId('notice').textContent = visible(text);
}

/** @param {string} view */
function show(view) {
  const hadFocus = byId('tabs').contains(document.activeElement);
  page.view = view;
  redraw();
  if (hadFocus) requestAnimationFrame(() => byId(`tab-${view}`).focus());
}

/** @param {Step | null} step */
function choose(step) {
  page.chosen = step;
  if (page.view !== 'Timeline') page.view = 'Timeline';
  redraw();
  requestAnimationFrame(() => {
    const index = rows().shown.findIndex((row) => row.step === step);
    if (index >= 0) timeline.reveal(index);
    redraw();
  });
}

/** @param {Listed} listed */
async function open(listed) {
  page.reading.abort();
  const stop = page.reading = new AbortController();
  const run = page.run = emptyRun();
  page.open = listed;
  page.chosen = page.other = page.rows = null;
  page.from = 0;
  document.body.dataset.done = '0';
  notice('');
  redraw();
  links(listed);
  for (let failures = 0; !stop.signal.aborted;) {
    try {
      const before = run.records;
      const isWhole = await source.read(listed.id, run.records, (record) => {
        fold(run, record);
        if (run.records % BATCH === 0 || source.isLive) redraw();
      }, stop.signal);
      if (isWhole) break;
      failures = run.records > before ? 0 : failures + 1;
    } catch (error) {
      if (stop.signal.aborted) return;
      failures++;
      notice(error instanceof Error ? error.message : String(error));
    }
    if (failures > 5) return;
    await new Promise((resolve) => setTimeout(resolve, 500 * 2 ** failures));
  }
  if (stop.signal.aborted) return;
  redraw();
  requestAnimationFrame(() => requestAnimationFrame(() => { document.body.dataset.done = '1'; }));
}

/** @param {Listed} listed */
function links(listed) {
  if (!source.isLive) return;
  const link = (/** @type {string} */ text, /** @type {string} */ name) => {
    const element = /** @type {HTMLAnchorElement} */ (make('a', '', text));
    element.href = `runs/${encodeURIComponent(listed.id)}/${name}`;
    element.download = name;
    return element;
  };
  byId('files').replaceChildren(link('HTML file', 'run.html'), ' ', link('Perfetto trace', 'trace.json'));
}

/** @param {number} by */
function move(by) {
  const { shown } = rows();
  if (shown.length === 0) return;
  const at = shown.findIndex((row) => row.step === page.chosen);
  const from = at < 0 && by < 0 ? shown.length : at;
  const next = Math.min(Math.max(from + by, 0), shown.length - 1);
  choose(shown[next].step);
}

function nextError() {
  const { shown } = rows();
  const at = shown.findIndex((row) => row.step === page.chosen);
  const later = [...shown.slice(at + 1), ...shown.slice(0, at + 1)];
  const found = later.find(({ step }) => BAD.has(step.state));
  if (found) choose(found.step);
}

/** @param {number} by */
function moveRun(by) {
  const at = page.runs.findIndex(({ id }) => id === page.open?.id);
  const next = page.runs[at + by];
  if (next) open(next);
}

/** @param {number} by */
function moveTab(by) {
  const views = VIEWS.filter((view) => view !== 'Compare' || page.runs.length > 1);
  show(views[(views.indexOf(page.view) + by + views.length) % views.length]);
}

/** @type {Record<string, () => void>} */
const KEYS = {
  j: () => move(1), k: () => move(-1), e: nextError, n: () => moveRun(1), p: () => moveRun(-1), '/': () => search.focus(),
  1: () => show('Timeline'), 2: () => show('Messages'), 3: () => show('Costs'), 4: () => { if (page.runs.length > 1) show('Compare'); },
};

/** @type {Record<string, () => void>} */
const IN_LIST = {
  ArrowDown: () => move(1), ArrowUp: () => move(-1), PageDown: () => move(15), PageUp: () => move(-15), Home: () => move(-Infinity), End: () => move(Infinity),
};

document.addEventListener('keydown', (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (target.matches('input[type=search], select')) {
    if (event.key === 'Escape') byId('panel').focus();
    return;
  }
  const isTab = target.getAttribute('role') === 'tab';
  const inTabs = isTab && { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const act = target.id === 'steps' && Object.hasOwn(IN_LIST, event.key) ? IN_LIST[event.key]
    : inTabs ? () => moveTab(inTabs) : Object.hasOwn(KEYS, event.key) ? KEYS[event.key] : undefined;
  if (!act) return;
  event.preventDefault();
  act();
});
search.addEventListener('input', redraw);
onlyErrors.addEventListener('change', redraw);
addEventListener('resize', redraw);
byId('theme').addEventListener('click', () => {
  const isDark = document.documentElement.dataset.theme === 'dark'
    || (!document.documentElement.dataset.theme && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.dataset.theme = isDark ? 'light' : 'dark';
});

/** Milliseconds between two looks at the list of runs. */
const LOOK = 2000;

async function look() {
  try {
    if (!document.hidden) {
      page.runs = await source.list();
      const current = page.runs.find(({ id }) => id === page.open?.id);
      if (current) page.open = current;
      else if (!page.open && page.runs.length > 0) open(page.runs[0]);
      redraw();
    }
  } catch (error) {
    notice(`The server of this page does not answer: ${error instanceof Error ? error.message : error}`);
  }
  if (source.isLive) setTimeout(look, LOOK);
}

look();
redraw();
