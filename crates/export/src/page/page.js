// The page as a whole: preferences, keys, links, the drawer, printing.

const prefs = { theme: "auto", thinking: false, level: "lines", aside: false, keys: true };

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
  $("aside").setAttribute("aria-pressed", prefs.aside);
  $("level").value = prefs.level;
  $("single").checked = prefs.keys;
  document.body.classList.toggle("all", prefs.level === "all");
}

/** Shows the work as lines, with previews, or all of it; `open` opens all folds, too. */
function setLevel(level, open = false) {
  setPref("level", level);
  text.open = open;
  $("unfold").textContent = open ? "Collapse all" : "Expand all";
  text.turned.clear();
  regroup();
}

/** The narrowest and the widest tree, in pixels, as in the style. */
const NARROWEST = 240, WIDEST = 420;

/** Sets the width of the tree, in pixels. It is not kept. */
function setWidth(pixels) {
  const width = Math.round(Math.max(NARROWEST, Math.min(WIDEST, pixels)));
  document.body.style.setProperty("--wide", `${width}px`);
  $("edge").setAttribute("aria-valuenow", width);
  drawRows(true);
  drawText();
}

/** Moves the edge of the tree by a key. Returns whether it has a meaning. */
function edgeKey(key) {
  const width = $("side").offsetWidth;
  const to = { ArrowLeft: width - 20, ArrowRight: width + 20, Home: NARROWEST, End: WIDEST }[key];
  if (to !== undefined) setWidth(to);
  return to !== undefined;
}

/** Draws everything again at the same position. */
function redraw() {
  const anchor = text.path.length ? anchorOf($("text")) : null;
  clearText();
  if (anchor) drawText(anchor);
}

/** Returns a number with so many decimals. As in Rust, a half goes to the even neighbour. */
function formatFixed(value, decimals) {
  const exact = value.toFixed(100), end = exact.length - 100 + decimals;
  const kept = exact.slice(0, end), isHalf = /^50*$/.test(exact.slice(end));
  return isHalf && /[02468]\.?$/.test(kept) ? kept.replace(/\.$/, "") : value.toFixed(decimals);
}

/** Returns a cost as `format::format_cost` does. */
const dollars = (cost, isEstimated) => (isEstimated ? "~" : "") + (cost > 0 && cost < 0.01 ? "<$0.01" : `$${formatFixed(cost, 2)}`);

/** Returns a number of tokens as `format::format_tokens` does. */
function tokensOf(count) {
  if (count < 999.5) return formatFixed(count, 0);
  const isMillions = count >= 999500, value = count / (isMillions ? 1e6 : 1e3);
  return formatFixed(value, value < 99.95 ? 1 : 0) + (isMillions ? "M" : "k");
}

