// Runs as responses of web servers: server-sent events.
import { Conversation } from "./conversation.js";
import { describe, sync } from "./errors.js";
import { native } from "./native.js";

/** Milliseconds of silence after which a comment keeps proxies from closing the stream. */
const SILENCE = 12_000;

const HEADERS = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache, no-transform", "x-accel-buffering": "no" };

/** Each event as a message: its JSON as data, and its number as id. */
export function eventResponse(run, init = {}) {
  return response(run, init, {}, (event) => `${event.path === undefined ? `id: ${event.seq}\n` : ""}data: ${JSON.stringify(event)}\n\n`, () => "");
}

/** The UI message stream of the AI SDK. */
export function uiMessageResponse(run, init = {}) {
  const messages = new native.UiMessages();
  const write = (event) => JSON.parse(messages.parts(JSON.stringify(event))).map(message).join("");
  const failed = (error) => message({ type: "error", errorText: describe(error) });
  return response(run, init, { "x-vercel-ai-ui-message-stream": "v1" }, write, failed);
}

function message(part) {
  return `data: ${JSON.stringify(part)}\n\n`;
}

function response(run, { headers, status = 200 }, more, write, failed) {
  const encoder = new TextEncoder();
  const all = new Headers({ ...HEADERS, ...more });
  new Headers(headers).forEach((value, name) => all.set(name, value));
  let silence;
  const body = new ReadableStream({
    async pull(controller) {
      clearInterval(silence);
      silence = setInterval(() => controller.enqueue(encoder.encode(": keep-alive\n\n")), SILENCE);
      silence.unref();
      try {
        let text = "";
        // An event may have no part, and an empty chunk would say nothing.
        while (text === "") {
          const { done, value } = await run.next();
          if (done) {
            controller.close();
            break;
          }
          text = write(value);
        }
        if (text !== "") controller.enqueue(encoder.encode(text));
      } catch (error) {
        const last = failed(error);
        if (last === "") {
          controller.error(error);
        } else {
          controller.enqueue(encoder.encode(last));
          controller.close();
        }
      } finally {
        clearInterval(silence);
      }
    },
    cancel() {
      clearInterval(silence);
      run.close();
    },
  });
  return new Response(body, { status, headers: all });
}

/** Reads a request of `useChat`: the id of the chat, the question, and what was said before. */
export async function chatRequest(request) {
  const text = await request.text();
  const read = sync(() => new native.ChatRequest(text));
  return { id: read.id, prompt: read.question, conversation: Conversation._of(read.conversation) };
}
