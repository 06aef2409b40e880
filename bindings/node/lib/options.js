// Options as the native part reads them.

/** `maxIterations` as `max_iterations`. */
export function snake(name) {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Seconds of a duration: a number of them, or a text such as `10s`, `1.5m`, `200ms`. */
export function seconds(name, duration) {
  if (typeof duration === "number") return duration;
  const read = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h)$/.exec(duration);
  if (!read) throw new TypeError(`${name}: a duration is a number of seconds, or a text such as "10s", not ${JSON.stringify(duration)}`);
  return Number(read[1]) * { ms: 0.001, s: 1, m: 60, h: 3600 }[read[2]];
}

/** The JSON of options, of which only these names are admitted. */
export function encode(options, admitted, owner) {
  const encoded = {};
  for (const [name, value] of Object.entries(options)) {
    if (!admitted.includes(name)) throw new TypeError(`${owner} has no option ${name}`);
    if (value !== undefined) encoded[snake(name)] = value;
  }
  return JSON.stringify(encoded);
}
