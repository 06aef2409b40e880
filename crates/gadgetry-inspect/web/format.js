// @ts-check
// Values as text. Pure functions.
'use strict';

/** Characters of a text that are shown before the user asks for more. */
const SHOWN = 20000;

/** Control characters, and those that reorder or hide text. Line breaks, tabs and joiners of emoji stay. */
const INVISIBLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g;

/**
 * Returns a text with its invisible characters written out.
 * @param {unknown} text
 * @returns {string}
 */
function visible(text) {
  return String(text ?? '').replace(INVISIBLE, (c) => `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`);
}

/**
 * Returns the first characters of a text in one line.
 * @param {unknown} text
 * @param {number} most
 * @returns {string}
 */
function oneLine(text, most) {
  const start = String(text ?? '').slice(0, most + 1);
  const line = visible(start).replace(/\s+/g, ' ').trim();
  return start.length > most ? `${line.slice(0, most)}…` : line;
}

/**
 * Returns a duration in milliseconds as text.
 * @param {number} ms
 * @returns {string}
 */
function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(ms < 10000 ? 2 : 1)} s`;
  const minutes = Math.floor(ms / 60000);
  const seconds = Math.floor((ms % 60000) / 1000);
  return minutes < 60 ? `${minutes} min ${seconds} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/**
 * Returns a time in milliseconds since 1970 as text.
 * @param {number} ms
 * @returns {string}
 */
function moment(ms) {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? '?' : date.toISOString().replace('T', ' ').replace(/\.\d+Z$/, ' UTC');
}

/**
 * Returns an amount in US dollars as text; `null` is a price that is not known.
 * @param {number | null} amount
 * @returns {string}
 */
function dollars(amount) {
  return amount === null ? '?' : `$${amount.toFixed(amount !== 0 && amount < 0.01 ? 6 : 4)}`;
}

/**
 * Returns a number with separators.
 * @param {number} number
 * @returns {string}
 */
function count(number) {
  return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

/**
 * Returns a number and its noun.
 * @param {number} number
 * @param {string} noun
 * @returns {string}
 */
function plural(number, noun) {
  const many = noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  return `${count(number)} ${number === 1 ? noun : many}`;
}

/**
 * Returns a value of JSON as text that a user can read.
 * @param {unknown} value
 * @returns {string}
 */
function pretty(value) {
  if (typeof value === 'string') return value;
  return value === undefined ? '' : JSON.stringify(value, null, 2);
}
