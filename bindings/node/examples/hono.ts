// Streams the events of an agent to a page, in Hono. `GET /ask?question=…` answers with server-sent events, which `EventSource` reads, and
// `POST /api/chat` with the UI message stream of the AI SDK, which `useChat` reads.
//
//   npm install gadgetry hono @hono/node-server zod
//   MODEL=ollama:llama3.2 npx tsx -e 'import("./hono.ts").then(async ({ app }) => (await import("@hono/node-server")).serve(app))'
import { Agent, chatRequest, gadget } from "gadgetry";
import { Hono } from "hono";
import { z } from "zod";

const weather = gadget({
  name: "Weather",
  description: "Get the weather for a city.",
  parameters: z.object({ city: z.string() }),
  run: ({ city }) => `${city}: 21 degrees`,
});
const agent = new Agent({ model: process.env.MODEL ?? "ollama:llama3.2", gadgets: [weather] });

export const app = new Hono();

// A client that leaves ends the run.
app.get("/ask", (context) => {
  const question = context.req.query("question");
  if (!question) return context.text("question is missing", 400);
  return agent.stream(question, { signal: context.req.raw.signal }).toResponse();
});

async function POST(request: Request): Promise<Response> {
  const { prompt, conversation } = await chatRequest(request);
  return agent.stream(prompt, { conversation, signal: request.signal }).toUIMessageStreamResponse();
}

app.post("/api/chat", (context) => POST(context.req.raw));
