// Durable runs: kept in a file, and resumed by another process.
import { awaited, sync } from "./errors.js";
import { native } from "./native.js";

export class Journal {
  constructor(path) {
    this._native = sync(() => new native.Journal(path));
  }

  async runs() {
    const records = JSON.parse(await awaited(() => this._native.runs()));
    const time = (seconds) => new Date(seconds * 1000);
    return records.map((it) => ({ ...it, created: time(it.created), updated: time(it.updated) }));
  }

  async cancel(runId) {
    await awaited(() => this._native.cancel(runId));
  }
}
