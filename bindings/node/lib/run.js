// Runs of an agent: their events, one by one, and then their results.
import { AsyncResource } from "node:async_hooks";

import { approvalOf, encodeAnswer } from "./approvals.js";
import { Conversation } from "./conversation.js";
import { awaited, CallbackError, ConfigError, NoAnswer, NotDelivered, revived, runError, sync } from "./errors.js";
import { failure, GadgetContext, textOf } from "./gadget.js";
import { native } from "./native.js";
import { eventResponse, uiMessageResponse } from "./response.js";
import { checked } from "./schema.js";

/**
 * The function that a run is given: all calls of its functions come here. It holds the run weakly, because the native part holds it for as
 * long as the run may call something, and never throws.
 */
export function dispatcher(parts, deps) {
  const { gadgets, blocks, human, standard } = parts;
  const live = new Map();
  const dispatcher = { run: undefined, values: [] };
  const fault = (callback, error) => dispatcher.run?.deref()?._fail(new CallbackError(callback, error));
  const answers = {
    async gadget(number, target, json) {
      const context = new GadgetContext(number, deps);
      live.set(number, context);
      let answer;
      try {
        answer = ["result", textOf(await gadgets[target].call(JSON.parse(json), context))];
      } catch (error) {
        answer = failure(error);
      }
      live.delete(number);
      return answer;
    },
    async human(_number, _target, json) {
      const { question, gadget } = JSON.parse(json);
      try {
        const answer = await human(question, gadget ?? undefined);
        return answer === undefined || answer === null ? ["error", ""] : ["result", String(answer)];
      } catch (error) {
        fault("function `onHumanInput`", error);
        return ["error", ""];
      }
    },
    async validate(_number, _target, json) {
      try {
        const { value, mistakes } = await checked(standard, JSON.parse(json));
        if (mistakes !== undefined) return ["error", mistakes];
        dispatcher.values.push(value);
        return ["result", ""];
      } catch (error) {
        fault("schema of the output", error);
        return ["error", "the answer cannot be checked"];
      }
    },
    async transform(_number, target, json) {
      const { tag: key, content, attrs: attributes, selfClosing: isSelfClosing = false } = JSON.parse(json);
      try {
        const text = blocks[target].transform({ key, content, attributes, isSelfClosing });
        if (text === undefined || text === null) return ["none", ""];
        if (typeof text !== "string") throw new TypeError(`the transform of the block ${key} returns a string or nothing, not ${typeof text}`);
        return ["result", text];
      } catch (error) {
        fault("transform of a block", error);
        return ["none", ""];
      }
    },
  };
  const dispatch = (kind, number, target, json) => {
    if (kind === "cancel") {
      live.get(number)?._abort();
      return;
    }
    const answered = answers[kind](number, target, json).then(([word, text]) => native.settle(number, word, String(text)));
    // Whatever was thrown, such as an error whose message is no text: no call may be left without an answer.
    answered.catch(() => native.settle(number, "error", "the function failed with an error that has no text"));
  };
  // Functions see the asynchronous context of the one who asks.
  dispatcher.dispatch = AsyncResource.bind(dispatch);
  return dispatcher;
}

export class Run {
  #begun;
  #beginning;
  #approve;
  #conversation;
  #isTyped;
  #dispatcher;
  #signal;
  #onAbort;
  #ready = [];
  #at = 0;
  #isOver = false;
  #fault;
  #result;

