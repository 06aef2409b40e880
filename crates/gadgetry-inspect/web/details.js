// @ts-check
// One step in full: what a reply or a call was made from, and what came of it.
'use strict';

const SVG = 'http://www.w3.org/2000/svg';

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 * @param {...Node} children
 * @returns {SVGElement}
 */
function shape(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/**
 * Draws the calls of a reply and what they depend on.
 * @param {Step} reply
 * @param {Step} chosen
 * @param {(step: Step) => void} choose
 * @returns {Node[]}
 */
function drawGraph(reply, chosen, choose) {
  const graph = graphOf(reply);
  if (graph.nodes.length === 0) return [];
  const [width, height, gapX, gapY] = [170, 34, 40, 12];
  const x = (/** @type {number} */ column) => column * (width + gapX) + 4;
  const y = (/** @type {number} */ row) => row * (height + gapY) + 4;
  const picture = shape('svg', {
    role: 'img', width: x(graph.columns) - gapX + 4, height: y(graph.rows) - gapY + 4,
    'aria-label': `Graph: ${plural(graph.nodes.length, 'call')}, ${graph.edges.length} dependencies`,
  });
  for (const [from, to] of graph.edges) {
    const [a, b] = [graph.nodes[from], graph.nodes[to]];
    const [x1, y1, x2, y2] = [x(a.column) + width, y(a.row) + height / 2, x(b.column), y(b.row) + height / 2];
    const middle = (x1 + x2) / 2;
    picture.append(shape('path', { class: 'edge', d: `M${x1} ${y1} C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}` }));
  }
  for (const { step, column, row } of graph.nodes) {
    const label = shape('text', { x: x(column) + 8, y: y(row) + 22 });
    label.textContent = `${MARKS.get(step.state) ?? ''} ${oneLine(nameOf(step), 20)}`;
    const title = shape('title', {});
    title.textContent = `${nameOf(step)}: ${step.state}`;
    const box = shape('rect', { x: x(column), y: y(row), width, height, rx: 5 });
    const node = shape('g', { class: `node ${step.state}${step === chosen ? ' chosen' : ''}` }, title, box, label);
    node.addEventListener('click', () => choose(step));
    picture.append(node);
  }
  const frame = make('div', 'graph', picture);
  frame.tabIndex = 0;
  frame.setAttribute('role', 'region');
  frame.setAttribute('aria-label', 'Dependencies of the calls');
  const left = graph.left > 0 ? make('p', '', `${plural(graph.left, 'further call')} not drawn`) : null;
  return [make('h4', '', 'Calls and dependencies'), frame, ...(left ? [left] : [])];
}

/**
 * @param {Step} step
 * @returns {[string, string][]}
 */
function facts(step) {
  /** @type {[string, string][]} */
  const facts = [['State', step.state], ['Start', duration(step.start)]];
  if (step.begun > step.start) facts.push(['Waited', duration(step.begun - step.start)]);
  if (step.end !== null) facts.push(['Took', duration(step.end - step.begun)]);
  if (step.dependencies.length > 0) facts.push(['Depends on', step.dependencies.join(', ')]);
  if (step.usage) {
    const cached = step.usage.cachedInputTokens ? ` (${count(step.usage.cachedInputTokens)} cached)` : '';
    facts.push(['Tokens', `${count(step.usage.inputTokens)} in${cached}, ${count(step.usage.outputTokens)} out${step.usage.estimated ? ', estimated' : ''}`]);
  }
  if (step.stopReason) facts.push(['Stopped', step.stopReason]);
  if (step.kind !== 'note' && step.cost !== 0) facts.push(['Cost', dollars(step.cost)]);
  return facts;
}

/** Messages of a request that are shown at first. */
const MESSAGES = 20;

/**
 * @param {Sent} sent
 * @returns {Node[]}
 */
function requestParts(sent) {
  const messages = messagesOf(sent);
  const show = (/** @type {any} */ message) => long(String(message.role), textOf(message));
  const last = messages.slice(-MESSAGES).map(show);
  const before = messages.slice(0, -MESSAGES);
  if (before.length === 0) return last;
  const list = make('div', '');
  const more = button(`Show ${plural(before.length, 'earlier message')}`, () => {
    more.remove();
    list.append(...before.slice(-500).map(show));
  });
  list.append(more);
  return [list, ...last];
}

/**
 * @param {Step} step
 * @returns {Node[]}
 */
function approvalParts(step) {
  const { approval } = step;
  const answer = approval.answer ? `${approval.answer}${approval.reason ? `: ${approval.reason}` : ''}` : 'waiting for an answer';
  const parts = [make('h4', '', 'Approval'), make('p', approval.answer ? '' : 'waits', visible(answer))];
  if (approval.subject) parts.push(long(`Subject: ${approval.subject.kind}`, approval.subject.text));
  if (approval.diff) parts.push(long('Change', approval.diff));
  if (approval.notes?.length) parts.push(long('Notes', approval.notes.join('\n')));
  return parts;
}

/**
 * Makes all that is known of a step.
 * @param {Step} step
 * @param {(step: Step) => void} choose
 * @returns {Node[]}
 */
function detailsOf(step, choose) {
  /** @type {Node[]} */
  const parts = [make('h3', '', `${MARKS.get(step.state) ?? ''} ${nameOf(step)}`)];
  const list = make('dl', 'facts', ...pairs(facts(step)));
  parts.push(list);
  if (step.error) parts.push(long('Error', step.error, 'error'));
  if (step.question) parts.push(long('Question', step.question));
  if (step.approval) parts.push(...approvalParts(step));
  if (step.kind === 'call') {
    if (step.parameters !== undefined) parts.push(long('Parameters', step.parameters));
    if (step.progress.length > 0) parts.push(long('Progress', step.progress.join('\n')));
    if (step.result !== null) parts.push(long('Result', step.result));
    if (step.media.length > 0) parts.push(make('p', '', plural(step.media.length, 'attached file')));
    if (step.written) parts.push(folded('As written', () => [long('Parameters as written', step.written.parametersRaw)]));
  } else if (step.text) {
    parts.push(long(step.kind === 'reply' ? 'Text' : step.kind === 'agent' ? 'Answer' : 'Message', step.text));
  }
  if (step.reasoning) parts.push(folded('Reasoning', () => [long('Reasoning', step.reasoning)]));
  for (const block of step.blocks) {
    const attributes = Object.keys(block.attrs ?? {}).length > 0 ? ` ${JSON.stringify(block.attrs)}` : '';
    parts.push(long(visible(`Block ${block.tag}${attributes}`), block.content, 'block'));
  }
  const reply = replyAbove(step);
  if (reply) parts.push(...drawGraph(reply, step, choose));
  const { request, raw } = step.slot;
  if (request) parts.push(folded(`Request: ${plural(request.length, 'message')}`, () => requestParts(request)));
  if (raw) {
    parts.push(folded('Reply as received', () => {
      const calls = raw.toolCalls?.length ? [long('Tool calls of the API', raw.toolCalls)] : [];
      return [long('Text', raw.text), ...calls];
    }));
  }
  return parts;
}
