// The page as a whole: preferences, keys, links, the drawer, printing.

const prefs = { theme: "auto", thinking: false, tools: true };

function readPrefs() {
  try {
    Object.assign(prefs, JSON.parse(localStorage.getItem("pisess") ?? "{}"));
  } catch {
    // A page opened from a file may have no storage.
  }
  showPrefs();
}

function setPref(name, value) {
  prefs[name] = value;
  try {
    localStorage.setItem("pisess", JSON.stringify(prefs));
  } catch {
    // As above.
  }
  showPrefs();
}

function showPrefs() {
  const { theme } = prefs;
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  $("theme").textContent = { auto: "◐", light: "☀", dark: "☾" }[theme] ?? "◐";
  $("theme").setAttribute("aria-label", `Theme: ${theme === "auto" ? "as the system" : theme}`);
  $("thinking").setAttribute("aria-pressed", prefs.thinking);
  $("outputs").setAttribute("aria-pressed", prefs.tools);
  document.body.classList.toggle("no-tools", !prefs.tools);
}

/** Draws everything again at the same position. */
function redraw() {
  const anchor = text.path.length ? anchorOf($("text")) : null;
  clearText();
  if (anchor) drawText(anchor);
}

function showHead() {
  const { name, title, cwd, agent, count } = session;
  document.title = title;
  $("title").textContent = name ?? title;
  const times = session.time.filter((time) => time !== null);
  const seconds = times.length ? (times.at(-1) - times[0]) / 1000 : 0;
  const total = session.cost.reduce((sum, cost) => sum + cost, 0);
  const models = session.models.map((model) => model.split("/").pop());
  const about = [cwd, times.length ? new Date(times[0]).toLocaleDateString(undefined, { dateStyle: "medium" }) : "",
    duration(seconds), `${count.toLocaleString("en")} entries`, models.length > 3 ? `${models.length} models` : models.join(", "),
    total ? `$${money(total)}` : "", agent];
  $("about").textContent = about.filter(Boolean).join(" · ");
  $("about").title = $("about").textContent;
}

function duration(seconds) {
  if (!(seconds >= 60)) return "";
  const minutes = Math.round(seconds / 60), hours = Math.floor(minutes / 60), days = Math.floor(hours / 24);
  if (days > 1) return `${days} days`;
  return hours ? `${hours} h ${minutes % 60} min` : `${minutes} min`;
}

/** Shows the entry in the address, or the leaf if there is none. */
function fromAddress() {
  let id = location.hash.slice(1);
  try {
    id = decodeURIComponent(id);
  } catch {
    // Use the address undecoded.
  }
  const n = session.numberOf.get(id);
  if (n !== undefined && id) choose(n, { record: false });
  else if (text.chosen < 0) start();
}

/** Shows the path to the leaf, from its beginning. */
function start() {
  setPath(session.leaf);
  text.chosen = session.leaf;
  layOut();
  tree.cursor = tree.rows[0]?.n ?? -1;
  $("tree").scrollTop = 0;
  drawRows(true);
  drawText({ at: 0, delta: 0 });
}

function backToLeaf() {
  setPath(session.leaf);
  choose(session.leaf, { focus: true });
}

/** Moves to the entry after (1) or before (-1) the one at the top of the view. */
function stepEntry(by) {
  const view = $("text"), anchor = anchorOf(view);
  const at = by > 0 || anchor.delta > -10 ? anchor.at + (anchor.delta > 20 ? 0 : by) : anchor.at;
  const n = text.path[Math.max(0, Math.min(text.path.length - 1, at))];
  choose(n, { focus: true, record: false });
}

function stepBranch(by) {
  const top = anchorOf($("text")).at;
  for (let at = Math.max(top, text.place[text.chosen] ?? 0); at >= 0; at--) {
    const n = text.path[at], siblings = session.children(session.parent[n]);
    if (siblings.length < 2) continue;
    const next = siblings[siblings.indexOf(n) + by];
    if (next !== undefined) choose(next, { focus: true });
    return;
  }
}

function toggleFolds() {
  const folds = [...(text.shown.get(text.place[text.chosen])?.querySelectorAll("details") ?? [])];
  const open = !folds.every((fold) => fold.open);
  folds.forEach((fold) => { fold.open = open; });
}

const KEYS = {
  j: () => stepEntry(1),
  k: () => stepEntry(-1),
  "[": () => stepBranch(-1),
  "]": () => stepBranch(1),
  n: () => step(1),
  p: () => step(-1),
  N: () => step(-1),
  l: backToLeaf,
  t: () => { openDrawer(true); $("tree").focus(); },
  o: toggleFolds,
  y: () => copyLink(text.chosen),
  c: () => copyEntry(text.chosen),
  "/": () => { openDrawer(true); $("words").focus(); $("words").select(); },
  "?": () => $("keys").showModal(),
  Home: () => choose(text.path[0], { focus: true }),
  End: () => choose(text.path.at(-1), { focus: true }),
};

