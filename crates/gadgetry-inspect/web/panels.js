// @ts-check
// The views next to the timeline: messages, costs, comparison. And what needs attention.
'use strict';

/** Replies of a page of messages. */
const REPLIES = 25;

/**
 * Makes the messages of a run, a page at a time: `from` is the first reply.
 * @param {{ step: Step, depth: number }[]} rows
 * @param {number} from
 * @param {(from: number) => void} turn
 * @param {(step: Step) => void} choose
 * @returns {Node[]}
 */
function messagesPanel(rows, from, turn, choose) {
  const replies = rows.filter(({ step }) => step.kind === 'reply');
  if (replies.length === 0) return [make('p', '', 'No messages.')];
  const page = replies.slice(from, from + REPLIES);
  const parts = page.flatMap(({ step }) => replyParts(step, choose));
  if (replies.length <= REPLIES) return parts;
  const before = button('Earlier', () => turn(Math.max(0, from - REPLIES)));
  const after = button('Later', () => turn(from + REPLIES));
  before.disabled = from === 0;
  after.disabled = from + REPLIES >= replies.length;
  const where = make('span', '', ` Replies ${from + 1}–${from + page.length} of ${count(replies.length)} `);
  return [make('p', 'pages', before, where, after), ...parts];
}

/**
 * @param {Step} reply
 * @param {(step: Step) => void} choose
 * @returns {Node[]}
 */
function replyParts(reply, choose) {
  const agent = reply.agent.key ? `subagent ${nameOf(reply.agent.step ?? reply)}: ` : '';
  /** @type {Node[]} */
  const parts = [];
  for (const message of reply.slot.request?.added ?? []) {
    // Results are next to their calls, and replies have their own places.
    const content = (message.content ?? []).filter((/** @type {any} */ part) => part.type !== 'gadget_result');
    if (message.role === 'assistant' || content.length === 0) continue;
    const text = long(`${agent}${message.role}`, content.map(contentText).join('\n'));
    parts.push(message.role === 'system' ? folded(`${agent}system message`, () => [text]) : make('article', 'message user', text));
  }
  const own = make('article', 'message assistant', button(`${agent}${nameOf(reply)}`, () => choose(reply), 'link'));
  if (reply.reasoning) own.append(folded('Reasoning', () => [long('Reasoning', reply.reasoning)]));
  if (reply.text) own.append(long('Text', reply.text));
  for (const block of reply.blocks) own.append(long(visible(`Block ${block.tag}`), block.content, 'block'));
  if (reply.error) own.append(long('Error', reply.error, 'error'));
  parts.push(own);
  for (const call of reply.children.filter((step) => step.kind === 'call')) {
    const card = make('article', `message call ${call.state}`, button(`${MARKS.get(call.state) ?? ''} ${nameOf(call)} (${call.state})`, () => choose(call), 'link'));
    if (call.parameters !== undefined) card.append(long('Parameters', call.parameters));
    if (call.error) card.append(long('Error', call.error, 'error'));
    if (call.result !== null) card.append(long('Result', call.result));
    parts.push(card);
  }
  return parts;
}

/**
 * @param {Run} run
 * @returns {Node[]}
 */
function costsPanel(run) {
  const models = [...run.models].map(([name, it]) => [
    name, count(it.replies), count(it.failed), count(it.input), count(it.cached), count(it.output), duration(it.ms), dollars(it.cost),
  ]);
  const gadgets = [...run.gadgets].sort((a, b) => b[1].cost - a[1].cost || b[1].ms - a[1].ms).map(([name, it]) => [
    name, count(it.calls), count(it.failed), count(it.skipped), duration(it.ms), dollars(it.cost),
  ]);
  return [
    table('By model', ['Model', 'Replies', 'Failed', 'Input tokens', 'Cached', 'Output tokens', 'Time', 'Cost'], models),
    table('By gadget', ['Gadget', 'Calls', 'Failed', 'Skipped', 'Time', 'Cost'], gadgets),
  ];
}

/**
 * @param {Run} one
 * @param {Run} other
 * @param {string} title
 * @returns {Node[]}
 */
function comparison(one, other, title) {
  const theirs = figures(other);
  const rows = figures(one).map(([name, value, text], at) => {
    const [, second, words] = theirs[at];
    const change = value === null || second === null || second === value ? '' : difference(value, second);
    return [name, text, words, change];
  });
  const names = [...new Set([...one.gadgets.keys(), ...other.gadgets.keys()])].sort();
  const gadgets = names.map((name) => {
    const [a, b] = [one.gadgets.get(name) ?? noCalls(), other.gadgets.get(name) ?? noCalls()];
    return [name, `${count(a.calls)} (${count(a.failed)} failed)`, `${count(b.calls)} (${count(b.failed)} failed)`, duration(a.ms), duration(b.ms)];
  });
  return [
    table('Runs', ['', 'This run', oneLine(title, 60), 'Change'], rows),
    table('Calls', ['Gadget', 'This run', 'Other run', 'Time here', 'Time there'], gadgets),
    make('div', 'answers', long('Answer of this run', one.finished?.answer ?? ''), long('Answer of the other run', other.finished?.answer ?? '')),
  ];
}

/**
 * @param {number} value
 * @param {number} second
 * @returns {string}
 */
function difference(value, second) {
  if (value === 0) return 'more';
  const change = Math.round((second / value - 1) * 100);
  return `${change > 0 ? '+' : ''}${change} %`;
}

/** Steps that are named at the top. */
const NAMED = 5;

/**
 * Makes the errors of a run and the steps that wait for the user.
 * @param {Run} run
 * @param {{ step: Step, depth: number }[]} rows
 * @param {(step: Step) => void} choose
 * @returns {Node[]}
 */
function attention(run, rows, choose) {
  const parts = [];
  const line = (/** @type {Step} */ step) => {
    const words = step.state === 'approval' ? approvalWords(step) : step.question || step.error || step.state;
    return make('li', '', button(`${MARKS.get(step.state) ?? ''} ${nameOf(step)}: ${oneLine(words, 160)}`, () => choose(step), 'link'));
  };
  const waiting = run.finished ? [] : rows.filter(({ step }) => WAITING.has(step.state));
  if (waiting.length > 0) {
    parts.push(make('div', 'waits', make('h3', '', `Waiting for the user: ${waiting.length}`), make('ul', '', ...waiting.slice(0, NAMED).map(({ step }) => line(step)))));
  }
  const failed = rows.filter(({ step }) => BAD.has(step.state));
  const end = run.finished?.error;
  if (failed.length > 0 || end) {
    const first = end ? [make('li', '', `The run: ${oneLine(end, 300)}`)] : [];
    const left = failed.length > NAMED ? [make('li', '', `and ${count(failed.length - NAMED)} more`)] : [];
    const title = make('h3', '', failed.length > 0 ? `Errors: ${count(failed.length)}` : 'Error');
    parts.push(make('div', 'errors', title, make('ul', '', ...first, ...failed.slice(0, NAMED).map(({ step }) => line(step)), ...left)));
  }
  return parts;
}

/**
 * @param {Step} step
 * @returns {string}
 */
function approvalWords(step) {
  const { subject, parameters } = step.approval;
  return `waits for approval: ${subject ? subject.text : pretty(parameters)}`;
}
