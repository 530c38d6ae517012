// The search: each word, and each phrase in quotes, must occur in the text of an entry, in upper or lower case. Pieces
// are searched one after the other, with a pause between them, and not kept.

/**
 * `near`: the words around the match in an entry. `hits`: for each entry, 0 if it does not match, 1 if each word begins
 * a word of the text, else 2. `isNew`: whether no match of the words was visited yet.
 */
const search = { words: [], pattern: null, starts: [], phrases: [], hits: new Uint8Array(0), near: new Map(), order: [], isNew: false, run: 0 };

/** Returns the words and phrases of a query, in lower case. A phrase whose quote is not closed reaches to the end. */
function wordsOf(typed) {
  const words = [];
  for (const [, phrase, word] of typed.toLowerCase().matchAll(/"([^"]*)"?|([^\s"]+)/g)) {
    const found = (word ?? phrase).trim().replace(/\s+/g, " ");
    if (found) words.push(found);
  }
  return words;
}

/** Returns the source of the pattern of a word or phrase; a phrase may be broken into lines. */
const patternOf = (word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&").replaceAll(" ", "\\s+");

async function searchFor(typed) {
  const words = wordsOf(typed);
  if (words.join("\n") === search.words.join("\n")) return;
  const run = ++search.run;
  search.words = words;
  search.isNew = true;
  search.hits = new Uint8Array(session.count);
  search.near.clear();
  const sources = words.map(patternOf);
  search.pattern = words.length ? new RegExp(sources.join("|"), "gi") : null;
  // In the text of an entry, no letter or digit precedes the first character of a word.
  search.starts = sources.map((source) => new RegExp(`(?<![\\p{L}\\p{N}])${source}`, "iu"));
  search.phrases = words.flatMap((word, at) => (word.includes(" ") ? [new RegExp(sources[at], "i")] : []));
  markShown();
  if (!words.length) {
    showFound(true);
    return revealChosen();
  }
  for (const [n, label] of session.label) search.hits[n] = hitOf(label);
  let drawn = performance.now();
  for (let at = 0; at < entryPieces.elements.length || document.readyState === "loading"; at++) {
    while (document.readyState === "loading" && at >= entryPieces.elements.length - 1) await pause(30);
    if (at >= entryPieces.elements.length) break;
    const start = entryPieces.start(at), text = await inflate(entryPieces.elements[at]);
    if (run !== search.run) return;
    searchPiece(text, start);
    if (performance.now() - drawn > 400) {
      showFound(false);
      drawn = performance.now();
    }
    await pause();
    if (run !== search.run) return;
  }
  showFound(true);
}

/** Returns how a text matches, as in `search.hits`. */
function hitOf(text) {
  const lower = text.toLowerCase();
  const isHit = search.words.every((word) => word.includes(" ") || lower.includes(word)) && search.phrases.every((phrase) => phrase.test(text));
  if (!isHit) return 0;
  return search.starts.every((start) => start.test(text)) ? 1 : 2;
}

/** Searches a piece. `start` is the number of its first entry. */
function searchPiece(piece, start) {
  // A word may contain marks, so they are removed before searching.
  plainText(piece).split("\x1e").forEach((entry, at) => {
    const hit = hitOf(entry);
    if (!hit) return;
    search.hits[start + at] = hit;
    if (search.near.size < 20_000) search.near.set(start + at, textAround(entry.split("\x1d")[0]));
  });
}

/** Returns the words around the first match in a text. */
function textAround(text) {
  const at = text.search(search.pattern);
  if (at < 0) return "";
  const from = at < 24 ? 0 : Math.min(at, text.indexOf(" ", at - 24) + 1 || at);
  return (from ? "… " : "") + text.slice(from, at + 160).replace(/\s+/g, " ").trim();
}

/** Returns what the row of an entry shows in a search, unless its own text has the match at its beginning. */
function nearMatch(n, said) {
  const at = search.pattern ? said.search(search.pattern) : 0;
  return at >= 0 && at < 30 ? "" : search.near.get(n) ?? "";
}

/** Shows what was found so far. */
function showFound(done) {
  layOut();
  showCount(done);
}

/** Shows the number of messages found, or of items: these are fewer than messages, as a call and its result are one. */
function showCount(done) {
  search.order = tree.rows.map((row) => row.n);
  if (search.words.length) search.order = ranked(search.order);
  const at = search.words.length ? search.order.indexOf(text.chosen) : -1;
  let count = countText(tree.total, search.words.length ? "message" : "item");
  if (at >= 0) count = `${grouped(at + 1)} of ${count}`;
  if (!done) count += " …";
  else if (search.words.length && !tree.total) count = nothingFound();
  $("count").textContent = count;
  if (done) document.body.dataset.searched = search.words.join(" ");
  for (const id of ["before", "after"]) $(id).hidden = !search.words.length;
}

/** Returns entries in the order in which they are visited: where words begin so comes first, then what was said. */
function ranked(entries) {
  const rankOf = (n) => (search.hits[n] === 1 ? 0 : 2) + ("tb".includes(session.kind[n]) ? 1 : 0);
  const ranks = [[], [], [], []];
  for (const n of entries) ranks[rankOf(n)].push(n);
  return ranks.flat();
}

/** Returns what is shown if no message matches. */
function nothingFound() {
  const words = search.words.map((word) => `“${word}”`).join(" and ");
  const others = search.hits.reduce((sum, hit) => sum + (hit ? 1 : 0), 0);
  if (!others) return `No message contains ${words}`;
  return `No message in this view contains ${words}; ${countText(others, "other")} do${others === 1 ? "es" : ""}`;
}

/** Moves to the next (1) or previous (-1) entry found. */
async function stepMatch(by) {
  const { order } = search;
  if (!search.words.length || !order.length) return;
  const here = search.isNew ? -1 : order.indexOf(text.chosen);
  search.isNew = false;
  // Before the first visit, the next match is the first one, and the previous one the last.
  const from = here < 0 && by < 0 ? 0 : here;
  const next = order[(from + by + order.length) % order.length];
  await choose(next, {});
  reveal(text.shown.get(text.place[next]));
  showFound(true);
}

/** Opens the folds and sections of an article that hide a match, and scrolls to the match. */
function reveal(article) {
  if (!article || article.waits) return;
  const visible = [...textsOf(article.querySelector(".body"))].filter((text) => text.parentNode.checkVisibility());
  const seen = visible.map((text) => text.data).join("").replace(/\s+/g, " ").toLowerCase();
  const word = search.words.find((word) => !seen.includes(word));
  if (word) openUpTo(article, word);
  markMatches(article.querySelector(".body"), article.view);
  const match = firstMatch(article);
  if (!match) return;
  const box = match.getBoundingClientRect(), view = $("text").getBoundingClientRect();
  if (box.top >= view.top && box.bottom <= view.bottom - 40) return;
  $("text").scrollTop += box.top - view.top - view.height / 3;
  text.setTop = $("text").scrollTop;
}

/** Opens what hides a word in an article. */
function openUpTo(article, word) {
  for (let rounds = 0; rounds < 8; rounds++) {
    const closed = [...article.querySelectorAll("details")].find((fold) => fold.sections && !fold.open && findSectionWith(fold, word) >= 0);
    if (!closed) break;
    closed.open = true;
    openFold(closed);
  }
  for (const block of article.querySelectorAll(".prose, .block")) {
    if (!block.sections) continue;
    const at = findSectionWith(block, word);
    if (at < 0 || at >= block.shown[0] && at < block.shown[1]) continue;
    // Show the section with the match; those before it need not be built.
    const inner = block.inner ?? block;
    [...inner.children].filter((child) => child.classList.contains("part")).forEach((part) => part.remove());
    block.shown = [at, at];
    showSection(block, at);
    return;
  }
}

/** Returns the index of the first section of an element that contains a word; -1 if there is none. */
function findSectionWith({ markup, sections }, word) {
  const pattern = new RegExp(patternOf(word), "i");
  return sections.findIndex((section) => pattern.test(plainText(markup.slice(...section))));
}

function firstMatch(article) {
  const found = article.view.ranges.find(([name]) => name === "match");
  if (!found) return null;
  const range = document.createRange();
  range.setStart(found[1].startContainer, found[1].startOffset);
  range.setEnd(found[1].endContainer, found[1].endOffset);
  return range;
}

/** Returns the text nodes of an element, except texts that are there only for the browser's search. */
function* textsOf(element) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode()); ) if (!node.parentNode.hidden) yield node;
}

/** Marks the words in the drawn part of an article. */
function markMatches(body, view) {
  const old = view.ranges.filter(([name]) => name === "match");
  for (const [name, range] of old) highlight(name).delete(range);
  view.ranges = view.ranges.filter(([name]) => name !== "match");
  view.pattern = search.pattern;
  if (!search.pattern) return;
  for (const node of textsOf(body)) {
    for (const match of node.data.matchAll(search.pattern)) {
      if (view.ranges.length > 4000) return;
      highlightPart(view.ranges, "match", node, match.index, match.index + match[0].length);
    }
  }
}

/** Marks the words in all articles near the view. */
function markShown() {
  for (const article of text.shown.values()) {
    if (article.waits || article.classList.contains("far")) continue;
    markMatches(article.querySelector(".body"), article.view);
  }
}
