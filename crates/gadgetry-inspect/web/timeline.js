// @ts-check
// The timeline: a list of steps with bars, of which only the visible rows are elements, and the chosen step in full.
'use strict';

/** Height of a row in pixels, as in the style sheet. */
const ROW = 26;

/**
 * @typedef {{ root: HTMLElement, update: (run: Run, rows: { step: Step, depth: number }[], chosen: Step | null) => void, reveal: (index: number) => void }} Timeline
 */

/**
 * Makes the list and the details.
 * @param {(step: Step) => void} choose
 * @param {() => void} redraw
 * @returns {Timeline}
 */
function makeTimeline(choose, redraw) {
  const list = make('div', 'rows');
  list.tabIndex = 0;
  list.id = 'steps';
  list.setAttribute('role', 'listbox');
  list.setAttribute('aria-label', 'Steps');
  const space = make('div', 'space');
  space.setAttribute('role', 'presentation');
  list.append(space);
  const details = make('section', 'details');
  details.tabIndex = 0;
  details.setAttribute('aria-label', 'Step');
  const root = make('div', 'split', list, details);
  list.addEventListener('scroll', redraw, { passive: true });
  let shown = '';
  let drawn = '';

  /** @type {Timeline['update']} */
  const update = (run, rows, chosen) => {
    const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 5);
    const last = Math.min(rows.length, first + Math.ceil((list.clientHeight || 400) / ROW) + 10);
    const picture = `${run.version} ${first} ${last} ${rows.length} ${chosen?.number}`;
    if (picture !== drawn) {
      drawn = picture;
      space.style.height = `${rows.length * ROW}px`;
      space.replaceChildren(...rows.slice(first, last).map((row, at) => makeRow(run, row, first + at, rows.length, chosen, choose)));
      const index = rows.findIndex((row) => row.step === chosen);
      if (index >= first && index < last) list.setAttribute('aria-activedescendant', `step-${index}`);
      else list.removeAttribute('aria-activedescendant');
    }
    const reply = replyAbove(chosen);
    const state = chosen ? `${chosen.number} ${chosen.version} ${reply?.children.map((step) => step.state).join()}` : `none ${rows.length === 0}`;
    if (state !== shown) {
      shown = state;
      const empty = [make('p', '', rows.length === 0 ? 'No steps.' : 'Choose a step.')];
      details.replaceChildren(...(chosen ? detailsOf(chosen, choose) : empty));
    }
  };
  const reveal = (/** @type {number} */ index) => {
    const top = index * ROW;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
  };
  return { root, update, reveal };
}

/**
 * @param {Run} run
 * @param {{ step: Step, depth: number }} row
 * @param {number} index
 * @param {number} all
 * @param {Step | null} chosen
 * @param {(step: Step) => void} choose
 * @returns {HTMLElement}
 */
function makeRow(run, { step, depth }, index, all, chosen, choose) {
  const scale = 100 / Math.max(run.end, 1);
  const end = step.end ?? run.end;
  const wait = bar('wait', step.start, step.begun, scale);
  const busy = bar('busy', step.begun, end, scale);
  const time = step.kind === 'note' ? '' : duration(Math.max(0, end - step.begun));
  const name = make('span', 'name', make('span', 'mark', MARKS.get(step.state) ?? ''), nameOf(step), make('span', 'hidden', `, ${step.state}, `));
  name.style.paddingInlineStart = `${Math.min(depth, 12) * 14}px`;
  const element = make('div', `row ${step.kind} ${step.state}`, name, make('span', 'track', wait, busy), make('span', 'time', time));
  element.id = `step-${index}`;
  element.style.top = `${index * ROW}px`;
  element.setAttribute('role', 'option');
  element.setAttribute('aria-selected', String(step === chosen));
  element.setAttribute('aria-setsize', String(all));
  element.setAttribute('aria-posinset', String(index + 1));
  element.addEventListener('click', () => choose(step));
  return element;
}

/**
 * @param {string} className
 * @param {number} from
 * @param {number} to
 * @param {number} scale
 * @returns {HTMLElement}
 */
function bar(className, from, to, scale) {
  const element = make('span', className);
  element.style.left = `${Math.min(from * scale, 99.7)}%`;
  element.style.width = `${Math.max(0, (to - from) * scale)}%`;
  return element;
}
