// The conversation on the right: the path to the leaf through the chosen entry, of which only the part in view is
// drawn.
//
// Articles are between two spaces that are as high as the articles not drawn. Heights are estimates until an
// article has been drawn. What is in view does not move: after each change, the scroll position is set again from
// the article at the top of the view.
//
// If the path is short, the articles out of view are drawn, too, while the page is idle. So the browser's own search and
// selection reach all of it. The browser lays these articles out when it needs them.

/** Articles this many pixels above and below the view are drawn, too. */
const AROUND = 700;
/** The maximum numbers of articles and nodes that are drawn. */
const MOST_ARTICLES = 60;
const MOST_NODES = 2600;
/** The maximum numbers of entries in a short path, and of characters that are drawn out of view. */
const MOST_WHOLE = 2000;
const MOST_CHARACTERS = 64e6;
/** Browsers limit heights to about 16 million pixels; the spaces of a longer path are scaled down. */
const HIGHEST = 8e6;

const text = {
  /** The whole path, and for each entry its index there; the part of it that is shown, and the entry's place there. */
  all: [], index: new Int32Array(0), path: [], place: new Int32Array(0),
  /** Where the turns begin, in the whole path. */
  starts: [],
  /** Runs that are not as the level of detail has them, and asides that a link has led to. */
  turned: new Set(), asked: new Set(), runs: new Map(), runOf: new Map(), chips: new Map(),
  /** The entry that is read, and whether the view is about to show it. */
  chosen: -1, isChoosing: false,
  /** Where the view was scrolled to by the page; -1 once the reader has scrolled. */
  setTop: -1,
  heights: null, isPrinted: false,
  /** The articles by their places, from the first to the one before the last, and which of them are near the view. */
  shown: new Map(), first: 0, last: 0, near: [0, 0],
  /** Whether the path is short, how many characters may yet be drawn out of view, and whether all folds are open. */
  isShort: false, spare: MOST_CHARACTERS, open: false,
};

const onPath = (n) => n >= 0 && text.all[text.index[n]] === n;

/** Sums of heights in logarithmic time (a Fenwick tree). */
class Heights {
  constructor(heights) {
    this.own = heights;
    this.sums = new Float64Array(heights.length + 1);
    for (let at = 1; at <= heights.length; at++) {
      this.sums[at] += heights[at - 1];
      const up = at + (at & -at);
      if (up <= heights.length) this.sums[up] += this.sums[at];
    }
  }

  set(at, height) {
    const more = height - this.own[at];
    if (Math.abs(more) < 0.5) return;
    this.own[at] = height;
    for (let up = at + 1; up < this.sums.length; up += up & -up) this.sums[up] += more;
  }

  /** Returns the total height of the articles before `at`. */
  before(at) {
    let sum = 0;
    for (; at > 0; at -= at & -at) sum += this.sums[at];
    return sum;
  }

  /** Returns the index of the article at this height. */
  at(height) {
    let at = 0, step = 1;
    while (step * 2 < this.sums.length) step *= 2;
    for (; step; step >>= 1) {
      if (at + step < this.sums.length && this.sums[at + step] <= height) {
        at += step;
        height -= this.sums[at];
      }
    }
    return Math.min(at, this.own.length - 1);
  }

  get total() {
    return this.before(this.own.length);
  }
}

/** Returns about how high the entry at a place of the path is. */
const estimate = (n, at) => estimateEntry(n) + (isTurnEnd(at) ? 12 : 0);

function estimateEntry(n) {
  const kind = session.kind[n], run = text.runOf.get(n);
  if (run && !run.open) return 26;
  if (run) return kind === "a" ? 0 : 50 + 19 * Math.min(session.lines[n] ?? 6, 7);
  if (isAside(n)) return 52;
  return 58 + 21 * Math.min(session.lines[n] ?? 6, 80);
}

/** Shows the path to `leaf`. Returns whether it is another path than before. */
function setPath(leaf) {
  const path = leaf < 0 ? [] : pathTo(leaf);
  const same = path.length === text.all.length && path.at(-1) === text.all.at(-1);
  if (same) return false;
  clearText();
  text.all = path;
  text.isShort = path.length <= MOST_WHOLE;
  if (text.place.length !== session.count) {
    text.place = new Int32Array(session.count);
    text.index = new Int32Array(session.count);
  }
  path.forEach((n, at) => { text.index[n] = at; });
  groupPath();
  readPath();
  showBanner();
  layOut();
  return true;
}

