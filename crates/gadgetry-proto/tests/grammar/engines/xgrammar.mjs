// Loads grammars and structural tags in xgrammar: a list of {name, grammar, tag, texts, forced} on standard input, problems on standard
// output. The texts are sentences, so it must accept them; with calls that are forced, none may lack its last character. The argument
// is the folder of its package.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { dirname } from "node:path";

// The package says that it is a module, and is none.
const path = process.argv[2] + "/@mlc-ai/web-xgrammar/lib/index.js";
const loaded = { exports: {} };
const run = new Function("module", "exports", "require", "__filename", "__dirname", readFileSync(path, "utf8"));
run(loaded, loaded.exports, createRequire(path), path, dirname(path));
const { Grammar, Testings } = loaded.exports;
const cases = JSON.parse(readFileSync(0, "utf8"));
const say = (...words) => process.stdout.write(JSON.stringify(words) + "\n");
for (const { name, grammar, tag, texts, forced } of cases) {
  try {
    const parsed = await Grammar.fromEBNF(grammar, "root");
    for (const text of texts) {
      if (!(await Testings.isGrammarAcceptString(parsed, text))) say(name, "refused", text);
    }
    parsed.dispose();
  } catch (error) {
    say(name, "grammar", String(error));
  }
  try {
    const parsed = await Grammar.fromStructuralTag(tag);
    for (const text of texts.slice(0, 1)) {
      // A tag has no line break after the last call.
      const whole = forced ? text.replace(/\n$/, "") : text;
      if (!(await Testings.isGrammarAcceptString(parsed, whole))) say(name, "refused by the tag", whole);
      const cut = whole.slice(0, -1);
      if (forced && (await Testings.isGrammarAcceptString(parsed, cut))) say(name, "accepted by the tag", cut);
    }
    parsed.dispose();
  } catch (error) {
    say(name, "tag", String(error), JSON.stringify(tag).slice(0, 300));
  }
}