  constructor(begun, { approve, conversation, isTyped = false, dispatcher, signal }) {
    if (begun instanceof Promise) this.#beginning = begun;
    else this.#begun = begun;
    this.#approve = approve;
    this.#conversation = conversation;
    this.#isTyped = isTyped;
    this.#dispatcher = dispatcher;
    dispatcher.run = new WeakRef(this);
    if (signal !== undefined) {
      this.#signal = signal;
      const run = dispatcher.run;
      this.#onAbort = () => run.deref()?._fail(signal.reason);
      if (signal.aborted) this._fail(signal.reason);
      else signal.addEventListener("abort", this.#onAbort, { once: true });
    }
  }

  get #native() {
    if (this.#begun === undefined) throw new NotDelivered("the run has not begun: read its events, or await its result");
    return this.#begun;
  }

  get id() {
    return this.#native.id;
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  async next() {
    if (this.#at === this.#ready.length) {
      if (!this.#isOver) {
        this.#ready = await this.#next(false);
        this.#at = 0;
      }
      if (this.#at === this.#ready.length) {
        this.#end();
        this.#throwFault();
        return { done: true, value: undefined };
      }
    }
    const event = this.#ready[this.#at++];
    if (event.type === "approval_required" && this.#approve !== undefined) void this.#decide(event);
    return { done: false, value: event };
  }

  async return() {
    this.close();
    return { done: true, value: undefined };
  }

  async *texts() {
    for await (const event of this) {
      if (event.type === "text" && event.path === undefined) yield event.text;
    }
  }

  result() {
    return (this.#result ??= this.#finish());
  }

  async #finish() {
    while (this.#approve !== undefined && !this.#isOver) {
      const open = await this.#next(true);
      if (open.length === 0) break;
      for (const event of open) void this.#decide(event);
    }
    let ended;
    try {
      await this.#begin();
      ended = await awaited(() => this.#native.finish());
    } finally {
      this.#end();
      if (ended === undefined) this.#throwFault();
    }
    const conversation = Conversation._of(ended.conversation);
    const fields = JSON.parse(ended.result);
    const result = { ...fields, cost: fields.cost ?? undefined, output: fields.text, conversation };
    if (this.#conversation !== undefined) this.#conversation._native = conversation._native;
    this.#throwFault();
    if (ended.error) throw runError(ended.error, result);
    if (!this.#isTyped) return result;
    if (this.#native.output() === null) {
      throw new NoAnswer(`the run was ended before the model gave its answer; it has said ${JSON.stringify(result.text)}`, { result });
    }
    return { ...result, output: this.#dispatcher.values[0] };
  }

  async #begin() {
    if (this.#beginning !== undefined) {
      const beginning = this.#beginning;
      this.#beginning = undefined;
      this.#begun = await awaited(() => beginning);
      if (this.#fault !== undefined) this.#begun.cancel();
    }
  }

  async #next(approvalsOnly) {
    await this.#begin();
    const json = await awaited(() => this.#native.next(approvalsOnly));
    if (json === null) {
      this.#end();
      return [];
    }
    return JSON.parse(json);
  }

  #end() {
    this.#isOver = true;
    if (this.#onAbort !== undefined) {
      this.#signal.removeEventListener("abort", this.#onAbort);
      this.#onAbort = undefined;
    }
  }

  async #decide(event) {
    try {
      const approval = approvalOf(event);
      const [kind, detail] = encodeAnswer(await this.#approve(approval));
      if (kind !== "pending" && this.approvals().some((it) => it.id === approval.id)) this.#native.answer(approval.id, kind, detail);
    } catch (error) {
      this._fail(new CallbackError("approver", revived(error)));
    }
  }

  /** Ends the run with this exception, which the one who waits for it gets. */
  _fail(error) {
    this.#fault ??= { error };
    this.#begun?.cancel();
  }

  #throwFault() {
    if (this.#fault !== undefined) throw this.#fault.error;
  }

  approvals() {
    return JSON.parse(this.#native.approvals()).map(approvalOf);
  }

  answer(approval, answer) {
    const id = typeof approval === "string" ? approval : approval.id;
    const [kind, detail] = encodeAnswer(answer);
    sync(() => this.#native.answer(id, kind, detail));
  }

  inject(text) {
    sync(() => this.#native.inject(text));
  }

  compact() {
    sync(() => this.#native.compact());
  }

  cancel() {
    this.#native.cancel();
  }

  close() {
    this.#end();
    this.#ready = [];
    this.#at = 0;
    this.#result ??= rejected(new ConfigError("the run was closed"));
    this.#begun?.close();
    // One that has not begun is dropped when it has.
    this.#beginning?.then((begun) => begun.close(), () => {});
    this.#beginning = undefined;
  }

  async [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() {
    this.close();
  }

  toResponse(init) {
    return eventResponse(this, init);
  }

  toUIMessageStreamResponse(init) {
    return uiMessageResponse(this, init);
  }
}

/** A rejection that is no one's fault if no one looks at it. */
function rejected(error) {
  const promise = Promise.reject(error);
  promise.catch(() => {});
  return promise;
}
