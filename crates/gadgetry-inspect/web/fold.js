// @ts-check
// Records to the state of a run: one record after the other, without looking at the page.
'use strict';

/**
 * A step is a row of the timeline: a reply, a call, a subagent or a note.
 * @typedef {{
 *   kind: 'reply' | 'call' | 'agent' | 'note', number: number, parent: Step | null, agent: Agent, name: string, id: string, state: string,
 *   start: number, begun: number, end: number | null, error: string, cost: number | null, children: Step[], version: number,
 *   text: string, reasoning: string, blocks: any[], usage: any, stopReason: string, slot: Slot,
 *   dependencies: string[], parameters: any, written: any, result: string | null, media: any[], progress: string[],
 *   approval: any, question: string, found: { version: number, text: string } | null
 * }} Step
 * @typedef {{ key: string, name: string, model: string, metadata: any, step: Step | null, steps: Step[], reply: Step | null, calls: Map<number, Step> }} Agent
 * @typedef {{ before: Sent | null, kept: number, added: any[], length: number }} Sent
 * What was sent for a reply, and what was received. It may be known before the event that begins the reply.
 * @typedef {{ request: Sent | null, raw: any, step: Step | null }} Slot
 * @typedef {{ sent: Sent | null, slots: Map<string, Slot> }} Exchange
 * @typedef {{ replies: number, failed: number, input: number, cached: number, output: number, cost: number | null, ms: number }} ModelTotal
 * @typedef {{ calls: number, failed: number, skipped: number, cost: number, ms: number }} GadgetTotal
 * @typedef {{
 *   agents: Map<string, Agent>, exchanges: Map<string, Exchange>, root: Agent, steps: number, records: number, end: number, version: number,
 *   models: Map<string, ModelTotal>, gadgets: Map<string, GadgetTotal>, cost: number | null, started: number | null, finished: any, limit: string
 * }} Run
 */

/** States of a step that has ended badly. */
const BAD = new Set(['failed', 'skipped', 'denied']);

/** States of a step that waits for the user. */
const WAITING = new Set(['approval', 'question']);

/** @returns {Run} */
function emptyRun() {
  const root = emptyAgent('');
  return {
    agents: new Map([['', root]]), exchanges: new Map(), root, steps: 0, records: 0, end: 0, version: 0,
    models: new Map(), gadgets: new Map(), cost: 0, started: null, finished: null, limit: '',
  };
}

/**
 * @param {string} key
 * @returns {Agent}
 */
function emptyAgent(key) {
  return { key, name: '', model: '', metadata: null, step: null, steps: [], reply: null, calls: new Map() };
}

/**
 * @param {Run} run
 * @param {Agent} agent
 * @param {Step | null} parent
 * @param {Step['kind']} kind
 * @param {string} name
 * @param {number} time
 * @returns {Step}
 */
function addStep(run, agent, parent, kind, name, time) {
  /** @type {Step} */
  const step = {
    kind, number: run.steps++, parent, agent, name, id: '', state: kind === 'note' ? 'note' : 'waiting', start: time, begun: time, end: null,
    error: '', cost: 0, children: [], version: 0, text: '', reasoning: '', blocks: [], usage: null, stopReason: '', slot: { request: null, raw: null, step: null },
    dependencies: [], parameters: undefined, written: null, result: null, media: [], progress: [], approval: null, question: '', found: null,
  };
  (parent ? parent.children : agent.steps).push(step);
  return step;
}

/**
 * Returns the agent of a path, and makes it and its step if they are new.
 * @param {Run} run
 * @param {any[]} path
 * @param {number} time
 * @returns {Agent}
 */
function agentOf(run, path, time) {
  let agent = run.root;
  let key = '';
  for (const { call, agent: number } of path) {
    key += `${key && '/'}${call}.${number}`;
    let next = run.agents.get(key);
    if (!next) {
      next = emptyAgent(key);
      const parent = agent.calls.get(call) ?? agent.reply;
      next.step = addStep(run, next, parent ?? agent.step, 'agent', 'subagent', time);
      if (!parent && !agent.step) run.root.steps.push(next.step);
      next.step.state = 'running';
      run.agents.set(key, next);
    }
    agent = next;
  }
  return agent;
}

/**
 * Returns the step of a call; an event may come without the one that announces it.
 * @param {Run} run
 * @param {Agent} agent
 * @param {any} event
 * @returns {Step}
 */
function callOf(run, agent, event) {
  let step = agent.calls.get(event.call);
  if (!step) {
    step = addStep(run, agent, agent.reply ?? agent.step, 'call', event.gadgetName ?? '', event.timeMs);
    step.id = event.invocationId ?? '';
    agent.calls.set(event.call, step);
  }
  step.version++;
  return step;
}

/**
 * @param {Run} run
 * @param {Agent} agent
 * @param {any} event
 * @param {string} name
 * @param {string} text
 * @returns {Step}
 */
