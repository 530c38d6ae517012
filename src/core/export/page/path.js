// The text at the right: the path to the leaf through the chosen entry, drawn as far as it is in view.
//
// Articles lie in the normal flow between two spaces that are as high as what is not drawn. Heights are
// estimates until an article was drawn once. What is in view never moves: after each change the scroll
// position is set anew from the article at the top of the view.

/** Space below and above the view that is drawn, too. */
const AROUND = 700;
/** Articles and nodes that are drawn at most. */
const MOST_ARTICLES = 60;
const MOST_NODES = 2600;
/** Browsers end at some 16 million pixels; a longer path is drawn to scale. */
const HIGHEST = 8e6;

const text = { path: [], place: new Int32Array(0), chosen: -1, heights: null, shown: new Map(), first: 0, whole: false };

const onPath = (n) => n >= 0 && text.path[text.place[n]] === n;

/** Sums of heights, in logarithmic time (a Fenwick tree). */
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

  /** The height of all before `at`. */
  before(at) {
    let sum = 0;
    for (; at > 0; at -= at & -at) sum += this.sums[at];
    return sum;
  }

  /** The place at this height. */
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

function estimate(n) {
  const kind = session.kind[n];
  if ("nlx".includes(kind)) return 52;
  return 58 + 21 * Math.min(session.lines[n] ?? 6, 80);
}

/** Makes the path to `leaf` the one that is shown. */
function setPath(leaf) {
  const path = leaf < 0 ? [] : pathTo(leaf);
  const same = path.length === text.path.length && path.at(-1) === text.path.at(-1);
  if (same) return false;
  text.path = path;
  if (text.place.length !== session.count) text.place = new Int32Array(session.count);
  path.forEach((n, at) => { text.place[n] = at; });
  readPath();
  clearText();
  return true;
}

/** What an entry's heading and marks depend on beside the entry: the path before and behind it. */
function readPath() {
  const { path } = text;
  text.heights = new Heights(Float64Array.from(path, estimate));
  text.edited = new Map();
  for (const [edit, target, omits] of session.edits) if (onPath(edit) && onPath(target)) text.edited.set(target, [edit, omits]);
  text.modelBefore = new Map();
  let model = 0, cost = 0;
  for (const n of path) {
    if (session.model[n] && session.model[n] !== model) text.modelBefore.set(n, (model = session.model[n]));
    cost += session.cost[n] ?? 0;
  }
  text.cost = cost;
}

function clearText() {
  for (const at of [...text.shown.keys()]) drop(at);
  text.first = 0;
}

function drop(at) {
  const article = text.shown.get(at);
  forget(article.view.ranges);
  article.view.urls.forEach((url) => URL.revokeObjectURL(url));
  article.remove();
  text.shown.delete(at);
}

/** Factor from the heights of articles to those of the spaces. */
const scale = () => Math.min(1, HIGHEST / Math.max(1, text.heights.total));

/** Where the view is: an article, and how far its top is below that of the view. */
function anchorOf(scroller) {
  const top = scroller.scrollTop;
  for (let at = text.first; text.shown.has(at); at++) {
    const article = text.shown.get(at), start = article.offsetTop;
    if (start + article.offsetHeight > top && start < top + scroller.clientHeight) return { at, delta: start - top };
  }
  const at = text.heights.at(top / scale());
  return { at, delta: Math.min(0, text.heights.before(at) * scale() - top) };
}

let drawing = false;

/** Draws what is in view, and around it. */
function drawText(anchor = null) {
  const scroller = $("text");
  if (drawing || text.whole) return;
  if (!text.path.length) return void dressEnds(0, 0);
  drawing = true;
  try {
    drawRange(scroller, anchor);
  } finally {
    drawing = false;
  }
  where();
}

function drawRange(scroller, anchor) {
  const from = anchor ?? anchorOf(scroller);
  const [first, last] = range(from, scroller.clientHeight);
  for (const at of [...text.shown.keys()]) if (at < first || at >= last) drop(at);
  text.first = first;
  const list = $("list");
  let next = null;
  for (let at = last - 1; at >= first; at--) {
    let article = text.shown.get(at);
    if (!article || article.waits && entryPieces.peek(text.path[at]) !== undefined) {
      const had = article;
      article = articleOf(at);
      if (had) drop(at);
      text.shown.set(at, article);
      list.insertBefore(article, next);
    }
    next = article;
  }
  for (const [at, article] of text.shown) if (!article.waits) text.heights.set(at, article.getBoundingClientRect().height);
  dressEnds(first, last);
  const article = text.shown.get(from.at);
  const wanted = Math.round(article.offsetTop - from.delta);
  if (Math.abs(scroller.scrollTop - wanted) > 1) scroller.scrollTop = wanted;
  // Estimates were wrong: what is in view now may reach further than what was drawn.
  const end = text.shown.get(last - 1);
  if (last < text.path.length && !end.waits && end.offsetTop + end.offsetHeight < scroller.scrollTop + scroller.clientHeight && last - first < MOST_ARTICLES) {
    requestAnimationFrame(() => drawText());
  }
}

