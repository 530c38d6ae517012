// One entry of the conversation: its heading, the branches beside it, and its body.

/** Returns the element of an entry on the path; its body follows once its piece is loaded, its images once it is near. */
function articleOf(at, isFar = false) {
  const n = text.path[at], kind = session.kind[n], run = text.runs.get(n);
  const article = make("article", `entry ${kind}`);
  article.view = { n, ranges: [], urls: [], later: [], isFar, title: titleOf(n), changed: () => drawText() };
  article.dataset.id = session.ids[n];
  article.dataset.n = n;
  article.tabIndex = -1;
  article.setAttribute("aria-posinset", at + 1);
  article.setAttribute("aria-setsize", text.path.length);
  article.setAttribute("aria-labelledby", `h${n}`);
  if (n === text.chosen) article.classList.add("chosen");

  const day = dayAt(at), margin = marginOf(n);
  if (day) article.append(make("div", "day", day));
  if (margin) article.append(margin);
  if (text.runOf.has(n)) article.classList.add("work");
  else if (NAMED.includes(kind)) article.classList.add("named");
  else if (!day && continuesAnswer(n, at)) article.classList.add("follows");
  if (run) article.append(runLine(run));
  if (run && !run.open) addClosedRun(article, at, run);
  else addContent(article, at);
  return article;
}

/** Adds to an article what a closed run has: only texts for the browser's search. */
function addClosedRun(article, at, run) {
  const body = make("div", "body");
  article.classList.add("closed");
  article.append(body, ...footsAt(at));
  if (text.isShort) addTexts(body, run);
}

/** Adds to an article its heading, branches and body. */
function addContent(article, at) {
  const { view } = article, { n } = view, siblings = branchesAt(session.parent[n]), body = make("div", "body");
  article.append(headOf(n, view));
  if (siblings.length > 1 && siblings.includes(n)) article.append(branchesOf(n, siblings));
  article.append(body, ...footsAt(at));
  const item = entryPieces.peek(n);
  if (item === undefined) return waitForBody(article, at, body);
  if (view.isFar) text.spare -= item.length;
  fillBody(body, n, splitItem(item)[0], view);
  rowImages(body);
  const onlyCalls = body.children.length > 0 && [...body.children].every((child) => child.matches(".call.shown"));
  // With tools in full, the heading of the first calls is the speaker of the turn.
  if (onlyCalls && !(prefs.level === "all" && beginsAnswer(at))) article.classList.add("bare");
  if (prefs.level !== "all") addUnfold(article);
  article.nodes = article.getElementsByTagName("*").length * 2;
  if (search.pattern) markMatches(body, view);
}

/** Draws again once the piece with an entry is loaded. */
function waitForBody(article, at, body) {
  article.waits = true;
  body.append(make("div", "wait", "…"));
  body.style.minHeight = `${Math.max(20, text.heights.own[at] - 58)}px`;
  entryPieces.get(article.view.n).then(() => { if (text.shown.get(at) === article) drawText(); });
}

