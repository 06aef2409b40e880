// Models: by name, with their options; scripts, and mock models for tests.
import { ConfigError, sync } from "./errors.js";
import { native } from "./native.js";
import { encode } from "./options.js";

const OPTIONS = ["baseUrl", "apiKey", "temperature", "maxTokens", "reasoningEffort", "price", "contextWindow", "extra"];

export class Model {
  constructor(name, options = {}) {
    const encoded = encode(options, OPTIONS, "a model");
    this._native = sync(() => native.Model.named(name, encoded));
  }

  get name() {
    return this._native.name;
  }

  _model() {
    return this._native;
  }
}

/** The model for the native part. */
export function nativeModel(model) {
  if (typeof model === "string") {
    if (model.startsWith("script:")) return sync(() => native.Model.scriptFile(model.slice("script:".length)));
    return sync(() => native.Model.named(model, "{}"));
  }
  if (typeof model?._model === "function") return model._model();
  if (model === undefined) throw new ConfigError("an agent needs a `model`");
  throw new TypeError(`a model is a name or a Model, not ${String(model)}`);
}
