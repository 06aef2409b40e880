// The gateway in this process, as the `fetch` of an official client.
import { isDeepStrictEqual } from "node:util";

import { awaited, sync } from "./errors.js";
import { native } from "./native.js";

/** The address that wrapped clients name. Nothing is sent there; a gateway without keys answers to this machine only. */
const BASE = "http://localhost";

const CREDENTIALS = ["authorization", "x-api-key"];

/** The credentials are for the server of the model, which the gateway has; it wants none itself. */
const LEFT_OUT = [...CREDENTIALS, "content-length", "transfer-encoding", "accept-encoding"];

export function wrapClient(client, { prefix, keyHeader }, { upstream, api = "chat", apiKey, proxy } = {}) {
  const url = upstream ?? client.baseURL;
  // The credentials and headers of a client are for its own server.
  const isOwn = originOf(url) === originOf(client.baseURL);
  const common = isOwn ? customHeaders(client) : [];
  const readsEnvironment = process.env.NODE_USE_ENV_PROXY === "1";
  const connect = (key, headers) => sync(() => new native.InProcess(url, api, key || undefined, [...common, ...headers], proxy, readsEnvironment));
  // Made at once, because it checks the other arguments.
  let last = { sent: { key: apiKey, headers: [] }, gateway: connect(apiKey, []) };
  /** The gateway that has the credentials of a request. */
  const gatewayOf = (request) => {
    if (!isOwn || apiKey !== undefined) return last.gateway;
    const sent = credentials(request, keyHeader);
    if (!isDeepStrictEqual(sent, last.sent)) last = { sent, gateway: connect(sent.key, sent.headers) };
    return last.gateway;
  };
  return client.withOptions({ baseURL: BASE + prefix, fetch: fetchOf(gatewayOf) });
}

/** The key of a request, which its server may want in another header, and what else authenticates it. */
function credentials(request, keyHeader) {
  const sent = { key: undefined, headers: [] };
  for (const name of CREDENTIALS) {
    const value = request.headers.get(name);
    if (value === null) continue;
    const key = /^(?:Bearer )?(\S*)$/.exec(value)?.[1];
    if (name === keyHeader && key !== undefined) sent.key = key;
    else sent.headers.push(name, value);
  }
  return sent;
}

/** Names and values of the headers that the program has given the client; credentials among them are in each request. */
function customHeaders(client) {
  // The SDKs keep them as they were given, or with their own class around `Headers`.
  const given = client._options?.defaultHeaders ?? {};
  const headers = given.values instanceof Headers ? given.values : given;
  const entries = typeof headers[Symbol.iterator] === "function" ? [...headers] : Object.entries(headers);
  // Other values leave a header out.
  return entries.filter(([name, value]) => typeof value === "string" && !CREDENTIALS.includes(name.toLowerCase())).flat();
}

function originOf(url) {
  return URL.canParse(url) ? new URL(url).origin : url;
}

function fetchOf(gatewayOf) {
  return async (input, init) => {
    const request = new Request(input, { ...init, ...(init?.body ? { duplex: "half" } : {}) });
    const { pathname, search } = new URL(request.url);
    const headers = [];
    request.headers.forEach((value, name) => {
      if (!LEFT_OUT.includes(name)) headers.push(name, value);
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
      reply = await awaited(() => gatewayOf(request).send(request.method, pathname + search, headers, body, abort));
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
