// The gateway in this process, as the `fetch` of an official client.
import { awaited, sync } from "./errors.js";
import { native } from "./native.js";

/** The address that wrapped clients name. Nothing is sent there; a gateway without keys answers to this machine only. */
const BASE = "http://localhost";

/** The keys are for the server of the model, which the gateway has; it wants none itself. */
const OWN = ["authorization", "x-api-key", "content-length", "transfer-encoding", "accept-encoding"];

export function wrapClient(client, prefix, { upstream, api = "chat", apiKey } = {}) {
  const url = upstream ?? client.baseURL;
  // The key of a client is for its own server.
  const isOwn = originOf(url) === originOf(client.baseURL);
  const key = apiKey ?? (isOwn && typeof client.apiKey === "string" ? client.apiKey : undefined);
  const gateway = sync(() => new native.InProcess(url, key || undefined, api));
  return client.withOptions({ baseURL: BASE + prefix, fetch: fetchOf(gateway) });
}

function originOf(url) {
  return URL.canParse(url) ? new URL(url).origin : url;
}

function fetchOf(gateway) {
  return async (input, init) => {
    const request = new Request(input, { ...init, ...(init?.body ? { duplex: "half" } : {}) });
    const { pathname, search } = new URL(request.url);
    const headers = [];
    request.headers.forEach((value, name) => {
      if (!OWN.includes(name)) headers.push(name, value);
    });
    const body = new Uint8Array(await request.arrayBuffer());
    const { signal } = request;
    signal.throwIfAborted();
    const abort = new native.Abort();
    let reply;
    const aborted = () => {
      abort.abort();
      reply?.close();
    };
    signal.addEventListener("abort", aborted, { once: true });
    try {
      reply = await awaited(() => gateway.send(request.method, pathname + search, headers, body, abort));
    } catch (error) {
      signal.removeEventListener("abort", aborted);
      signal.throwIfAborted();
      throw error;
    }
    return responseOf(reply, signal, () => signal.removeEventListener("abort", aborted));
  };
}

function responseOf(reply, signal, done) {
  const headers = new Headers();
  for (let at = 0; at < reply.headers.length; at += 2) headers.append(reply.headers[at], reply.headers[at + 1]);
  const body = new ReadableStream({
    async pull(controller) {
      try {
        const piece = await reply.next();
        if (signal.aborted) throw signal.reason;
        if (piece === null) {
          done();
          controller.close();
        } else {
          controller.enqueue(piece);
        }
      } catch (error) {
        done();
        controller.error(error);
      }
    },
    cancel() {
      done();
      reply.close();
    },
  });
  const isEmpty = reply.status === 204 || reply.status === 304;
  return new Response(isEmpty ? null : body, { status: reply.status, headers });
}
