// @ts-check
// Elements. Text of a run reaches the page by `textContent` only, and no attribute but classes and labels is made of it.
'use strict';

/** Words and marks of states, so that no state is told by its colour alone. */
const MARKS = new Map([
  ['done', '✓'], ['failed', '✗'], ['skipped', '–'], ['denied', '⊘'], ['running', '▸'], ['waiting', '○'], ['writing', '✎'],
  ['approval', '?'], ['question', '?'], ['warning', '!'], ['note', '·'],
]);

/**
 * Makes an element with a class and children; a text becomes a text node.
 * @param {string} tag
 * @param {string} className
 * @param {...(Node | string | null | undefined)} children
 * @returns {HTMLElement}
 */
function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/**
 * @param {string} text
 * @param {() => void} act
 * @param {string} [className]
 * @returns {HTMLButtonElement}
 */
function button(text, act, className = '') {
  const element = /** @type {HTMLButtonElement} */ (make('button', className, text));
  element.type = 'button';
  element.addEventListener('click', act);
  return element;
}

/**
 * Makes a text that may be long: its beginning, and a button for the rest.
 * @param {string} label
 * @param {unknown} value
 * @param {string} [className]
 * @returns {HTMLElement}
 */
function long(label, value, className = '') {
  const text = pretty(value);
  const body = make('pre', className);
  body.dir = 'auto';
  body.tabIndex = 0;
  body.setAttribute('role', 'region');
  body.setAttribute('aria-label', label);
  body.textContent = visible(text.slice(0, SHOWN));
  const section = make('div', 'long', make('h4', '', label), body);
  if (text.length > SHOWN) {
    const more = button(`Show all ${count(text.length)} characters`, () => {
      body.textContent = visible(text);
      more.remove();
      body.focus();
    });
    section.append(more);
  }
  return section;
}

/**
 * Makes a part that is closed, and whose content is made when it is opened.
 * @param {string} title
 * @param {() => Node[]} content
 * @returns {HTMLElement}
 */
function folded(title, content) {
  const part = /** @type {HTMLDetailsElement} */ (make('details', '', make('summary', '', title)));
  part.addEventListener('toggle', () => part.append(...content()), { once: true });
  return part;
}

/**
 * Makes a table; cells of all columns but the first are numbers.
 * @param {string} caption
 * @param {string[]} head
 * @param {string[][]} rows
 * @returns {HTMLElement}
 */
function table(caption, head, rows) {
  const cells = (/** @type {string[]} */ row, /** @type {string} */ tag) => row.map((text, at) => {
    const cell = make(at === 0 ? 'th' : tag, '', visible(text));
    cell.setAttribute('scope', at === 0 && tag === 'td' ? 'row' : 'col');
    if (tag === 'td' && at > 0) cell.removeAttribute('scope');
    return cell;
  });
  const body = make('tbody', '', ...rows.map((row) => make('tr', '', ...cells(row, 'td'))));
  return make('table', '', make('caption', '', caption), make('thead', '', make('tr', '', ...cells(head, 'th'))), body);
}

/**
 * Makes a list of names and values.
 * @param {[string, string][]} pairs
 * @returns {Node[]}
 */
function pairs(pairs) {
  return pairs.map(([name, value]) => make('div', '', make('dt', '', name), make('dd', '', visible(value))));
}

/**
 * Returns the name of a step for a user.
 * @param {Step} step
 * @returns {string}
 */
function nameOf(step) {
  return `${oneLine(step.name, 80)}${step.id ? ` ${oneLine(step.id, 80)}` : ''}`;
}