function onKey(event) {
  if ($("keys").open) return;
  const typing = event.target.matches?.("input, textarea, select");
  if ((event.ctrlKey || event.metaKey) && event.key === "p") {
    event.preventDefault();
    return void printAll();
  }
  // The browser's own search finds only what is drawn. Pressing Ctrl+F again in the search field opens it.
  if ((event.ctrlKey || event.metaKey) && event.key === "f" && !typing) {
    event.preventDefault();
    return KEYS["/"]();
  }
  if (event.key === "Escape") {
    if (event.target === $("words")) $("text").focus();
    return openDrawer(false);
  }
  if (event.target === $("words") && event.key === "Enter") {
    event.preventDefault();
    return void step(event.shiftKey ? -1 : 1);
  }
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === $("tree") && treeKey(event)) return event.preventDefault();
  const act = KEYS[event.key];
  if (!act || event.target.matches?.("button, summary") && event.key === " ") return;
  event.preventDefault();
  act();
}

function openDrawer(open) {
  document.body.classList.toggle("open", open);
  $("drawer").setAttribute("aria-expanded", open);
}

/** Draws the whole path, opens all folds, and prints. */
async function printAll() {
  const anchor = anchorOf($("text"));
  clearText();
  text.whole = true;
  document.body.classList.add("whole");
  const list = $("list");
  $("above").style.height = $("below").style.height = 0;
  for (let at = 0; at < text.path.length; at++) {
    await entryPieces.get(text.path[at]);
    const article = articleOf(at);
    text.shown.set(at, article);
    list.append(article);
    for (let folds; (folds = [...article.querySelectorAll("details:not([open])")]).length; ) {
      for (const fold of folds) {
        fold.open = true;
        if (fold.sections) openFold(fold);
      }
    }
    for (const block of article.querySelectorAll(".prose, .block")) {
      const inner = block.inner ?? block;
      for (let at = block.shown?.[1]; at < block.sections?.length; at++) {
        const part = make("span", "part");
        build(block.markup, ...block.sections[at], part, article.view);
        inner.append(part);
      }
    }
    if (at % 50 === 49) await pause();
  }
  window.addEventListener("afterprint", () => {
    text.whole = false;
    document.body.classList.remove("whole");
    clearText();
    drawText(anchor);
  }, { once: true });
  window.print();
}

function listen() {
  $("tree").addEventListener("scroll", () => drawRows());
  $("tree").addEventListener("click", treeClick);
  $("tree").addEventListener("focus", () => { if (!tree.place.has(tree.cursor)) moveCursor(Math.max(0, nearestRow(text.chosen))); });
  let pending = false;
  $("text").addEventListener("scroll", () => {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => { pending = false; drawText(); });
  });
  $("list").addEventListener("toggle", () => drawText(), true);
  document.addEventListener("keydown", onKey);
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-to]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    choose(+link.dataset.to, { focus: true });
  });
  $("filter").addEventListener("change", (event) => { tree.filter = event.target.value; finishSearch(search.run, true); showChosen(); });
  let typing;
  $("words").addEventListener("input", (event) => {
    clearTimeout(typing);
    typing = setTimeout(() => searchFor(event.target.value), 120);
  });
  $("before").addEventListener("click", () => step(-1));
  $("after").addEventListener("click", () => step(1));
  $("leaf").addEventListener("click", backToLeaf);
  $("thinking").addEventListener("click", () => { setPref("thinking", !prefs.thinking); redraw(); });
  $("outputs").addEventListener("click", () => { setPref("tools", !prefs.tools); redraw(); });
  const themes = ["auto", "light", "dark"];
  $("theme").addEventListener("click", () => setPref("theme", themes[(themes.indexOf(prefs.theme) + 1) % 3]));
  $("help").addEventListener("click", () => $("keys").showModal());
  $("print").addEventListener("click", printAll);
  $("skip").addEventListener("click", () => $("text").focus());
  $("drawer").addEventListener("click", () => openDrawer(!document.body.classList.contains("open")));
  $("shade").addEventListener("click", () => openDrawer(false));
  addEventListener("popstate", fromAddress);
  addEventListener("hashchange", fromAddress);
  addEventListener("resize", () => { drawRows(true); drawText(); });
}

async function main() {
  readPrefs();
  // What the first view needs is inflated concurrently.
  rowPieces.first();
  const late = readFacts();
  wholeFile.then(() => entryPieces.first());
  await readIndex();
  readTags();
  listen();
  // The data of a small file is complete at once; a large file shows its tree while it is still being loaded.
  let known = false;
  const facts = late.then((facts) => { known = true; Object.assign(session, facts); });
  await Promise.race([Promise.all([facts, rowPieces.first(), wholeFile.then(() => entryPieces.first())]), pause(100)]);
  const early = !known;
  showHead();
  fromAddress();
  await facts;
  if (early) readPathAgain();
  document.documentElement.dataset.ready = "yes";
}

/** Draws again once the data about entries is known, which changes headings and estimated heights. */
function readPathAgain() {
  showHead();
  readPath();
  redraw();
  drawRows(true);
}

main();