/** Computes what headings and marks of entries depend on besides the entries: heights, edits, models. */
function readPath() {
  const { path, all } = text;
  readTurns();
  text.heights = new Heights(Float64Array.from(path, estimate));
  text.edited = new Map();
  for (const [edit, target, omits] of session.edits) if (onPath(edit) && onPath(target)) text.edited.set(target, [edit, omits]);
  text.modelBefore = new Map();
  let model = 0;
  for (const n of all) if (session.model[n] && session.model[n] !== model) text.modelBefore.set(n, (model = session.model[n]));
}

/** Removes all articles. */
function clearText() {
  for (const at of [...text.shown.keys()]) removeArticle(at);
  text.first = text.last = 0;
  text.spare = MOST_CHARACTERS;
}

function removeArticle(at) {
  const article = text.shown.get(at);
  removeHighlights(article.view.ranges);
  article.view.urls.forEach((url) => URL.revokeObjectURL(url));
  article.remove();
  text.shown.delete(at);
}

/** Returns the factor between the heights of articles and of the space that stands for them. */
const spaceScale = () => Math.min(1, HIGHEST / Math.max(1, text.heights.total));

/** Returns the position of the view: an article, and how far its top is below the top of the view. */
function anchorOf(scroller) {
  const top = scroller.scrollTop, ends = (at) => text.shown.get(at).offsetTop + text.shown.get(at).offsetHeight;
  let low = text.first, high = text.last;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends(middle) > top) high = middle;
    else low = middle + 1;
  }
  const start = text.shown.get(low)?.offsetTop;
  if (start < top + scroller.clientHeight) return { at: low, delta: start - top };
  const at = text.heights.at(top / spaceScale());
  return { at, delta: Math.min(0, text.heights.before(at) * spaceScale() - top) };
}

/** Returns the place of the entry that is at the top of the view, not counting what is left of the one before. */
function topPlace() {
  const view = $("text"), { at, delta } = anchorOf(view), article = text.shown.get(at), last = text.path.length - 1;
  const atEnd = view.scrollTop > 0 && view.scrollTop + view.clientHeight >= view.scrollHeight - 2;
  if (atEnd && text.shown.has(last)) return last;
  return article && delta + article.offsetHeight < 16 ? Math.min(at + 1, last) : at;
}

/** Makes the entry that the reader has scrolled to the chosen one. */
function followScroll() {
  if (text.isPrinted || text.isChoosing || !text.path.length) return;
  // The page has scrolled to the chosen entry, or as far as possible, and heights may have changed since.
  const view = $("text"), isNear = Math.abs(view.scrollTop - text.setTop) < 24;
  const isAtEnd = view.scrollTop + view.clientHeight >= view.scrollHeight - 2;
  const isInView = text.shown.get(text.place[text.chosen])?.offsetTop >= view.scrollTop - 8;
  if (isNear || text.setTop >= 0 && isAtEnd && isInView) return;
  text.setTop = -1;
  const n = text.path[topPlace()];
  if (n === text.chosen) return;
  text.chosen = n;
  markChosen();
  showChosen();
  showPlace();
  followAddress();
}

/** Marks the article of the chosen entry. */
function markChosen() {
  for (const article of text.shown.values()) article.classList.toggle("chosen", article.view.n === text.chosen);
}

let drawing = false;

/** Draws the articles in and around the view. */
function drawText(anchor = null) {
  const scroller = $("text");
  if (drawing || text.isPrinted) return;
  showNothing();
  if (!text.path.length) return void setSpaces();
  drawing = true;
  try {
    drawRange(scroller, anchor);
  } finally {
    drawing = false;
  }
  showPlace();
}