function note(run, agent, event, name, text) {
  const step = addStep(run, agent, agent.reply ?? agent.step, 'note', name, event.timeMs);
  step.end = event.timeMs;
  step.text = text;
  return step;
}

/**
 * @param {Run} run
 * @param {Agent} agent
 * @returns {Step}
 */
function replyOf(run, agent) {
  agent.reply ??= addStep(run, agent, agent.step, 'reply', 'reply', run.end);
  agent.reply.version++;
  return agent.reply;
}

/**
 * @template T
 * @param {Map<string, T>} map
 * @param {string} key
 * @param {T} empty
 * @returns {T}
 */
function entry(map, key, empty) {
  let value = map.get(key);
  if (!value) map.set(key, value = empty);
  return value;
}

/** @returns {GadgetTotal} */
const noCalls = () => ({ calls: 0, failed: 0, skipped: 0, cost: 0, ms: 0 });

/** @type {Record<string, (run: Run, agent: Agent, event: any) => void>} */
const FOLD = {
  run_start(run, agent, event) {
    agent.name = event.agent ?? '';
    agent.model = event.model ?? '';
    agent.metadata = event.metadata ?? null;
    if (agent.step) agent.step.id = agent.name;
    else run.started = event.startMs ?? null;
  },
  model_call_start(run, agent, event) {
    const name = event.purpose === 'summary' ? 'summary' : `reply ${event.iteration}`;
    agent.reply = addStep(run, agent, agent.step, 'reply', name, event.timeMs);
    agent.reply.state = 'running';
    agent.reply.id = agent.model;
    agent.reply.slot = slotOf(exchangeOf(run, event.run), event);
    agent.reply.slot.step = agent.reply;
  },
  model_call_end(run, agent, event) {
    const step = replyOf(run, agent);
    step.end = event.timeMs;
    step.usage = event.usage;
    step.cost = event.cost ?? null;
    step.stopReason = event.stopReason;
    step.error = event.error ?? '';
    step.state = event.error ? 'failed' : 'done';
    const total = entry(run.models, agent.model || 'model', { replies: 0, failed: 0, input: 0, cached: 0, output: 0, cost: 0, ms: 0 });
    total.replies++;
    total.failed += event.error ? 1 : 0;
    total.input += event.usage?.inputTokens ?? 0;
    total.cached += event.usage?.cachedInputTokens ?? 0;
    total.output += event.usage?.outputTokens ?? 0;
    total.cost = total.cost === null || step.cost === null ? null : total.cost + step.cost;
    total.ms += event.timeMs - step.start;
    run.cost = run.cost === null || step.cost === null ? null : run.cost + step.cost;
  },
  reply_withdrawn(run, agent) {
    const step = replyOf(run, agent);
    step.text = step.reasoning = '';
    step.error ||= 'withdrawn: another reply replaces it';
  },
  model_retry(run, agent, event) {
    const step = note(run, agent, event, `retry ${event.attempt}`, `after ${duration(event.delayMs)}; ${event.left} left`);
    step.error = event.error;
    step.state = 'warning';
  },
  rate_limited(run, agent, event) {
    note(run, agent, event, 'rate limit', `waited ${duration(event.delayMs)}`);
  },
  compaction(run, agent, event) {
    const text = `${event.strategy}: ${count(event.tokensBefore)} → ${count(event.tokensAfter)} tokens, ${plural(event.removedMessages, 'message')} removed`;
    note(run, agent, event, 'compaction', text);
  },
  text(run, agent, event) {
    replyOf(run, agent).text += event.text;
  },
  reasoning(run, agent, event) {
    replyOf(run, agent).reasoning += event.text;
  },
  custom_block(run, agent, event) {
    replyOf(run, agent).blocks.push(event);
  },
  gadget_call_start(run, agent, event) {
    const step = callOf(run, agent, event);
    step.dependencies = event.dependencies ?? [];
    step.state = 'writing';
  },
  gadget_call(run, agent, event) {
    const step = callOf(run, agent, event);
    step.dependencies = event.dependencies ?? [];
    step.written = event;
    step.parameters = event.parameters;
    step.error = event.parseError ?? '';
    step.start = step.begun = event.timeMs;
    step.state = 'waiting';
  },
  approval_required(run, agent, event) {
    const step = callOf(run, agent, event);
    step.approval = event;
    step.state = 'approval';
  },
  approval_answered(run, agent, event) {
    const step = callOf(run, agent, event);
    step.approval = { ...step.approval, answer: event.answer, reason: event.reason };
    step.state = event.answer === 'denied' ? 'denied' : 'waiting';
  },
  gadget_start(run, agent, event) {
    const step = callOf(run, agent, event);
    step.begun = event.timeMs;
    step.parameters = event.parameters;
    step.state = 'running';
  },
  gadget_restarted(run, agent, event) {
    callOf(run, agent, event).progress.push('started again');
  },
  gadget_progress(run, agent, event) {
    const { progress } = callOf(run, agent, event);
    progress.push(event.message);
    if (progress.length > 200) progress.shift();
  },
  gadget_result(run, agent, event) {
    const step = callOf(run, agent, event);
    const isDenied = step.state === 'denied';
    step.end = event.timeMs;
    // A call that was not executed takes no time.
    step.begun = Math.max(step.start, event.timeMs - (event.durationMs ?? 0));
    step.result = event.result ?? null;
    step.error = event.error ?? '';
    step.cost = event.cost ?? 0;
    step.media = event.media ?? [];
    step.state = event.error === undefined ? 'done' : isDenied ? 'denied' : 'failed';
    const total = entry(run.gadgets, step.name, noCalls());
    total.calls++;
    total.failed += event.error === undefined ? 0 : 1;
    total.cost += step.cost ?? 0;
    total.ms += event.durationMs ?? 0;
    run.cost = run.cost === null ? null : run.cost + (step.cost ?? 0);
  },
  gadget_cost(run, agent, event) {
    callOf(run, agent, event).cost += event.cost;
    entry(run.gadgets, event.gadgetName, noCalls()).cost += event.cost;
    run.cost = run.cost === null ? null : run.cost + event.cost;
  },
  gadget_skipped(run, agent, event) {
    const step = callOf(run, agent, event);
    step.end = event.timeMs;
    step.begun = event.timeMs;
    step.error = event.error;
    step.state = 'skipped';
    const total = entry(run.gadgets, step.name, noCalls());
    total.calls++;
    total.skipped++;
  },
  human_input_required(run, agent, event) {
    const isCall = event.call !== undefined;
    const step = isCall ? callOf(run, agent, event) : note(run, agent, event, 'question', event.question);
    step.question = event.question;
    step.state = 'question';
  },
  human_input_received(run, agent, event) {
    const open = event.call === undefined ? lastQuestion(agent) : callOf(run, agent, event);
    if (open) {
      open.version++;
      open.state = event.call === undefined ? 'note' : 'running';
      open.progress.push(event.answered ? 'the user has answered' : 'the user was not available');
    }
  },
  diagnostic(run, agent, event) {
    const step = note(run, agent, event, event.code ?? 'diagnostic', event.message ?? '');
    step.state = 'warning';
  },
  run_finished(run, agent, event) {
    if (agent.step) {
      agent.step.end = event.timeMs;
      agent.step.cost = event.totalCost ?? null;
      agent.step.state = event.error ? 'failed' : 'done';
      agent.step.error = event.error ?? '';
      agent.step.text = event.answer ?? '';
      agent.step.version++;
    } else {
      run.finished = event;
    }
  },
};

