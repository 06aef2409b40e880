import type { Conversation } from "./conversation.js";

/** Reads a request of the AI SDK's `useChat`: the id of the chat, the question, and what was said before. */
export function chatRequest(request: Request): Promise<{ id: string; prompt: string; conversation: Conversation }>;
