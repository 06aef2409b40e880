// `GET /api/agent?question=…` answers with the events of a run as server-sent events, which `EventSource` reads, and `POST /api/agent` with
// the UI message stream of the AI SDK, which `useChat` reads. A client that leaves ends the run.
import { Agent, chatRequest, gadget } from "gadgetry";
import { z } from "zod";

const weather = gadget({
  name: "Weather",
  description: "Get the weather for a city.",
  parameters: z.object({ city: z.string() }),
  run: ({ city }) => `${city}: 21 degrees`,
});
const agent = new Agent({ model: process.env.MODEL ?? "ollama:llama3.2", gadgets: [weather] });

export async function GET(request: Request): Promise<Response> {
  const question = new URL(request.url).searchParams.get("question");
  if (!question) return new Response("question is missing", { status: 400 });
  return agent.stream(question, { signal: request.signal }).toResponse();
}

export async function POST(request: Request): Promise<Response> {
  const { prompt, conversation } = await chatRequest(request);
  return agent.stream(prompt, { conversation, signal: request.signal }).toUIMessageStreamResponse();
}
