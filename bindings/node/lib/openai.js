// OpenAI's SDK on any text model: its own methods, with tools, without a second server.
import { wrapClient } from "./transport.js";

export function wrapOpenAI(client, options) {
  return wrapClient(client, { prefix: "/v1", keyHeader: "authorization" }, options);
}