/** Draws the articles in and around the view. The article of the anchor stays where it is. */
function drawRange(scroller, anchor) {
  const from = anchor ?? anchorOf(scroller), [first, last] = rangeToDraw(from, scroller.clientHeight);
  leaveOthers(first, last);
  drawMissing(first, last);
  for (let at = first; at < last; at++) measure(at);
  setSpaces();
  const isHeld = Math.abs(scroller.scrollTop - text.setTop) < 2;
  scrollToAnchor(scroller, from);
  if (isHeld || anchor) text.setTop = scroller.scrollTop;
  // If heights were overestimated, the view may extend below the last article drawn.
  const end = text.shown.get(last - 1), hasGap = end.offsetTop + end.offsetHeight < scroller.scrollTop + scroller.clientHeight;
  if (hasGap && !end.waits && last < text.path.length && last - first < MOST_ARTICLES) requestAnimationFrame(() => drawText());
  fillText();
}

/** Removes the articles outside of a range, or leaves those of a short path to the browser. */
function leaveOthers(first, last) {
  const keeps = text.isShort && first <= text.last && last >= text.first;
  for (let at = text.first; at < text.last; at++) {
    if (at >= first && at < last) continue;
    if (!keeps) removeArticle(at);
    else if (at >= text.near[0] && at < text.near[1]) leaveView(at);
  }
  text.near = [first, last];
  text.first = keeps ? Math.min(first, text.first) : first;
  text.last = keeps ? Math.max(last, text.last) : last;
}

/** Draws the articles of a range that are not there yet, or wait for a piece that has come. */
function drawMissing(first, last) {
  let next = text.shown.get(last) ?? null;
  for (let at = last - 1; at >= first; at--) {
    let article = text.shown.get(at);
    if (article?.waits && entryPieces.peek(text.path[at]) !== undefined) {
      removeArticle(at);
      article = null;
    }
    article ??= drawArticle(at, next);
    enterView(article);
    next = article;
  }
}

/** Scrolls so that an article is at a distance from the top of the view. */
function scrollToAnchor(scroller, { at, delta }) {
  const wanted = Math.round(text.shown.get(at).offsetTop - delta);
  if (Math.abs(scroller.scrollTop - wanted) > 1) scroller.scrollTop = wanted;
}

/** Draws an article before another. */
function drawArticle(at, next, isFar = false) {
  const article = articleOf(at, isFar);
  text.shown.set(at, article);
  $("list").insertBefore(article, next);
  return article;
}

/** Completes an article that was drawn out of view. */
function enterView(article) {
  const { view } = article;
  if (!article.classList.contains("far")) return;
  article.classList.remove("far");
  article.style.minHeight = "";
  for (const [name, range] of view.ranges) highlight(name).add(range);
  view.isFar = false;
  for (const show of view.later.splice(0)) show();
  if (view.pattern !== search.pattern) markMatches(article.querySelector(".body"), view);
}

/** Leaves an article to the browser, which skips it until it needs it. */
function leaveView(at) {
  const article = text.shown.get(at);
  article.style.minHeight = `${text.heights.own[at]}px`;
  article.classList.add("far");
  for (const [name, range] of article.view.ranges) highlight(name).delete(range);
}

let filling = false;

/** Draws the rest of a short path, a few articles at a time. */
async function fillText() {
  if (filling) return;
  filling = true;
  let most = 8;
  const isWhole = () => !text.isShort || text.spare < 0 || text.isPrinted || text.last - text.first >= text.path.length;
  // What a reader does first is not delayed.
  await pause(300);
  while (!isWhole()) {
    const { path, first, last } = text;
    const places = Array.from({ length: most }, (_, at) => (last < path.length ? last + at : first - 1 - at)).filter((at) => at in path);
    await Promise.all(places.map((at) => entryPieces.get(path[at])));
    await pause(4);
    if (isWhole() || path !== text.path || first !== text.first || last !== text.last) continue;
    const start = performance.now();
    fillPlaces(places);
    // As many at once as take about 12 milliseconds.
    most = Math.max(4, Math.min(64, Math.round(most * 12 / Math.max(3, performance.now() - start))));
  }
  filling = false;
}

