// Anthropic's SDK on any text model: its own methods, with tools, without a second server.
import { wrapClient } from "./transport.js";

export function wrapAnthropic(client, options) {
  return wrapClient(client, { prefix: "", keyHeader: "x-api-key" }, options);
}