function fillBody(body, n, markup, view) {
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
  entryPieces.get(by).then((item) => {
    const [edited] = splitItem(item);
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

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const calendar = new Intl.DateTimeFormat(undefined, { dateStyle: "full" });
const dayOf = (time) => new Date(time).toDateString();

/** Returns the day of an entry, unless the entry before it has the same one. */
function dayAt(at) {
  const time = timeOf(text.path[at]), before = session.time[text.path[at - 1]] ?? null;
  if (time === null || before !== null && dayOf(before) === dayOf(time)) return "";
  return calendar.format(time);
}

/** Returns the time of an entry; `null` if it has none, or one that no calendar has. */
function timeOf(n) {
  const time = session.time[n];
  return time === null || Number.isNaN(new Date(time).getTime()) ? null : time;
}

/** The kinds whose entries name themselves: results of tools, commands, compactions, summaries. */
const NAMED = "tbcr";

/** Returns the heading of an entry. */
function headOf(n, view) {
  const head = make("header");
  const title = make("h2", "", titleOf(n));
  title.id = `h${n}`;
  head.append(title);
  const time = timeOf(n);
  if (time !== null) {
    const stamp = make("time", "", clock.format(time));
    stamp.dateTime = new Date(time).toISOString();
    stamp.title = new Date(time).toLocaleString();
    head.append(stamp);
  }
  if (session.kind[n] === "u") head.append(placeLink(n));
  if (view.isFar) view.later.push(() => addActs(head, n));
  else addActs(head, n);
  return head;
}

/** Adds what a message shows under the pointer: what it used, its id, copy and link. */
function addActs(head, n) {
  const acts = make("span", "acts"), used = usageOf(n);
  if (used) acts.append(used);
  const link = make("a", "", session.ids[n]);
  link.href = linkTo(n);
  link.dataset.to = n;
  link.setAttribute("aria-label", `Link to message ${session.ids[n]}`);
  acts.append(link);
  const addButton = (name, title, act) => {
    const button = make("button", "", name);
    button.title = title;
    button.addEventListener("click", act);
    acts.append(button);
  };
  addButton("Copy", "Copy the text as Markdown", () => copyEntry(n));
  addButton("Link", "Copy the link", () => copyLink(n));
  const dots = make("button", "dots", "⋯");
  dots.setAttribute("aria-label", "More");
  dots.setAttribute("aria-expanded", "false");
  dots.addEventListener("click", () => dots.setAttribute("aria-expanded", head.classList.toggle("acting")));
  head.append(acts, dots);
}

/** Returns what the request for an entry used: its cost, and the tokens it sent and received. */
function usageOf(n) {
  const cost = session.cost[n], usage = session.usage[n];
  if (!cost && !usage) return null;
  const isEstimated = session.estimates.has(n);
  const [input, output, read, written] = usage || [0, 0, 0, 0], sent = input + read + written;
  const parts = [cost && dollars(cost, isEstimated), sent && `${tokensOf(sent)} in`, output && `${tokensOf(output)} out`];
  const used = make("span", "cost", parts.filter(Boolean).join(" · "));
  const counts = [`${grouped(input)} sent`, `${grouped(read)} read from the cache`, `${grouped(written)} written to the cache`, `${grouped(output)} received`];
  used.title = `Tokens: ${counts.join(", ")}${isEstimated ? `. Cost: estimated, prices of ${session.pricesOf}` : ""}`;
  return used;
}

/** Returns the heading of an entry: who speaks, or what it is. */
function titleOf(n) {
  const kind = session.kind[n], name = session.typeName.get(n);
  if (!name) return KINDS[kind];
  if ("mx".includes(kind)) return name;
  const words = name.replace(/([a-z])([A-Z])/g, "$1 $2").replaceAll("_", " ").toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const linkTo = (n) => `#${encodeURIComponent(session.ids[n] ?? "")}`;

async function copyEntry(n) {
  const [markup, source] = splitItem(await entryPieces.get(n));
  copyText(source ?? plainText(markup).trim(), "Text copied");
}

function copyLink(n) {
  const address = new URL(location.href);
  address.hash = linkTo(n);
  copyText(address.href, "Link copied");
}

/** Returns the element shown where the conversation branches: which branch this is, with links to the others. */
function branchesOf(n, siblings) {
  const box = make("div", "branches"), steps = make("div", "steps"), at = siblings.indexOf(n);
  const stepButton = (by, sign, said) => {
    const button = make("button", "", sign);
    button.setAttribute("aria-label", said);
    button.disabled = siblings[at + by] === undefined;
    button.addEventListener("click", () => choose(siblings[at + by], { focus: true }));
    return button;
  };
  const list = make("details", "fold"), items = make("ol");
  list.append(make("summary", "", branchName(n, siblings)), items);
  list.addEventListener("toggle", () => {
    if (!items.firstChild) listBranches(items, n, siblings);
    drawText();
  });
  steps.append(stepButton(-1, "‹", "Previous branch"), stepButton(1, "›", "Next branch"), list);
  box.append(steps);
  return box;
}

/** Returns a row as one text. */
function rowWords(row) {
  const [who, ...says] = row.split("\t");
  return [who, says.join("")].filter(Boolean).join(": ");
}

/** Adds links to at most 40 branches; the tree contains all of them. */
function listBranches(items, n, siblings) {
  const at = siblings.indexOf(n), from = Math.max(0, Math.min(at - 10, siblings.length - 40));
  for (const sibling of siblings.slice(from, from + 40)) {
    const item = make("li"), link = make("a");
    link.href = linkTo(sibling);
    link.dataset.to = sibling;
    if (sibling === n) link.setAttribute("aria-current", "true");
    rowPieces.get(sibling).then((row) => { link.textContent = `${rowWords(row) || session.ids[sibling]} (${extentOf(sibling)})`; });
    item.append(link);
    items.append(item);
  }
}
