// The same program in several languages: blocks of code that follow each other become tabs, by the pattern of the ARIA Authoring Practices.
// Without this script they are shown one after the other. The language that was chosen is remembered, and is that of all tabs.
const NAMES = { rust: "Rust", python: "Python", ts: "TypeScript" };
const KEY = "gadgetry-language";

/** The language of a block of code; `undefined` for anything else. */
function language(element) {
  const code = element?.tagName === "PRE" ? element.querySelector("code") : null;
  return Object.keys(NAMES).find((name) => code?.classList.contains(`language-${name}`));
}

/** The blocks from `first` on, each in another language. */
function following(first) {
  const blocks = new Map();
  for (let block = first; language(block) !== undefined && !blocks.has(language(block)); block = block.nextElementSibling) blocks.set(language(block), block);
  return blocks;
}

/** Makes tabs of blocks. Returns a function that shows one of them. */
function tabs(blocks, number, choose) {
  const box = document.createElement("div");
  const list = document.createElement("div");
  box.className = "tabs";
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", "Language of the program");
  [...blocks.values()][0].before(box);
  box.append(list);
  const all = [...blocks].map(([name, block]) => {
    const tab = document.createElement("button");
    const panel = document.createElement("div");
    const id = `program-${number}-${name}`;
    Object.assign(tab, { type: "button", id: `${id}-tab`, textContent: NAMES[name] });
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", id);
    // Long lines are scrolled by the keyboard, too.
    block.querySelector("code").tabIndex = 0;
    panel.id = id;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", tab.id);
    panel.append(block);
    list.append(tab);
    box.append(panel);
    tab.addEventListener("click", () => choose(name, tab));
    return { name, tab, panel };
  });
  list.addEventListener("keydown", (event) => {
    const at = all.findIndex(({ tab }) => tab === event.target);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    // The same keys turn the pages of the book.
    event.preventDefault();
    event.stopPropagation();
    const { name, tab } = all[(to + all.length) % all.length];
    tab.focus();
    choose(name, tab);
  });
  return (wanted) => {
    const shown = all.find(({ name }) => name === wanted) ?? all[0];
    for (const one of all) {
      const isShown = one === shown;
      one.tab.setAttribute("aria-selected", String(isShown));
      one.tab.tabIndex = isShown ? 0 : -1;
      one.panel.hidden = !isShown;
    }
  };
}

/** What the browser remembers, where it may. */
function remembered(name) {
  try {
    if (name !== undefined) localStorage.setItem(KEY, name);
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

const shows = [];

/** Shows a language in all tabs. The one that was used stays where it is on the screen. */
function choose(name, tab) {
  const before = tab.getBoundingClientRect().top;
  for (const show of shows) show(name);
  window.scrollBy(0, tab.getBoundingClientRect().top - before);
  remembered(name);
}

for (const block of document.querySelectorAll("main > pre")) {
  const blocks = following(block);
  // A block that is in tabs already is no child of the page any more.
  if (block.parentElement?.tagName !== "MAIN" || blocks.size < 2) continue;
  shows.push(tabs(blocks, shows.length, choose));
}
for (const show of shows) show(remembered());
