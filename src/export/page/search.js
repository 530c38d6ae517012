// The search: each word must occur in the text of an entry, in upper or lower case. Pieces are searched one after
// the other, with a pause between them, and not kept.

const search = { words: [], pattern: null, hits: new Uint8Array(0), order: [], run: 0 };

async function searchFor(typed) {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.join(" ") === search.words.join(" ")) return;
  const run = ++search.run;
  search.words = words;
  search.hits = new Uint8Array(session.count);
  const escaped = words.map((word) => word.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
  search.pattern = words.length ? new RegExp(escaped.join("|"), "gi") : null;
  remark();
  if (!words.length) return finishSearch(run, true);
  for (const [n, label] of session.label) if (holds(label.toLowerCase())) search.hits[n] = 1;
  let drawn = performance.now();
  for (let at = 0; at < entryPieces.elements.length || document.readyState === "loading"; at++) {
    while (document.readyState === "loading" && at >= entryPieces.elements.length - 1) await pause(30);
    if (at >= entryPieces.elements.length) break;
    const start = entryPieces.start(at), text = await inflate(entryPieces.elements[at]);
    if (run !== search.run) return;
    lookThrough(text, start);
    if (performance.now() - drawn > 400) {
      finishSearch(run, false);
      drawn = performance.now();
    }
    await pause();
    if (run !== search.run) return;
  }
  finishSearch(run, true);
}

const holds = (text) => search.words.every((word) => text.includes(word));

function lookThrough(piece, start) {
  // A word may contain marks, so they are removed before searching.
  const entries = plain(piece).toLowerCase().split("\x1e");
  entries.forEach((entry, at) => { if (holds(entry)) search.hits[start + at] = 1; });
}

function finishSearch(run, done) {
  layOut();
  showCount(done);
}

/** Shows the number of entries found, or the number of rows. */
function showCount(done) {
  search.order = tree.rows.map((row) => row.n);
  const count = search.order.length.toLocaleString("en");
  const at = search.order.indexOf(text.chosen);
  $("count").textContent = !search.words.length
    ? `${tree.rows.length.toLocaleString("en")} ${tree.rows.length === 1 ? "entry" : "entries"}`
    : `${at >= 0 ? `${(at + 1).toLocaleString("en")} of ` : ""}${count} ${count === "1" ? "entry" : "entries"}${done ? "" : " …"}`;
  if (done) document.body.dataset.searched = search.words.join(" ");
  for (const id of ["before", "after"]) $(id).hidden = !search.words.length;
}

/** Moves to the next (1) or previous (-1) entry found. */
async function step(by) {
  const { order } = search;
  if (!search.words.length || !order.length) return;
  const here = order.indexOf(text.chosen);
  const next = order[here < 0 ? (by > 0 ? 0 : order.length - 1) : (here + by + order.length) % order.length];
  await choose(next, {});
  reveal(text.shown.get(text.place[next]));
  finishSearch(search.run, true);
}

/** Opens the folds and sections of an article that hide a match, and scrolls to the match. */
function reveal(article) {
  if (!article || article.waits) return;
  const visible = () => article.querySelector(".body").innerText.toLowerCase();
  const word = search.words.find((word) => !visible().includes(word));
  if (word) openUpTo(article, word);
  markMatches(article.querySelector(".body"), article.view);
  const match = firstMatch(article);
  if (!match) return;
  const box = match.getBoundingClientRect(), view = $("text").getBoundingClientRect();
  if (box.top < view.top + 40 || box.bottom > view.bottom - 40) $("text").scrollTop += box.top - view.top - view.height / 3;
}

function openUpTo(article, word) {
  for (let rounds = 0; rounds < 8; rounds++) {
    const closed = [...article.querySelectorAll("details")].find((fold) => fold.sections && !fold.open && has(fold, word, 0) >= 0);
    if (!closed) break;
    closed.open = true;
    openFold(closed);
  }
  for (const block of article.querySelectorAll(".prose, .block")) {
    if (!block.sections) continue;
    const at = has(block, word, 0);
    if (at < 0 || at >= block.shown[0] && at < block.shown[1]) continue;
    // Show the section with the match; those before it need not be built.
    const inner = block.inner ?? block;
    [...inner.children].filter((child) => child.classList.contains("part")).forEach((part) => part.remove());
    block.shown = [at, at];
    showSection(block, at);
    return;
  }
}

/** Returns the index of the first section of an element that contains a word, or -1. */
function has({ markup, sections }, word, from) {
  for (let at = from; at < sections.length; at++) {
    if (plain(markup.slice(...sections[at])).toLowerCase().includes(word)) return at;
  }
  return -1;
}

function firstMatch(article) {
  const found = article.view.ranges.find(([name]) => name === "match");
  if (!found) return null;
  const range = document.createRange();
  range.setStart(found[1].startContainer, found[1].startOffset);
  range.setEnd(found[1].endContainer, found[1].endOffset);
  return range;
}

/** Marks the words in the drawn part of an article. */
function markMatches(body, view) {
  const old = view.ranges.filter(([name]) => name === "match");
  for (const [name, range] of old) highlight(name).delete(range);
  view.ranges = view.ranges.filter(([name]) => name !== "match");
  if (!search.pattern) return;
  const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode()); ) {
    for (const match of node.data.matchAll(search.pattern)) {
      if (view.ranges.length > 4000) return;
      mark(view.ranges, "match", node, match.index, match.index + match[0].length);
    }
  }
}

function remark() {
  for (const article of text.shown.values()) if (!article.waits) markMatches(article.querySelector(".body"), article.view);
}
