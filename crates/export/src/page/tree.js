// The tree on the left: pi's layout of the entries that pass the filter and the search, of which only the part in
// view is drawn.

const ROW = matchMedia("(pointer: coarse)").matches ? 40 : 24;
const LEVELS = 9;
const FILTERS = ["default", "no-tools", "user-only", "labeled-only"];

const tree = {
  filter: "default",
  /** Entries whose branch is folded; below, entries of runs of tools that are unfolded. */
  folded: new Set(),
  unfolded: new Set(),
  cursor: -1,
  rows: [],
  place: new Map(),
};

/** Whether the filter shows an entry. */
function passes(n) {
  if (tree.filter === "all") return true;
  const bits = bitsOf(n);
  if (bits & SILENT && n !== session.leaf) return false;
  return (bits >> FILTERS.indexOf(tree.filter) & 1) === 1;
}

/** Computes the layout of the tree. */
function layOut() {
  const isActive = (n) => onPath(n);
  const { count, parent } = session, searching = search.words.length > 0;
  const visible = new Uint8Array(count);
  for (let n = 0; n < count; n++) visible[n] = passes(n) && (!searching || search.hits[n]) ? 1 : 0;
  const order = walk(isActive);
  const above = new Int32Array(count).fill(-1), kids = new Int32Array(count), hidden = new Uint8Array(count);
  const shown = [];
  let roots = 0;
  for (const n of order) {
    const up = parent[n];
    if (up >= 0) {
      above[n] = visible[up] ? up : above[up];
      hidden[n] = hidden[up] || (!searching && tree.folded.has(up) ? 1 : 0);
    }
    if (!visible[n]) continue;
    if (above[n] >= 0) kids[above[n]]++;
    if (hidden[n]) continue;
    shown.push(n);
    if (above[n] < 0) roots++;
  }
  tree.total = shown.length;
  const many = roots > 1, indent = new Int32Array(count), branched = new Uint8Array(count);
  const left = kids.slice();
  let rootsLeft = roots, bars = 0;
  tree.rows = shown.map((n) => {
    const up = above[n];
    if (up < 0) {
      rootsLeft--;
      indent[n] = many ? 1 : 0;
      branched[n] = many ? 1 : 0;
      bars = 0;
      return { n, depth: 0, connector: false, last: rootsLeft === 0, at: roots - rootsLeft, of: roots, kids: kids[n], bars: 0 };
    }
    const connector = kids[up] > 1;
    indent[n] = indent[up] + (connector || (branched[up] && indent[up] > 0) ? 1 : 0);
    branched[n] = connector ? 1 : 0;
    left[up]--;
    const depth = Math.max(0, indent[n] - (many ? 1 : 0)), last = left[up] === 0;
    // Bars deeper than the row have ended; a sibling that follows continues the bar.
    const levels = depth - (connector ? 1 : 0);
    bars &= levels >= 31 ? -1 : (1 << levels) - 1;
    const row = { n, depth, connector, last, at: kids[up] - left[up], of: kids[up], kids: kids[n], bars };
    if (connector && !last && depth <= 31) bars |= 1 << (depth - 1);
    return row;
  });
  if (!searching) foldRuns();
  tree.place = new Map(tree.rows.flatMap((row, at) => (row.run ?? [row.n]).map((n) => [n, at])));
  $("rows").style.height = `${tree.rows.length * ROW}px`;
  drawRows(true);
  if (!searching) showCount(true);
}

/** Combines each run of tools into one row, with the number of its last entry. */
function foldRuns() {
  const isTool = ({ n }) => session.kind[n] === "t" && !session.label.has(n) && !text.edited?.has(n) && n !== session.leaf;
  const rows = [];
  for (let at = 0; at < tree.rows.length; ) {
    let end = at + 1;
    const follows = (row) => isTool(row) && !row.connector && tree.rows[end - 1].kids === 1 && onPath(row.n) === onPath(tree.rows[at].n);
    if (isTool(tree.rows[at])) while (end < tree.rows.length && follows(tree.rows[end])) end++;
    const run = tree.rows.slice(at, end), last = run.at(-1);
    const fold = run.length > 2 && !run.some((row) => tree.unfolded.has(row.n));
    if (fold) rows.push({ ...run[0], n: last.n, kids: last.kids, run: run.map((row) => row.n) });
    else rows.push(...run);
    at = end;
  }
  tree.rows = rows;
}

