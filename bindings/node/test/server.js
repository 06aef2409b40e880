// A server of Chat Completions whose model knows no tools: it writes text.
import { createServer } from "node:http";

const CALL = "Let me look.\n!!!GADGET_START:weather:w\n!!!ARG:city\nParis\n!!!GADGET_END\n";

/** The call, with the markers that the prompt asks for. */
export function callIn(prompt, call = CALL) {
  const words = /!!!GADGET_START([^:\\"]*):/.exec(JSON.stringify(prompt))?.[1] ?? "";
  return call.replaceAll("GADGET_START", `GADGET_START${words}`).replaceAll("GADGET_END", `GADGET_END${words}`).replaceAll("ARG:", `ARG${words}:`);
}

export async function textModel() {
  const made = { requests: [], fails: false, isSlow: false, waiting: [] };
  made.reset = () => Object.assign(made, { requests: [], fails: false, isSlow: false });
  /** Waits for the next request. */
  made.next = () => new Promise((resolve) => made.waiting.push(resolve));
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const piece of request) text += piece;
    const answer = (status, body, type = "application/json") => response.writeHead(status, { "content-type": type }).end(body);
    if (request.method !== "POST" || !/\/(chat\/completions|messages)$/.test(request.url)) return answer(404, "{}");
    const body = JSON.parse(text);
    made.requests.push({ body, headers: request.headers, target: request.url });
    if (request.url.endsWith("/messages")) return answer(401, "{}");
    for (const resolve of made.waiting.splice(0)) resolve();
    if (made.isSlow) return undefined;
    if (made.fails) return answer(429, JSON.stringify({ error: { message: "slow down", type: "rate_limit" } }));
    const said = JSON.stringify(body.messages).includes("sunny") ? "It is sunny in Paris." : callIn(body.messages);
    if (!body.stream) {
      const choices = [{ index: 0, message: { role: "assistant", content: said }, finish_reason: "stop" }];
      return answer(200, JSON.stringify({ id: "x", object: "chat.completion", created: 1, model: "m", choices }));
    }
    const deltas = [...said.match(/[^]{1,7}/g).map((content) => [{ content }, null]), [{}, "stop"]];
    const frames = deltas.map(([delta, finish_reason]) => {
      return { id: "x", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason }] };
    });
    return answer(200, `${frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join("")}data: [DONE]\n\n`, "text/event-stream");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  made.url = `http://127.0.0.1:${server.address().port}/v1`;
  made.close = () => {
    server.closeAllConnections();
    server.close();
  };
  return made;
}
