// @ts-check
// What is shown of a run, and where: rows, the graph of a reply, messages of a request. Pure functions.
'use strict';

/**
 * Returns the steps of a run as rows, each with its depth: a step is before its children.
 * @param {Run} run
 * @returns {{ step: Step, depth: number }[]}
 */
function rowsOf(run) {
  /** @type {{ step: Step, depth: number }[]} */
  const rows = [];
  /** @type {{ step: Step, depth: number }[]} */
  const open = run.root.steps.map((step) => ({ step, depth: 0 })).reverse();
  for (let row = open.pop(); row; row = open.pop()) {
    rows.push(row);
    const { children } = row.step;
    for (let at = children.length - 1; at >= 0; at--) open.push({ step: children[at], depth: row.depth + 1 });
  }
  return rows;
}

/**
 * Returns whether a step has a text in one of its fields.
 * @param {Step} step
 * @param {string} wanted in lower case
 * @returns {boolean}
 */
function matches(step, wanted) {
  if (!step.found || step.found.version !== step.version) {
    const parts = [
      step.kind, step.name, step.id, step.state, step.error, step.text, step.reasoning, step.result ?? '', step.question,
      step.progress.join('\n'), pretty(step.parameters), ...step.blocks.map((block) => `${block.tag} ${block.content}`),
    ];
    step.found = { version: step.version, text: parts.join('\n').toLowerCase() };
  }
  return step.found.text.includes(wanted);
}

/**
 * Returns the reply that a step belongs to.
 * @param {Step | null} step
 * @returns {Step | null}
 */
function replyAbove(step) {
  while (step && step.kind !== 'reply') step = step.parent;
  return step;
}

/** Calls of a reply that a graph shows. */
const NODES = 60;

/**
 * Returns the graph of a reply's calls: a call is one column right of the last of those that it depends on, and its row is near the
 * mean of theirs.
 * @param {Step} reply
 * @returns {{ nodes: { step: Step, column: number, row: number }[], edges: [number, number][], columns: number, rows: number, left: number }}
 */
function graphOf(reply) {
  const calls = reply.children.filter((step) => step.kind === 'call');
  const shown = calls.slice(0, NODES);
  /** @type {Map<string, number>} */
  const byId = new Map();
  /** @type {{ step: Step, column: number, row: number }[]} */
  const nodes = [];
  /** @type {[number, number][]} */
  const edges = [];
  // A call may name only calls before it here; the engine refuses circles, and one in a damaged log is cut.
  shown.forEach((step, at) => byId.set(step.id, at));
  const depends = shown.map((step) => [...new Set(step.dependencies)].map((id) => byId.get(id)).filter((at) => at !== undefined));
  const columns = shown.map(() => -1);
  /** @param {number} at @param {Set<number>} above @returns {number} */
  const columnOf = (at, above) => {
    if (columns[at] >= 0) return columns[at];
    if (above.has(at)) return 0;
    above.add(at);
    columns[at] = Math.max(-1, ...depends[at].map((other) => columnOf(/** @type {number} */ (other), above))) + 1;
    return columns[at];
  };
  shown.forEach((_, at) => columnOf(at, new Set()));
  const width = Math.max(0, ...columns.map((column) => column + 1));
  const rows = shown.map(() => 0);
  let height = 0;
  for (let column = 0; column < width; column++) {
    const here = shown.map((_, at) => at).filter((at) => columns[at] === column);
    const wanted = (/** @type {number} */ at) => {
      const above = depends[at];
      return above.length === 0 ? at : above.reduce((sum, other) => sum + rows[/** @type {number} */ (other)], 0) / above.length;
    };
    here.sort((a, b) => wanted(a) - wanted(b) || a - b);
    here.forEach((at, row) => { rows[at] = row; });
    height = Math.max(height, here.length);
  }
  shown.forEach((step, at) => {
    nodes.push({ step, column: columns[at], row: rows[at] });
    for (const other of depends[at]) edges.push([/** @type {number} */ (other), at]);
  });
  return { nodes, edges, columns: width, rows: height, left: calls.length - shown.length };
}

/**
 * Returns all messages of a request.
 * @param {Sent | null} sent
 * @returns {any[]}
 */
function messagesOf(sent) {
  /** @type {any[][]} */
  const parts = [];
  let most = Infinity;
  for (let at = sent; at; at = at.before) {
    // Of earlier requests, only what all later ones have kept.
    const own = at.added.slice(0, Math.max(0, most - at.kept));
    parts.push(own);
    most = Math.min(most, at.kept);
  }
  return parts.reverse().flat();
}

/**
 * Returns a message as the text that the model reads.
 * @param {any} message
 * @returns {string}
 */
function textOf(message) {
  if (message.raw) return message.raw;
  return (message.content ?? []).map(contentText).join('\n');
}

/**
 * @param {any} part
 * @returns {string}
 */
function contentText(part) {
  switch (part.type) {
    case 'text': case 'reasoning': case 'summary': return part.text;
    case 'gadget_result': return `[result of ${part.gadgetName} ${part.invocationId}${part.isError ? ', an error' : ''}]\n${part.text}`;
    case 'custom': return `[${part.tag}] ${part.content}`;
    case 'omission': return `[${plural(part.turns, 'turn')} left out]`;
    default: return `[${part.type}] ${pretty(part)}`;
  }
}

/**
 * Returns the numbers of a run, for a comparison: name, value as a number if there is one, and as text.
 * @param {Run} run
 * @returns {[string, number | null, string][]}
 */
function figures(run) {
  const models = [...run.models.values()];
  const gadgets = [...run.gadgets.values()];
  /** @param {any[]} all @param {string} field */
  const sum = (all, field) => all.reduce((total, one) => total + one[field], 0);
  const cost = run.finished ? run.finished.totalCost ?? null : run.cost;
  /** @type {[string, number | null, string][]} */
  const rows = [
    ['State', null, stateOf(run)],
    ['Duration', run.end, duration(run.end)],
    ['Replies', sum(models, 'replies'), ''],
    ['Calls', sum(gadgets, 'calls'), ''],
    ['Failed calls', sum(gadgets, 'failed'), ''],
    ['Skipped calls', sum(gadgets, 'skipped'), ''],
    ['Input tokens', sum(models, 'input'), ''],
    ['Cached tokens', sum(models, 'cached'), ''],
    ['Output tokens', sum(models, 'output'), ''],
    ['Cost', cost, dollars(cost)],
    // Nothing to compare, and shown only if it is known.
    ['Started', run.started === null ? 0 : null, run.started === null ? '?' : moment(run.started)],
  ];
  return rows.map(([name, value, text]) => [name, value, text || count(value ?? 0)]);
}

/**
 * @param {Run} run
 * @returns {string}
 */
function stateOf(run) {
  if (!run.finished) return run.records === 0 ? 'no events' : 'not finished';
  return run.finished.reason.replace(/[A-Z]/g, (/** @type {string} */ c) => ` ${c.toLowerCase()}`);
}