function bars(row) {
  const depth = Math.min(row.depth, LEVELS);
  let drawn = "";
  for (let level = 0; level < depth - (row.connector ? 1 : 0); level++) drawn += row.bars >> level & 1 ? "│ " : "  ";
  if (row.depth > LEVELS) return `${drawn}⋯${row.connector ? (row.last ? "└ " : "├ ") : " "}`;
  return row.connector ? drawn + (row.last ? "└ " : "├ ") : drawn;
}

/** Whether a row can be folded: by pi's rule, or as a run of tools. */
function folds(row) {
  return row.run || (row.kids > 0 && (row.of > 1 || row.depth === 0 && session.parent[row.n] < 0 && session.roots.length > 1)) || tree.folded.has(row.n);
}

let drawnRows = [-1, -1];
const awaited = new Set();

/** Draws the rows in view. Rows whose text is not loaded yet are drawn again when it is. */
function drawRows(anew = false) {
  const view = $("tree"), first = Math.max(0, Math.floor(view.scrollTop / ROW) - 6);
  const last = Math.min(tree.rows.length, first + Math.ceil(view.clientHeight / ROW) + 12);
  if (!anew && first === drawnRows[0] && last === drawnRows[1]) return;
  drawnRows = [first, last];
  const rows = [], missing = new Set();
  for (let at = first; at < last; at++) rows.push(rowElement(at, missing));
  const cursor = tree.place.get(tree.cursor);
  // The row with the cursor stays in the document.
  if (cursor !== undefined && (cursor < first || cursor >= last)) rows.push(rowElement(cursor, missing));
  $("rows").replaceChildren(...rows);
  if (cursor === undefined) view.removeAttribute("aria-activedescendant");
  else view.setAttribute("aria-activedescendant", `row-${cursor}`);
  for (const n of missing) {
    const piece = rowPieces.find(n);
    if (awaited.has(piece)) continue;
    awaited.add(piece);
    rowPieces.get(n).then(() => {
      awaited.delete(piece);
      requestAnimationFrame(() => drawRows(true));
    });
  }
}

function rowElement(at, missing) {
  const row = tree.rows[at], { n } = row, kind = session.kind[n];
  const element = make("div", `row ${kind}${row.run ? " run" : ""}`);
  element.id = `row-${at}`;
  element.style.top = `${at * ROW}px`;
  element.dataset.n = n;
  element.dataset.id = session.ids[n];
  element.setAttribute("role", "treeitem");
  element.setAttribute("aria-level", row.depth + 1);
  element.setAttribute("aria-posinset", row.at);
  element.setAttribute("aria-setsize", row.of);
  element.setAttribute("aria-selected", at === nearestRow(text.chosen));
  if (onPath(n)) element.classList.add("active");
  if (at === tree.place.get(tree.cursor)) element.classList.add("chosen");
  const lead = bars(row);
  if (lead) element.append(silent(make("span", "bars", lead)));
  if (folds(row)) {
    const closed = row.run || tree.folded.has(n);
    element.setAttribute("aria-expanded", !closed);
    element.append(silent(make("span", "twist", closed ? "▸" : "▾")));
  }
  for (const [className, said] of rowText(row, missing)) {
    const part = make("span", className);
    part.dir = "auto";
    marks(part, said);
    element.append(part);
  }
  return element;
}

/** Hides an element from screen readers. */
function silent(element) {
  element.setAttribute("aria-hidden", "true");
  return element;
}

/** Returns the parts of a row: label, role, how it ended, and text. */
function rowText(row, missing) {
  const { n } = row, parts = [];
  const label = session.label.get(n);
  if (label) parts.push(["label", label]);
  if (row.run) parts.push(...runText(row.run, missing));
  else {
    const [who, ...says] = rowOf(n, missing);
    parts.push(["who", who]);
    const ending = endingOf(n), edit = text.edited?.get(n);
    if (ending) parts.push(["mark bad", ending]);
    if (edit) parts.push(["mark", edit[1] ? "omitted" : "edited"]);
    const near = nearMatch(n, says.join(""));
    if (near) parts.push(["says", near]);
    else if (says.length > 1) says.forEach((said, at) => { if (said) parts.push([["says", "folder", "file"][at], said]); });
    else parts.push(["says", says[0] ?? ""]);
  }
  if (row.connector) parts.push(["extent", extentOf(n)]);
  return parts;
}

/** Returns a row as stored (see index.rs): its role, and its text in one part or three. */
function rowOf(n, missing) {
  const row = rowPieces.peek(n);
  if (row === undefined) missing.add(n);
  return row === undefined ? ["…"] : row.split("\t");
}

