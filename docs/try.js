// The page on which replies are tried: each input is parsed again, and its events are listed, as text.
const [form, reply, tags, end, summary, list] = ["try", "reply", "tags", "end", "summary", "events"].map((id) => document.getElementById(id));

/** An event, as an item of the list. All that a reply says is set as text, never as HTML. */
function item({ type, ...fields }) {
  const name = document.createElement("strong");
  name.textContent = type;
  const rest = document.createElement("pre");
  rest.textContent = type === "text" ? fields.text : JSON.stringify(fields, null, 2);
  const made = document.createElement("li");
  made.append(name, rest);
  return made;
}

function show(Parser) {
  try {
    const parser = new Parser({ tags: tags.value.split(/[\s,]+/).filter(Boolean) });
    const events = parser.feed(reply.value);
    if (end.checked) events.push(...parser.finish());
    list.replaceChildren(...events.map(item));
    const count = (type) => events.filter((event) => event.type === type).length;
    const open = count("gadget_call_start") - count("gadget_call");
    summary.textContent = `${events.length} events, ${count("gadget_call")} calls${open > 0 ? ", and one that is not complete" : ""}`;
  } catch (error) {
    list.replaceChildren();
    summary.textContent = error.message;
  }
}

// The keys of the book turn pages; in the form they are only text.
form.addEventListener("keydown", (event) => event.stopPropagation());
form.addEventListener("submit", (event) => event.preventDefault());
try {
  const { Parser } = await import("./wasm/lib/web.js");
  form.addEventListener("input", () => show(Parser));
  show(Parser);
} catch (error) {
  summary.textContent = `The parser is not here (${error.message}). Run "node bindings/wasm/build.mjs", then "cargo xtask book", and open the site through a web server.`;
}
