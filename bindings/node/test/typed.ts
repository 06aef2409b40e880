// What the types promise: this file must compile with `tsc --strict`, its wrong lines with the errors that they expect.
import Anthropic from "@anthropic-ai/sdk";
import { wrapLanguageModel, type LanguageModel } from "ai";
import {
  Agent,
  type Approval,
  BudgetExceeded,
  Conversation,
  gadget,
  GadgetContext,
  GadgetError,
  instructions,
  type JsonSchema,
  McpServers,
  MockModel,
  Model,
  Parser,
  type ParserEvent,
  type Result,
  type Run,
  type RunEvent,
  RunError,
  ScriptedModel,
  type ServerConfig,
  writeCall,
} from "gadgetry";
import { gadgetryMiddleware } from "gadgetry/ai";
import { wrapAnthropic } from "gadgetry/anthropic";
import { wrapOpenAI } from "gadgetry/openai";
import { call, reply } from "gadgetry/testing";
import OpenAI from "openai";
import * as v from "valibot";
import { z } from "zod";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Equal<A, B>): void => {};

const weather = gadget({
  name: "Weather",
  description: "Get the weather.",
  parameters: z.object({ city: z.string(), days: z.number().default(1) }),
  timeout: "10s",
  run: async ({ city, days }, context) => {
    same<typeof city, string>(true);
    same<typeof days, number>(true);
    same<typeof context.signal, AbortSignal>(true);
    // @ts-expect-error: there is no such parameter
    return `${city}${days}${({ city, days } as { city: string; days: number }).town}`;
  },
});

gadget({
  name: "Valid",
  description: "Of Valibot.",
  parameters: v.object({ n: v.number() }),
  jsonSchema: { type: "object" },
  run: ({ n }) => same<typeof n, number>(true),
});

const schema: JsonSchema = { type: "object", properties: { a: { type: "number" } } };
gadget<{ a: number }>({ name: "Plain", description: "Of JSON Schema.", parameters: schema, run: ({ a }) => same<typeof a, number>(true) });
gadget({ name: "Any", description: "Of JSON Schema.", parameters: { type: "object" }, run: (parameters) => parameters.whatever });
// @ts-expect-error: a gadget needs a function
gadget({ name: "None", description: "None." });
// @ts-expect-error: no such permission
gadget({ name: "None", description: "None.", permission: "perhaps", run: () => "" });

export const servers: Record<string, ServerConfig> = {
  program: { command: "npx", args: ["-y", "server"], env: { KEY: "${KEY}" }, cwd: ".", timeout: "30s", "startup-timeout": "1.5m", protocol: "auto", enabled: false },
  remote: { url: "https://example.com/mcp", headers: { Authorization: "Bearer ${KEY}" }, oauth: { "client-id": "id", "client-secret": "${SECRET}", scopes: ["read"] } },
  // @ts-expect-error: keys are written as in the configuration file
  camel: { command: "npx", startupTimeout: "30s" },
  // @ts-expect-error: a duration is a text
  seconds: { command: "npx", timeout: 30 },
  // @ts-expect-error: no such revision
  revision: { command: "npx", protocol: "2024-11-05" },
  // @ts-expect-error: a program, or an address
  both: { command: "npx", url: "https://example.com/mcp" },
  // @ts-expect-error: a program, or an address
  neither: { enabled: false },
};

interface Session {
  user: string;
}
const orders = gadget({
  name: "Orders",
  description: "Lists orders.",
  run: (_parameters: Record<string, unknown>, { deps }: GadgetContext<Session>) => deps.user,
});