/** Returns the id in the address; empty if there is none. */
function idInAddress() {
  const id = location.hash.slice(1);
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

/** Returns the entry with an id, or with the only id that begins so; `undefined` if there is none. */
function findEntry(id) {
  const n = session.numberOf.get(id);
  if (n !== undefined || id.length < 4) return n;
  const beginning = session.ids.filter((other) => other.startsWith(id));
  return beginning.length === 1 ? session.numberOf.get(beginning[0]) : undefined;
}

/** Shows the entry in the address, or the beginning if there is none. `state` is the view to restore. */
function showFromAddress({ state } = {}) {
  if (state) return restoreView(state);
  const id = idInAddress(), n = id ? findEntry(id) : undefined;
  if (n !== undefined) return void choose(n, { record: false });
  if (text.chosen < 0 || !id) showStart();
  if (id) toast(`No message has the id ${id}`, 6000);
}

/** Shows the path to the leaf, from its beginning. */
function showStart() {
  setPath(session.leaf);
  text.chosen = text.path[0] ?? -1;
  layOut();
  tree.cursor = tree.rows[0]?.n ?? -1;
  $("tree").scrollTop = 0;
  drawRows(true);
  drawText({ at: 0, delta: startDelta() });
  markChosen();
}

/** Shows the last thing that was said. */
function backToLatest() {
  setPath(session.leaf);
  choose(latestSaid(), { focus: true });
}

/** Moves to the entry after (1) or before (-1) the chosen one; first to the start of one that begins above the view. */
function stepEntry(by) {
  const { at, delta } = anchorOf($("text")), here = text.place[text.chosen];
  let next = by < 0 && at === here && delta < -10 ? here : here + by;
  // Messages that only call tools take no space.
  while (text.shown.get(next)?.matches(".bare")) next += by;
  choose(text.path[Math.max(0, Math.min(text.path.length - 1, next))], { focus: true, record: false });
}

/** Goes to the previous (-1) or next (1) branch at the nearest point above where the conversation branches. */
function stepBranch(by) {
  for (let at = text.place[text.chosen] ?? 0; at >= 0; at--) {
    const n = text.path[at], siblings = branchesAt(session.parent[n]);
    if (siblings.length < 2 || !siblings.includes(n)) continue;
    const next = siblings[siblings.indexOf(n) + by];
    if (next === undefined) return toast(`This is the ${by < 0 ? "first" : "last"} of ${siblings.length} branches`, 3000);
    return choose(next, { focus: true });
  }
  toast("The conversation does not branch above this message", 3000);
}

/** Opens the folds of the chosen entry, or closes them if all are open. */
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
  n: () => stepMatch(1),
  p: () => stepMatch(-1),
  N: () => stepMatch(-1),
  l: backToLatest,
  i: openPrompts,
  t: () => { openDrawer(true); $("tree").focus(); },
  o: toggleFolds,
  y: () => copyLink(text.chosen),
  c: () => copyEntry(text.chosen),
  h: () => { setPref("thinking", !prefs.thinking); redraw(); },
  e: () => setLevel({ lines: "previews", previews: "all" }[prefs.level] ?? "lines"),
  x: () => setLevel(text.open ? "lines" : "all", !text.open),
  "/": () => { openDrawer(true); $("words").focus(); $("words").select(); },
  "?": () => $("keys").showModal(),
  Home: () => choose(text.path[0], { focus: true }),
  End: () => choose(text.path.at(-1), { focus: true }),
};

/** The keys that scroll, also before the text has the focus. Each returns a distance, given the height of a page. */
const SCROLLS = {
  " ": (page) => page,
  PageDown: (page) => page,
  PageUp: (page) => -page,
  ArrowDown: () => 50,
  ArrowUp: () => -50,
};

/** Acts on a key, unless a dialog is open or the reader is typing. */
function onKey(event) {
  if (document.querySelector("dialog[open]")) return;
  const typing = event.target.matches?.("input, textarea, select");
  if ((event.ctrlKey || event.metaKey) && event.key === "p") {
    event.preventDefault();
    return void printAll();
  }
  // The browser's own search finds only what is drawn. Pressing Ctrl+F again in the search field opens it.
  const isDrawn = text.isShort && text.spare >= 0;
  if ((event.ctrlKey || event.metaKey) && event.key === "f" && !typing && !isDrawn) {
    event.preventDefault();
    return KEYS["/"]();
  }
  if (event.key === "Escape") {
    if (event.target === $("words")) $("text").focus();
    $("words").value = "";
    searchFor("");
    openSheet(false);
    return openDrawer(false);
  }
  if (event.target === $("words") && event.key === "Enter") {
    event.preventDefault();
    return void stepMatch(event.shiftKey ? -1 : 1);
  }
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === $("tree") && treeKey(event) || event.target === $("edge") && edgeKey(event.key)) return event.preventDefault();
  const scrolls = SCROLLS[event.key];
  if (scrolls && event.target === document.body) {
    event.preventDefault();
    const isBack = event.key === " " && event.shiftKey, distance = scrolls($("text").clientHeight - 40);
    return $("text").scrollBy({ top: isBack ? -distance : distance });
  }
  const isTurnedOff = !prefs.keys && event.key.length === 1;
  if (!KEYS[event.key] || isTurnedOff) return;
  event.preventDefault();
  KEYS[event.key]();
}

/** Opens or closes the tree on a narrow screen. */
function openDrawer(open) {
  document.body.classList.toggle("open", open);
  $("drawer").setAttribute("aria-expanded", open);
}