function dressEnds(first, last) {
  const factor = text.heights ? scale() : 1, { heights } = text;
  $("above").style.height = heights ? `${heights.before(first) * factor}px` : 0;
  $("below").style.height = heights ? `${(heights.total - heights.before(last)) * factor}px` : 0;
}

/** Which articles to draw: those in view, then as many around as there is room for. */
function range({ at, delta }, height) {
  const { heights, path } = text;
  const nodes = (at) => text.shown.get(at)?.nodes ?? 60;
  let first = at, last = at, sum = 0, below = delta;
  while (last < path.length && last - first < MOST_ARTICLES && (below < height || below < height + AROUND && sum < MOST_NODES)) {
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

/** The element of an entry on the path, with what is at hand of it. */
function articleOf(at) {
  const n = text.path[at], kind = session.kind[n], markup = entryPieces.peek(n);
  const article = make("article", `entry ${kind}`);
  const view = { n, ranges: [], urls: [], onPath, title: KINDS[kind], changed: () => drawText() };
  article.view = view;
  article.id = `n${n}`;
  article.dataset.id = session.ids[n];
  article.dataset.n = n;
  article.tabIndex = -1;
  article.setAttribute("aria-posinset", at + 1);
  article.setAttribute("aria-setsize", text.path.length);
  article.setAttribute("aria-labelledby", `h${n}`);
  if (n === text.chosen) article.classList.add("chosen");
  const day = dayAt(at);
  if (day) article.append(make("div", "day", day));
  article.append(headOf(n, at));
  const siblings = session.children(session.parent[n]);
  if (siblings.length > 1) article.append(branchesOf(n, siblings));
  const body = make("div", "body");
  article.append(body);
  if (markup === undefined) {
    article.waits = true;
    body.append(make("div", "wait", "…"));
    body.style.minHeight = `${Math.max(20, text.heights.own[at] - 58)}px`;
    entryPieces.get(n).then(() => { if (text.shown.get(at) === article) drawText(); });
    return article;
  }
  fill(body, n, markup, view);
  if (body.children.length && [...body.children].every((child) => child.matches(".call.shown"))) article.classList.add("bare");
  article.nodes = article.getElementsByTagName("*").length * 2;
  if (search.pattern) markMatches(body, view);
  return article;
}

function fill(body, n, markup, view) {
  const edit = text.edited.get(n);
  if (!edit) {
    build(markup, 0, markup.length, body, view);
    if (!body.firstChild) body.append(make("div", "note", "(empty)"));
    return;
  }
  const [by, omits] = edit, note = make("div", "note"), link = make("a", "entry", session.ids[by]);
  link.href = linkTo(by);
  link.dataset.to = by;
  note.append(omits ? "No longer sent to the model, since " : "The model sees this instead, since ", link);
  body.append(note);
  if (omits) {
    body.parentNode?.classList.add("omitted");
    body.classList.add("omitted");
    const inner = make("div", "body");
    body.append(inner);
    return build(markup, 0, markup.length, inner, view);
  }
  const now = make("div");
  body.append(now);
  entryPieces.get(by).then((edited) => {
    build(edited, 0, edited.length, now, view);
    now.querySelector(":scope > .note")?.remove();
    view.changed();
  });
  const fold = make("details", "fold"), inner = make("div");
  fold.append(make("summary", "", "As it was"), inner);
  fold.addEventListener("toggle", () => {
    if (fold.open && !inner.firstChild) build(markup, 0, markup.length, inner, view);
    view.changed();
  });
  body.append(fold);
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const calendar = new Intl.DateTimeFormat(undefined, { dateStyle: "full" });
const dayOf = (time) => new Date(time).toDateString();

/** The day, where it is another than that of the entry before. */
function dayAt(at) {
  const time = session.time[text.path[at]];
  if (time === null || !Number.isFinite(new Date(time).getTime())) return "";
  const before = session.time[text.path[at - 1]];
  return before === undefined || before === null || dayOf(before) !== dayOf(time) ? calendar.format(time) : "";
}

function headOf(n, at) {
  const head = make("header"), kind = session.kind[n];
  const title = make("h2", "", "onsb".includes(kind) && session.name_.get(n) ? named(session.name_.get(n)) : KINDS[kind]);
  title.id = `h${n}`;
  head.append(title);
  const label = session.label.get(n);
  if (label) head.append(make("span", "label", label));
  const time = session.time[n];
  if (time !== null && Number.isFinite(new Date(time).getTime())) {
    const stamp = make("time", "", clock.format(time));
    stamp.dateTime = new Date(time).toISOString();
    stamp.title = new Date(time).toLocaleString();
    head.append(stamp);
  }
  const model = text.modelBefore.get(n);
  if (model) head.append(make("span", "model", session.models[model - 1]));
  if (session.cost[n]) head.append(make("span", "cost", `$${money(session.cost[n])}`));
  if (session.failed.has(n) && kind === "a") head.append(make("span", "mark bad", "failed"));
  const link = make("a", "", session.ids[n]);
  link.href = linkTo(n);
  link.dataset.to = n;
  link.setAttribute("aria-label", `Link to entry ${session.ids[n]}`);
  head.append(link);
  const acts = make("span", "acts");
  for (const [name, said, act] of [["Copy", "Copy the text", () => copyEntry(n)], ["Link", "Copy the link", () => copyLink(n)]]) {
    const button = make("button", "", name);
    button.title = said;
    button.addEventListener("click", act);
    acts.append(button);
  }
  head.append(acts);
  return head;
}

const named = (name) => {
  const words = name.replace(/([a-z])([A-Z])/g, "$1 $2").replaceAll("_", " ").toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
};
const money = (cost) => (cost >= 1 ? cost.toFixed(2) : cost.toPrecision(2).replace(/0+$/, ""));
const linkTo = (n) => `#${encodeURIComponent(session.ids[n] ?? "")}`;

async function copyEntry(n) {
  copyText(plain(await entryPieces.get(n)).trim(), "Text copied");
}

function copyLink(n) {
  const address = new URL(location.href);
  address.hash = linkTo(n);
  copyText(address.href, "Link copied");
}

/** Where a conversation branches: which of the branches this is, and the way to the others. */
function branchesOf(n, siblings) {
  const box = make("div", "branches"), steps = make("div", "steps"), at = siblings.indexOf(n);
  const step = (by, sign, said) => {
    const button = make("button", "", sign);
    button.setAttribute("aria-label", said);
    button.disabled = siblings[at + by] === undefined;
    button.addEventListener("click", () => choose(siblings[at + by], { focus: true }));
    return button;
  };
  const list = make("details", "fold"), items = make("ol");
  list.append(make("summary", "", `Branch ${at + 1} of ${siblings.length}`), items);
  list.addEventListener("toggle", () => {
    if (!items.firstChild) listBranches(items, n, siblings);
    drawText();
  });
  steps.append(step(-1, "‹", "Previous branch"), list, step(1, "›", "Next branch"));
  box.append(steps);
  return box;
}

/** At most as many branches as a reader looks through; the tree has all of them. */
function listBranches(items, n, siblings) {
  const at = siblings.indexOf(n), from = Math.max(0, Math.min(at - 10, siblings.length - 40));
  for (const sibling of siblings.slice(from, from + 40)) {
    const item = make("li"), link = make("a");
    link.href = linkTo(sibling);
    link.dataset.to = sibling;
    if (sibling === n) link.setAttribute("aria-current", "true");
    rowPieces.get(sibling).then((row) => { link.textContent = readable(row) || session.ids[sibling]; });
    item.append(link);
    items.append(item);
  }
}

/** Shows the path through an entry, and the entry at the top. */
async function choose(n, { focus = false, record = true, top = false } = {}) {
  if (n < 0) return;
  if (!onPath(n)) setPath(session.newest[n]);
  text.chosen = n;
  tree.cursor = n;
  if (record && decodeURIComponent(location.hash.slice(1)) !== session.ids[n]) history.pushState(null, "", linkTo(n));
  const at = text.place[n];
  // Without a gap, unless what is far away is still being read.
  await Promise.race([entryPieces.get(n), pause(80)]);
  if (text.chosen !== n) return;
  $("list").querySelector(".entry.chosen")?.classList.remove("chosen");
  text.shown.get(at)?.classList.add("chosen");
  drawText({ at, delta: top || at === 0 ? 0 : 6 });
  showChosen();
  if (focus) text.shown.get(at)?.focus({ preventScroll: true });
}

/** The tree, with the chosen entry in view. */
function showChosen() {
  layOut();
  let at = nearestRow(text.chosen);
  if (at < 0) return;
  tree.cursor = tree.rows[at].n;
  showRow(at);
  drawRows(true);
}

function where() {
  const count = text.path.length, at = count ? anchorOf($("text")).at : 0;
  const cost = text.cost ? ` · $${money(text.cost)}` : "";
  const said = count ? `Entry ${(at + 1).toLocaleString("en")} of ${count.toLocaleString("en")} on this path${cost}` : "No entries";
  if ($("where").textContent !== said) $("where").textContent = said;
  $("leaf").disabled = text.chosen === session.leaf || session.leaf < 0;
}