/** Draws articles out of view, which follow or precede the ones that are drawn. */
function fillPlaces(places) {
  const scroller = $("text"), from = anchorOf(scroller);
  for (const at of places) drawArticle(at, text.shown.get(at + 1) ?? null, true);
  places.forEach(measure);
  places.forEach(leaveView);
  text.first = Math.min(text.first, ...places);
  text.last = Math.max(text.last, places[0] + 1, places.at(-1) + 1);
  setSpaces();
  scrollToAnchor(scroller, from);
}

/** Sets the height of an article that was an estimate. */
function measure(at) {
  const article = text.shown.get(at);
  if (!article.waits) text.heights.set(at, article.getBoundingClientRect().height);
}

/** Makes the spaces as high as the articles above and below that are not drawn. */
function setSpaces() {
  const { heights, first, last } = text;
  if (!heights) return;
  $("above").style.height = `${heights.before(first) * spaceScale()}px`;
  $("below").style.height = `${(heights.total - heights.before(last)) * spaceScale()}px`;
}

/** Returns which articles to draw: those in view, then as many around them as the limits allow. */
function rangeToDraw({ at, delta }, height) {
  const { heights, path } = text;
  const nodes = (at) => text.shown.get(at)?.nodes ?? 60;
  let first = at, last = at, sum = 0, below = delta;
  const isWanted = () => below < height || below < height + AROUND && sum < MOST_NODES;
  while (last < path.length && last - first < MOST_ARTICLES && isWanted()) {
    below += heights.own[last];
    sum += nodes(last++);
  }
  let above = delta;
  while (first > 0 && above > -AROUND && sum < MOST_NODES && last - first < MOST_ARTICLES) {
    above -= heights.own[--first];
    sum += nodes(first);
  }
  return [first, Math.max(last, at + 1)];
}

/** Shows the path through an entry, with the entry at the top. */
async function choose(n, { focus = false, record = true, top = false } = {}) {
  if (n < 0) return;
  const before = viewState();
  if (!onPath(n)) setPath(session.newest[n]);
  ensureShown(n);
  text.chosen = n;
  tree.cursor = n;
  if (record && idInAddress() !== session.ids[n]) {
    if (before) history.replaceState(before, "");
    history.pushState(null, "", linkTo(n));
  } else followAddress();
  const at = text.place[n];
  text.isChoosing = true;
  // Waits for the piece, to avoid a gap, but for at most 80 ms.
  await Promise.race([entryPieces.get(n), pause(80)]);
  if (text.chosen !== n) return;
  text.isChoosing = false;
  markChosen();
  drawText({ at, delta: at === 0 ? startDelta() : top ? 0 : 6 });
  revealChosen();
  if (focus) text.shown.get(at)?.focus({ preventScroll: true });
}

/** Returns what restores the view: the path, the chosen entry, and the one at the top with its distance. */
function viewState() {
  if (!text.path.length) return null;
  const { at, delta } = anchorOf($("text"));
  return { end: text.all.at(-1), chosen: text.chosen, n: text.path[at], delta };
}

/** Restores a view. */
function restoreView({ end, chosen, n, delta }) {
  setPath(end);
  if (!onPath(n)) return showStart();
  ensureShown(n);
  text.chosen = chosen;
  drawText({ at: text.place[n], delta });
  markChosen();
  revealChosen();
}

/** Draws the tree with the chosen entry in view, also if its branch was folded. */
function revealChosen() {
  unfoldTo(text.chosen);
  showChosen();
}

/** Draws the tree with the chosen entry in view. */
function showChosen() {
  const at = nearestRow(text.chosen);
  if (at < 0) return;
  tree.cursor = tree.rows[at].n;
  showRow(at);
  drawRows(true);
}

/** Shows why there is no message, if there is none. */
function showNothing() {
  const isEmpty = text.path.length === 0;
  if ($("nothing").hidden !== isEmpty) return;
  const hasMessages = session.ids.some((id, n) => !isAside(n));
  $("nothing").textContent = hasMessages ? "The conversation has no message here. Choose one at the left." : "This session has no messages.";
  $("nothing").hidden = !isEmpty;
}

/** Shows which turn is read, and whether it is the last. */
function showPlace() {
  showTurn();
  $("leaf").disabled = session.leaf < 0 || text.chosen === latestSaid();
}