/** Saves the attached session, byte for byte. */
async function saveSession() {
  const parts = [];
  for (const piece of document.getElementsByClassName("session")) parts.push(await inflated(piece).blob());
  const link = make("a");
  link.href = URL.createObjectURL(new Blob(parts));
  link.download = `${session.session.replace(/[^\w.-]/g, "_") || "session"}.jsonl`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Draws the whole path, with what is open, and prints. */
async function printAll() {
  const anchor = anchorOf($("text"));
  clearText();
  text.isPrinted = true;
  document.body.classList.add("whole");
  const list = $("list");
  $("above").style.height = $("below").style.height = 0;
  for (let at = 0; at < text.path.length; at++) {
    await entryPieces.get(text.path[at]);
    const article = articleOf(at);
    text.shown.set(at, article);
    list.append(article);
    for (const prose of article.querySelectorAll(".prose")) {
      const { shown, sections } = prose;
      for (let next = shown?.[1]; next < sections?.length; next++) {
        const part = make("div", "part");
        build(prose.markup, ...sections[next], part, article.view);
        prose.append(part);
      }
    }
    if (at % 50 === 49) await pause();
  }
  window.addEventListener("afterprint", () => {
    text.isPrinted = false;
    document.body.classList.remove("whole");
    clearText();
    drawText(anchor);
  }, { once: true });
  window.print();
}

/** Connects the controls of the page with what they do. */
function listen() {
  listenForPhone();
  listenForPrint();
  $("tree").addEventListener("scroll", () => drawRows());
  $("tree").addEventListener("click", treeClick);
  $("tree").addEventListener("blur", leaveTree);
  $("tree").addEventListener("focus", () => { if (!tree.place.has(tree.cursor)) moveCursor(Math.max(0, nearestRow(text.chosen))); });
  let pending = false;
  $("text").addEventListener("scroll", () => {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => { pending = false; drawText(); followScroll(); moveBar(); });
  });
  $("list").addEventListener("toggle", () => drawText(), true);
  document.addEventListener("keydown", onKey);
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-to]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    choose(+link.dataset.to, { focus: true });
  });
  $("filter").addEventListener("change", (event) => { tree.filter = event.target.value; showFound(true); revealChosen(); });
  let typing;
  $("words").addEventListener("input", (event) => {
    clearTimeout(typing);
    typing = setTimeout(() => searchFor(event.target.value), 120);
  });
  $("before").addEventListener("click", () => stepMatch(-1));
  $("after").addEventListener("click", () => stepMatch(1));
  $("leaf").addEventListener("click", backToLatest);
  $("where").addEventListener("click", openPrompts);
  $("prompts").addEventListener("click", (event) => { if (event.target.closest("a")) $("prompts").close(); });
  $("menu").addEventListener("click", openAbout);
  $("thinking").addEventListener("click", () => { setPref("thinking", !prefs.thinking); redraw(); });
  $("unfold").addEventListener("click", KEYS.x);
  $("edge").addEventListener("pointerdown", (event) => $("edge").setPointerCapture(event.pointerId));
  $("edge").addEventListener("pointermove", (event) => { if ($("edge").hasPointerCapture(event.pointerId)) setWidth(event.clientX); });
  $("large").addEventListener("click", (event) => { if (event.target === $("large")) $("large").close(); });
  $("aside").addEventListener("click", () => { setPref("aside", !prefs.aside); regroup(); });
  $("level").addEventListener("change", (event) => setLevel(event.target.value));
  $("single").addEventListener("change", (event) => setPref("keys", event.target.checked));
  $("final").addEventListener("click", () => { setPath(session.leaf); showStart(); });
  const themes = ["auto", "light", "dark"];
  $("theme").addEventListener("click", () => setPref("theme", themes[(themes.indexOf(prefs.theme) + 1) % 3]));
  $("help").addEventListener("click", () => $("keys").showModal());
  $("print").addEventListener("click", printAll);
  $("save").addEventListener("click", saveSession);
  wholeFile.then(() => { $("save").hidden = !document.getElementsByClassName("session").length; });
  $("skip").addEventListener("click", () => $("text").focus());
  $("drawer").addEventListener("click", () => openDrawer(!document.body.classList.contains("open")));
  $("shade").addEventListener("click", () => openDrawer(false));
  addEventListener("popstate", showFromAddress);
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
  showFromAddress();
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