async function main(): Promise<void> {
  const agent = new Agent<Session>({ model: new ScriptedModel("4"), gadgets: [weather, orders], approvals: ({ gadgetName }: Approval) => gadgetName === "Weather" });
  const result = await agent.ask("?", { deps: { user: "ada" }, conversation: new Conversation() });
  same<typeof result, Result<string>>(true);
  // @ts-expect-error: dependencies of another type
  await agent.ask("?", { deps: { name: "ada" } });
  const forecast = await agent.ask("?", { output: z.object({ city: z.string() }) });
  same<typeof forecast, { city: string }>(true);
  const listed = await agent.ask("?", { output: v.object({ names: v.array(v.string()) }), outputJsonSchema: schema, deps: { user: "ada" } });
  same<typeof listed, { names: string[] }>(true);
  // @ts-expect-error: the JSON Schema of nothing
  await agent.ask("?", { outputJsonSchema: schema });
  const run = agent.stream("?", { output: z.number() });
  same<typeof run, Run<number>>(true);
  for await (const event of agent.stream("?")) {
    same<typeof event, RunEvent>(true);
    switch (event.type) {
      case "text":
        same<typeof event.text, string>(true);
        break;
      case "gadget_result":
        same<typeof event.durationMs, number>(true);
        // @ts-expect-error: this event has no text
        event.text;
        break;
      // @ts-expect-error: there is no such event
      case "no_such_event":
        break;
    }
  }
  try {
    await agent.ask("?");
  } catch (error) {
    if (error instanceof BudgetExceeded) same<typeof error.result.knownCost, number>(true);
    if (error instanceof RunError && error.modelError !== undefined) same<typeof error.modelError.message, string>(true);
  }
  const events: ParserEvent[] = new Parser({ tags: ["note"] }).feed("text");
  for (const event of events) if (event.type === "gadget_call") same<typeof event.invocationId, string>(true);
  const response: Response = agent.stream("?").toResponse();
  void response;
  new ScriptedModel(reply(call("A", { b: 1 }), { tokens: [1, 2] }), "text");
  const openai: OpenAI = wrapOpenAI(new OpenAI({ apiKey: "none" }));
  const anthropic: Anthropic = wrapAnthropic(new Anthropic({ apiKey: "none" }), { api: "messages" });
  const connected: McpServers = await McpServers.connect(servers);
  void [openai, anthropic, connected];
}

// An option may be `undefined`, also where `exactOptionalPropertyTypes` is set.
export async function optional(none: undefined): Promise<void> {
  const parameters = schema;
  const example = { params: {}, output: none, comment: none };
  const made = gadget({
    name: "A", description: "A.", parameters: none, jsonSchema: none, run: () => "", timeout: none, maxConcurrent: none, exclusive: none, sticky: none, permission: none,
    onInterrupt: none, examples: none,
  });
  void gadget({ name: "B", description: "B.", parameters, jsonSchema: none, run: () => "", examples: [example] });
  const model = new Model("ollama:llama3.2", {
    baseUrl: none, apiKey: none, temperature: none, maxTokens: none, reasoningEffort: none, price: none, contextWindow: none, extra: none,
  });
  const agent = new Agent<Session>({
    model, gadgets: none, system: none, name: none, maxIterations: none, budget: none, temperature: none, maxTokens: none, stop: none, timeout: none, grace: none,
    maxConcurrent: none, maxGadgetsPerReply: none, maxDepth: none, sequential: none, stopOnGadgetError: none, retries: none, tools: none, form: none, examples: none,
    markers: none, anchoring: none, reasoningTags: none, blocks: none, compaction: none, trailing: none, remind: none, approvals: none, onHumanInput: none,
  });
  const block = { key: "a", tag: none, description: none, instructions: none, mode: none, transform: none };
  void new Agent({ model, blocks: [block], approvals: { rules: none, approve: none, inStream: none, unattended: none } });
  const options = { deps: none, conversation: none, runId: none, metadata: none, signal: none, journal: none, force: none };
  await agent.ask("?", options);
  await agent.ask("?", { ...options, output: z.string(), outputJsonSchema: none });
  await made.call({}, GadgetContext.forTest(none, { runId: none, metadata: none, dependencies: none }));
  const server = { enabled: none, timeout: none, "startup-timeout": none, protocol: none };
  await McpServers.connect({
    program: { ...server, command: "npx", args: none, env: none, cwd: none, url: none },
    remote: { ...server, url: "https://example.com/mcp", headers: none, oauth: none, command: none },
    login: { url: "https://example.com/mcp", oauth: { "client-id": none, "client-secret": none, scopes: none } },
  });
  void new Parser({ tags: none, reasoning: none, markers: none, anchoring: none, schemas: none });
  void instructions([made], { form: none, markers: none, anchoring: none });
  void writeCall("A", {}, { id: none, dependencies: none, markers: none, anchoring: none, schema: none });
  const settings = { reasoning: none, error: none, errorKind: none, tokens: none, chunk: none, delay: none, chunkDelay: none, isCutOff: none };
  void reply(call("A", {}, { id: none, after: none }), settings);
  const mock = new MockModel({ name: none, isStrict: none, price: none, contextWindow: none });
  mock.when({ contains: none, anywhere: none, hasResult: none, iteration: none, predicate: none, times: none, isOptional: none, label: none });
  void gadgetryMiddleware({ form: none, repairs: none, examples: none, reasoning: none, markers: none });
  void wrapOpenAI(new OpenAI({ apiKey: "none" }), { upstream: none, api: none, apiKey: none });
  throw new GadgetError("x", { fault: none, isRetryable: none, cause: none });
}

export function model(inner: Parameters<typeof wrapLanguageModel>[0]["model"]): LanguageModel {
  return wrapLanguageModel({ model: inner, middleware: gadgetryMiddleware({ form: "json" }) });
}

void main;