/**
 * @param {Agent} agent
 * @returns {Step | undefined}
 */
function lastQuestion(agent) {
  const steps = agent.reply ? agent.reply.children : agent.steps;
  return steps.findLast((step) => step.kind === 'note' && step.state === 'question');
}

/**
 * Adds a record to a run.
 * @param {Run} run
 * @param {any} record
 */
function fold(run, record) {
  run.records++;
  run.version++;
  if (record.type === 'inspect_request' || record.type === 'inspect_reply') {
    foldContent(run, record);
    return;
  }
  if (record.type === 'inspect_limit') {
    run.limit = String(record.message);
    return;
  }
  run.end = Math.max(run.end, record.timeMs ?? 0);
  const agent = agentOf(run, record.path ?? [], record.timeMs ?? 0);
  // Kinds that a later version adds are skipped.
  if (Object.hasOwn(FOLD, record.type)) FOLD[record.type](run, agent, record);
  if (agent.step) agent.step.end = Math.max(agent.step.end ?? 0, record.timeMs ?? 0);
}

/**
 * @param {Run} run
 * @param {string | undefined} id
 * @returns {Exchange}
 */
function exchangeOf(run, id) {
  return entry(run.exchanges, id ?? '', { sent: null, slots: new Map() });
}

/**
 * @param {Exchange} exchange
 * @param {any} record
 * @returns {Slot}
 */
function slotOf(exchange, record) {
  return entry(exchange.slots, `${record.purpose ?? 'reply'} ${record.iteration}`, { request: null, raw: null, step: null });
}

/**
 * @param {Run} run
 * @param {any} record
 */
function foldContent(run, record) {
  const exchange = exchangeOf(run, record.run);
  const slot = slotOf(exchange, record);
  if (slot.step) slot.step.version++;
  if (record.type === 'inspect_reply') {
    slot.raw = record;
    return;
  }
  const kept = Math.min(record.kept, exchange.sent?.length ?? 0);
  exchange.sent = { before: exchange.sent, kept, added: record.messages, length: kept + record.messages.length };
  slot.request = exchange.sent;
}
