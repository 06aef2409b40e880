// Conversations over several runs.
import { sync } from "./errors.js";
import { native } from "./native.js";

export class Conversation {
  constructor() {
    this._native = new native.Conversation();
  }

  static _of(made) {
    const conversation = Object.create(Conversation.prototype);
    conversation._native = made;
    return conversation;
  }

  static fromJSON(text) {
    return Conversation._of(sync(() => native.Conversation.fromJson(text)));
  }

  static fromMessages(messages) {
    const read = messages.map(({ role, content }) => {
      return { role, content: typeof content === "string" ? [{ type: "text", text: content }] : content };
    });
    return Conversation._of(sync(() => native.Conversation.fromMessages(JSON.stringify(read))));
  }

  get messages() {
    return JSON.parse(this._native.messages());
  }

  get length() {
    return this._native.length;
  }

  stringify() {
    return this._native.toJson();
  }

  copy() {
    return Conversation._of(this._native);
  }
}