function runText(run, missing) {
  const names = new Map();
  for (const n of run) {
    const [name] = rowOf(n, missing);
    names.set(name, (names.get(name) ?? 0) + 1);
  }
  const counts = [...names].map(([name, count]) => `${count} ${name}`);
  const failed = run.filter((n) => endingOf(n)).length;
  const parts = [["who", counted(run.length, "tool")], ["says", counts.join(", ")]];
  if (failed) parts.push(["mark bad", `${failed} failed`]);
  return parts;
}

const counted = (count, one) => `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;

/** Returns the number of entries in a branch, and the age of the newest. */
function extentOf(n) {
  const last = session.last[n], size = counted(session.size[n], "message");
  return last === -Infinity ? size : `${size}, ${ageOf(last)}`;
}

const UNITS = [["y", 31557600], ["mo", 2629800], ["w", 604800], ["d", 86400], ["h", 3600], ["min", 60]];

/** Returns how long ago a time was as `format::age` does. */
function ageOf(time) {
  const seconds = Math.floor((Date.now() - time) / 1000), unit = UNITS.find(([, length]) => seconds >= length);
  return unit ? `${Math.floor(seconds / unit[1])}${unit[0]}` : "now";
}

/** Appends text, marking the words that are searched for. */
function marks(element, said) {
  const found = search.pattern ? [...said.matchAll(search.pattern)] : [];
  let at = 0;
  for (const match of found) {
    element.append(said.slice(at, match.index), make("mark", "", match[0]));
    at = match.index + match[0].length;
  }
  element.append(said.slice(at));
}

/** Lets the highlight return to the entry that is read. */
function leaveTree() {
  tree.cursor = text.chosen;
  drawRows(true);
}

function moveCursor(at) {
  const row = tree.rows[Math.max(0, Math.min(tree.rows.length - 1, at))];
  if (!row) return;
  tree.cursor = row.n;
  showRow(tree.place.get(row.n));
  drawRows(true);
}

/** Scrolls a row into view. */
function showRow(at) {
  const view = $("tree"), top = at * ROW;
  if (top < view.scrollTop + ROW) view.scrollTop = top - ROW;
  else if (top + 2 * ROW > view.scrollTop + view.clientHeight) view.scrollTop = top + 2 * ROW - view.clientHeight;
}

/** The row of an entry, of another of its run, or of its nearest ancestor that is shown. */
function nearestRow(n) {
  if (!tree.place.has(n)) n = text.runOf.get(n)?.entries.find((other) => tree.place.has(other)) ?? n;
  for (; n >= 0; n = session.parent[n]) if (tree.place.has(n)) return tree.place.get(n);
  return -1;
}

function toggleRow(row) {
  if (row.run) row.run.forEach((n) => tree.unfolded.add(n));
  else if (tree.folded.has(row.n)) tree.folded.delete(row.n);
  else tree.folded.add(row.n);
  layOut();
}

function treeKey(event) {
  const at = tree.place.get(tree.cursor) ?? Math.max(0, nearestRow(tree.cursor)), row = tree.rows[at];
  const page = Math.max(1, Math.floor($("tree").clientHeight / ROW) - 1);
  const closed = row && (row.run || tree.folded.has(row.n));
  switch (event.key) {
    case "ArrowDown": moveCursor(at + 1); break;
    case "ArrowUp": moveCursor(at - 1); break;
    case "PageDown": moveCursor(at + page); break;
    case "PageUp": moveCursor(at - page); break;
    case "Home": moveCursor(0); break;
    case "End": moveCursor(tree.rows.length - 1); break;
    case "ArrowRight":
      if (closed) toggleRow(row);
      else moveCursor(at + 1);
      break;
    case "ArrowLeft":
      if (row && folds(row) && !closed) toggleRow(row);
      else if (row && session.parent[row.n] >= 0) moveCursor(nearestRow(session.parent[row.n]));
      break;
    case "Enter":
    case " ":
      if (row) choose(row.n, { focus: event.key === "Enter" });
      break;
    default: return false;
  }
  return true;
}

function treeClick(event) {
  const element = event.target.closest?.(".row");
  if (!element) return;
  const row = tree.rows[tree.place.get(+element.dataset.n)];
  tree.cursor = row.n;
  if (event.target.closest(".twist") || row.run) return toggleRow(row);
  openDrawer(false);
  choose(row.n, {});
}
