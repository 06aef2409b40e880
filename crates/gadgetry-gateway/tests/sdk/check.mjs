// Runs cases one after another, and what all cases need.

import { isDeepStrictEqual } from "node:util";

// What has installed the SDKs asks whether this program runs.
if (process.argv[2] === "--help") {
  console.log("node battery.mjs BASE_URL");
  process.exit(0);
}

export const BASE = process.argv[2].replace(/\/$/, "");
export const MODEL = "scripted";
export const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
export const PARIS = ["get_weather", { city: "Paris" }];
export const ROME = ["get_weather", { city: "Rome" }];
export const OSLO = ["get_weather", { city: "Oslo" }];
export const PATCH = '*** Begin Patch\n+ "line"\n*** End Patch';

const counts = { passed: 0, failed: 0 };

// Runs a case, which throws if it fails. The limit turns a stream that does not end into a failure.
export async function check(name, run) {
  let timer;
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("no end within two minutes")), 120_000);
  });
  try {
    await Promise.race([run(), limit]);
    counts.passed += 1;
    console.log(`ok ${name}`);
  } catch (error) {
    counts.failed += 1;
    const place = /(\w+\.mjs:\d+):\d+\)?$/m.exec(String(error?.stack).replace(/.*node_modules.*/g, ""));
    const reason = `${error?.constructor?.name}: ${error?.message ?? error}`.replace(/\s+/g, " ").slice(0, 600);
    console.log(`FAIL ${name}: ${reason}${place ? ` (${place[1]})` : ""}`);
  } finally {
    clearTimeout(timer);
  }
}

export function summary() {
  console.log(`${counts.passed} passed, ${counts.failed} failed`);
  process.exit(counts.failed ? 1 : 0);
}

export function assert(condition, message) {
  if (!condition) throw new Error(message);
}

export function equal(got, wanted) {
  assert(isDeepStrictEqual(got, wanted), `got ${JSON.stringify(got)}, wanted ${JSON.stringify(wanted)}`);
}

// The error of `run`, which must be exactly of this class.
export async function thrown(kind, run) {
  let outcome;
  try {
    outcome = await run();
  } catch (error) {
    if (error?.constructor === kind) return error;
    throw error;
  }
  throw new Error(`no error, but ${JSON.stringify(outcome)}`);
}

const object = (required, properties) => ({ type: "object", properties, required, additionalProperties: false });

export const SCHEMAS = {
  get_weather: object(["city"], { city: { type: "string" } }),
  ping: object([], {}),
  create: object(["user"], {
    user: object(["name", "age"], { name: { type: "string" }, age: { type: "integer" } }),
    tags: { type: "array", items: { type: "string" } },
    ratio: { type: "number" },
    ok: { type: "boolean" },
  }),
};

const NESTED = { user: { name: 'Ada "the first"\nLovelace', age: 36 }, tags: ["a", "true"], ratio: 0.5, ok: true };
const text = (text) => ["text", text];
const call = (name, input) => ["call", name, input];

// One reply to one message: scenario, tool choice, how it ends, its parts in order.
export const SINGLE = [
  ["text", null, "stop", [text("Hello there.")]],
  ["one", null, "calls", [text("Let me look."), call(...PARIS)]],
  ["parallel", null, "calls", [text("Both:"), call(...PARIS), call(...ROME)]],
  ["noargs", null, "calls", [call("ping", {})]],
  ["nested", null, "calls", [call("create", NESTED)]],
  ["around", null, "calls", [text("Before."), call(...PARIS), text("After.")]],
  ["think", null, "stop", [text("Forty-two.")]],
  ["repair", null, "calls", [call(...PARIS)]],
  ["hermes", null, "calls", [text("Sure."), call(...PARIS)]],
  ["depends", null, "calls", [call(...PARIS)]],
  ["one", "auto", "calls", [text("Let me look."), call(...PARIS)]],
  ["text", "none", "stop", [text("Hello there.")]],
  ["obedient", "required", "calls", [call(...OSLO)]],
  ["obedient", "named", "calls", [call(...OSLO)]],
  ["parallel", "single", "calls", [text("Both:"), call(...PARIS)]],
];

// What an SDK made of a reply.
export class Reply {
  // ["text", text] or ["call", name, input], in the order in which they came.
  parts = [];
  ids = [];
  finish = null;
  reasoning = "";
  // Input and output tokens.
  usage = null;
  // What goes back into the conversation.
  native = [];

  say(text) {
    const last = this.parts.at(-1);
    if (last?.[0] === "text") last[1] += text;
    else this.parts.push(["text", text]);
  }

  call(id, name, input) {
    this.ids.push(id);
    this.parts.push(["call", name, input]);
  }

  get text() {
    return this.parts.map((part) => (part[0] === "text" ? part[1] : "")).join("");
  }

  get calls() {
    return this.parts.filter((part) => part[0] === "call").map((part) => part.slice(1));
  }

  // The parts without the white space around text: where a line break belongs is not what a case is about.
  get shape() {
    const parts = this.parts.map((part) => (part[0] === "text" ? ["text", part[1].trim()] : part));
    return parts.filter((part) => part[1] !== "");
  }
}

// The parts of a reply, or its text and its calls where their order cannot be known.
export function equalParts(reply, parts, keepsOrder) {
  if (keepsOrder) return equal(reply.shape, parts);
  const words = parts.filter((part) => part[0] === "text").map((part) => part[1]);
  equal(reply.text.split(/\s+/).filter(Boolean), words.join(" ").split(" ").filter(Boolean));
  equal(reply.calls, parts.filter((part) => part[0] === "call").map((part) => part.slice(1)));
}

export function equalUsage(usage, scenario, choice) {
  // A reply that the upstream did not finish has an estimate. That of a repaired one is of two requests.
  if (choice === "single") assert(usage[0] > 0 && usage[1] > 0, `usage ${usage}`);
  else equal(usage, scenario === "repair" ? [200, 40] : [100, 20]);
}

export async function inFlight() {
  const text = await (await fetch(`${BASE}/metrics`)).text();
  return Number(/^gadgetry_requests_in_flight (\d+)$/m.exec(text)[1]);
}

// Waits until the gateway has noticed that its client has gone.
export async function untilIdle() {
  const deadline = Date.now() + 60_000;
  while ((await inFlight()) !== 0) {
    assert(Date.now() < deadline, "the request is still in flight");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
