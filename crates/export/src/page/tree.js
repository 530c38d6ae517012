// The tree on the left: the entries that pass the filter and the search, of which only the part in view is drawn.
//
// The path to the leaf is not indented. Where the conversation branches, what was left there comes first, one level
// in; a long branch is folded into one row. The layout is that of `tree` (see session/tree.rs). It does not depend on
// the entry that is read, so that no row moves when another is chosen.

const ROW = matchMedia("(pointer: coarse)").matches ? 40 : 24;
const LEVELS = 9;
/** The maximum number of rows of a branch that was left and is not folded. */
const LONGEST_OPEN_BRANCH = 3;
const FILTERS = ["default", "no-tools", "user-only", "labeled-only"];
const USER_REQUEST = 1 << FILTERS.indexOf("user-only");

const tree = {
  filter: "default",
  /** The first entries of the branches that the reader has folded, and of the branches that were opened. */
  folded: new Set(),
  opened: new Set(),
  /** Entries of runs of tools that are unfolded. */
  unfolded: new Set(),
  cursor: -1,
  rows: [],
  place: new Map(),
  /** Whether each entry is on the path to the leaf. */
  trunk: null,
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
  const { count } = session, searching = search.words.length > 0;
  tree.trunk ??= trunkOf(count);
  const visible = new Uint8Array(count);
  for (let n = 0; n < count; n++) visible[n] = passes(n) && (!searching || search.hits[n]) ? 1 : 0;
  tree.rows = placeRows(visible);
  tree.total = tree.rows.length;
  if (!searching) {
    foldRuns();
    foldBranches();
  }
  drawBars();
  tree.place = new Map(tree.rows.flatMap((row, at) => (row.run ?? [row.n]).map((n) => [n, at])));
  $("rows").style.height = `${tree.rows.length * ROW}px`;
  drawRows(true);
  if (!searching) showCount(true);
}

function trunkOf(count) {
  const trunk = new Uint8Array(count);
  for (let n = session.leaf; n >= 0; n = session.parent[n]) trunk[n] = 1;
  return trunk;
}

/**
 * Returns the ways in which the conversation continues after an entry (-1: at its beginning), oldest first. Notes count
 * only if they lead to the leaf.
 */
const branchesAt = (n) => [...session.children(n)].filter((child) => session.size[child] > 0 || tree.trunk[child]);

/** Returns the number of a branch among its siblings, and whether the session continues on it. */
function branchName(n, siblings) {
  const name = `Branch ${siblings.indexOf(n) + 1} of ${siblings.length}`;
  return tree.trunk[n] ? `${name}, continued` : name;
}

/** Returns the rows of the visible entries in the order of the tree. */
function placeRows(visible) {
  const { shown, above } = collectVisible(visible), next = continuations(shown, above);
  // Items have the number of their entry plus one; item 0 is for the entries without a visible ancestor.
  const numbers = () => new Int32Array(visible.length + 1);
  const size = numbers().fill(1), kids = numbers();
  for (let at = shown.length - 1; at >= 0; at--) {
    const n = shown[at], up = above[n] + 1;
    size[up] += size[n + 1];
    kids[up]++;
  }
  // The rows of a subtree follow each other: those of an entry begin at `start`, and the first one not yet used is `free`.
  // What continues an entry is at the end of its subtree.
  const start = numbers().fill(-1), free = numbers(), level = numbers(), seen = numbers();
  const rows = new Array(shown.length);
  for (const n of shown) {
    const up = above[n] + 1, end = start[up] + size[up], continues = next[up] === n;
    const at = continues ? end - size[n + 1] : free[up];
    if (!continues) free[up] += size[n + 1];
    level[n + 1] = level[up] + (continues ? 0 : 1);
    start[n + 1] = at;
    free[n + 1] = at + 1;
    seen[up]++;
    rows[at] = {
      n, level: level[n + 1], connector: !continues, last: continues || free[up] === end,
      at: seen[up], of: kids[up], kids: kids[n + 1], trunk: tree.trunk[n] === 1, bars: 0,
    };
  }
  return rows;
}

/** Returns the visible entries, parents first and siblings oldest first, and the nearest visible ancestor of each entry. */
function collectVisible(visible) {
  const above = new Int32Array(visible.length).fill(-1), shown = [];
  for (const n of parentsFirst()) {
    const up = session.parent[n];
    if (up >= 0) above[n] = visible[up] ? up : above[up];
    if (visible[n]) shown.push(n);
  }
  return { shown, above };
}

/**
 * Returns, for each entry, the child that continues it at its own level; -1 if none does. Items have the index of the
 * entry plus one; item 0 is for the roots. The trunk continues the trunk. Any other entry is continued by the child
 * with the newest entry below it, which is where the branch was left.
 */
function continuations(shown, above) {
  const { trunk } = tree, hasTrunk = shown.some((n) => trunk[n]);
  const next = new Int32Array(above.length + 1).fill(-1), newest = new Int32Array(above.length + 1).fill(-1);
  for (let at = shown.length - 1; at >= 0; at--) {
    const n = shown[at], up = above[n] + 1, ofTrunk = up ? trunk[up - 1] : hasTrunk;
    newest[n + 1] = Math.max(newest[n + 1], n);
    if (ofTrunk ? trunk[n] : newest[n + 1] > newest[up]) next[up] = n;
    newest[up] = Math.max(newest[up], newest[n + 1]);
  }
  return next;
}

/** Combines each run of tools into one row. */
function foldRuns() {
  const edited = new Set(session.edits.map(([, target]) => target));
  const isTool = ({ n }) => session.kind[n] === "t" && !session.label.has(n) && !edited.has(n) && n !== session.leaf;
  const runs = [];
  for (const row of tree.rows) {
    const before = runs.at(-1)?.at(-1);
    const isOneBranch = before?.kids === 1 && !row.connector && row.trunk === before.trunk;
    if (isOneBranch && isTool(before) && isTool(row)) runs.at(-1).push(row);
    else runs.push([row]);
  }
  tree.rows = runs.flatMap(foldRun);
}

/** Returns the rows of a run: a single one, with the number of the last entry, unless it is short or was opened. */
function foldRun(run) {
  if (run.length <= 2 || run.some(({ n }) => tree.unfolded.has(n))) return run;
  const { n, kids } = run.at(-1);
  return [{ ...run[0], n, kids, run: run.map((row) => row.n) }];
}

/** Combines into one row each branch that the reader has folded, and each long one that was not opened. */
function foldBranches() {
  const rows = [];
  for (let at = 0; at < tree.rows.length; ) {
    const row = tree.rows[at], first = row.run?.[0] ?? row.n, isFolded = tree.folded.has(first);
    const mayFold = row.connector && (isFolded || row.level === 1 && !tree.opened.has(first));
    let end = at + 1;
    while (mayFold && end < tree.rows.length && isBelow(tree.rows[end], row)) end++;
    const isLong = end - at > (isFolded ? 1 : LONGEST_OPEN_BRANCH);
    if (mayFold && (isLong || isFolded && row.run)) {
      const branch = tree.rows.slice(at, end).flatMap(({ n, run }) => run ?? [n]);
      rows.push({ ...row, n: first, run: null, branch });
      at = end;
    } else {
      rows.push(row);
      at++;
    }
  }
  tree.rows = rows;
}

/** Whether a row belongs to the branch that begins with another row before it. */
const isBelow = (row, first) => row.level > first.level || row.level === first.level && !row.connector;

/** Sets which levels of each row have a bar, as bits. */
function drawBars() {
  let bars = 0;
  for (const row of tree.rows) {
    // Bars deeper than the row have ended; a sibling that follows continues the bar.
    const levels = row.level - (row.connector ? 1 : 0);
    bars &= levels >= 31 ? -1 : (1 << levels) - 1;
    row.bars = bars;
    if (row.connector && !row.last && row.level <= 31) bars |= 1 << (row.level - 1);
  }
}

function barsText(row) {
  const levels = Math.min(row.level, LEVELS);
  let drawn = "";
  for (let level = 0; level < levels - (row.connector ? 1 : 0); level++) drawn += row.bars >> level & 1 ? "│ " : "  ";
  if (row.level > LEVELS) return `${drawn}⋯${row.connector ? (row.last ? "└ " : "├ ") : " "}`;
  return row.connector ? drawn + (row.last ? "└ " : "├ ") : drawn;
}

/** Whether a row can be folded or opened. */
const canFold = (row) => isClosed(row) || row.connector && row.kids > 0;

/** Whether a row stands for several. */
const isClosed = (row) => Boolean(row?.run || row?.branch);

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
  const element = make("div", row.branch ? "row branch" : `row ${kind}${row.run ? " run" : ""}`);
  element.id = `row-${at}`;
  element.style.top = `${at * ROW}px`;
  element.dataset.n = n;
  element.dataset.id = session.ids[n];
  element.setAttribute("role", "treeitem");
  element.setAttribute("aria-level", row.level + 1);
  element.setAttribute("aria-posinset", row.at);
  element.setAttribute("aria-setsize", row.of);
  element.setAttribute("aria-selected", at === nearestRow(text.chosen));
  if (onPath(n)) element.classList.add("active");
  if (at === tree.place.get(tree.cursor)) element.classList.add("chosen");
  const lead = barsText(row);
  if (lead) element.append(hideFromReaders(make("span", "bars", lead)));
  if (canFold(row)) {
    element.setAttribute("aria-expanded", !isClosed(row));
    element.append(hideFromReaders(make("span", "twist", isClosed(row) ? "▸" : "▾")));
  }
  for (const [className, said] of rowParts(row, missing)) {
    if (!said) continue;
    const part = make("span", className);
    part.dir = "auto";
    appendMarked(part, said);
    element.append(part);
  }
  return element;
}

/** Hides an element from screen readers. */
function hideFromReaders(element) {
  element.setAttribute("aria-hidden", "true");
  return element;
}

/** Returns the parts of a row: label, role, how it ended, and text. */
function rowParts(row, missing) {
  if (row.branch) return branchParts(row, missing);
  const { n } = row, parts = [];
  const label = session.label.get(n);
  if (label) parts.push(["label", label]);
  if (row.run) parts.push(...runParts(row.run, missing));
  else {
    const [who, ...says] = rowOf(n, missing);
    parts.push(["who", who]);
    const ending = endingOf(n), edit = text.edited?.get(n);
    if (ending) parts.push(["mark bad", ending]);
    if (edit) parts.push(["mark", edit[1] ? "omitted" : "edited"]);
    const near = nearMatch(n, says.join(""));
    if (near) parts.push(["says", near]);
    else says.forEach((said, at) => parts.push([["says", "folder", "file"][at], said]));
  }
  if (row.connector) parts.push(["extent", extentOf(n)]);
  return parts;
}

/** Returns the parts of a row that stands for a branch: its size, last label, first request, and the age of its end. */
function branchParts({ n, branch }, missing) {
  const labelled = branch.findLast((n) => session.label.has(n)), last = session.last[n];
  const described = branch.find((n) => bitsOf(n) & USER_REQUEST) ?? n, [who, ...says] = rowOf(described, missing);
  const parts = [["who", countText(session.size[n], "message")]];
  if (labelled !== undefined) parts.push(["label", session.label.get(labelled)]);
  const said = says.join("");
  parts.push(["says", session.kind[described] === "u" ? said : [who, said].filter(Boolean).join(": ")]);
  if (last !== -Infinity) parts.push(["extent", ageOf(last)]);
  return parts;
}

/** Returns a row as stored (see index.rs): its role, and its text in one part or three. */
function rowOf(n, missing) {
  const row = rowPieces.peek(n);
  if (row === undefined) missing.add(n);
  return row === undefined ? ["…"] : row.split("\t");
}

function runParts(run, missing) {
  const names = new Map();
  for (const n of run) {
    const [name] = rowOf(n, missing);
    names.set(name, (names.get(name) ?? 0) + 1);
  }
  const counts = [...names].map(([name, count]) => `${count} ${name}`);
  const failed = run.filter((n) => endingOf(n)).length;
  const parts = [["who", countText(run.length, "tool")], ["says", counts.join(", ")]];
  if (failed) parts.push(["mark bad", `${failed} failed`]);
  return parts;
}

/** Returns a number with its digits in groups of three. */
const grouped = (count) => count.toLocaleString("en");

/** Returns a number and a noun, which is given in the singular. */
const countText = (count, one) => `${grouped(count)} ${one}${count === 1 ? "" : "s"}`;

/** Returns the number of entries in a branch, and the age of the newest. */
function extentOf(n) {
  const last = session.last[n], size = countText(session.size[n], "message");
  return last === -Infinity ? size : `${size}, ${ageOf(last)}`;
}

const UNITS = [["y", 31557600], ["mo", 2629800], ["w", 604800], ["d", 86400], ["h", 3600], ["min", 60]];

/** Returns how long ago a time was as `format::age` does. */
function ageOf(time) {
  const seconds = Math.floor((Date.now() - time) / 1000), unit = UNITS.find(([, length]) => seconds >= length);
  return unit ? `${Math.floor(seconds / unit[1])}${unit[0]}` : "now";
}

/** Appends a text to an element, with marks at the words that are searched for. */
function appendMarked(element, said) {
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

/** Opens or folds a row: a run of tools, a folded branch, or the rows below an entry. */
function toggleRow(row) {
  if (row.run) row.run.forEach((n) => tree.unfolded.add(n));
  else if (row.branch) {
    tree.folded.delete(row.n);
    tree.opened.add(row.n);
  } else {
    tree.folded.add(row.n);
    tree.opened.delete(row.n);
  }
  layOut();
}

/** Opens the folded branches that hide the row of an entry. */
function unfoldTo(n) {
  for (let at = nearestRow(n); at >= 0 && tree.rows[at].branch; at = nearestRow(n)) toggleRow(tree.rows[at]);
}

function treeKey(event) {
  const at = tree.place.get(tree.cursor) ?? Math.max(0, nearestRow(tree.cursor)), row = tree.rows[at];
  const page = Math.max(1, Math.floor($("tree").clientHeight / ROW) - 1);
  const closed = isClosed(row);
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
      if (row && canFold(row) && !closed) toggleRow(row);
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
  if (event.target.closest(".twist") || isClosed(row)) return toggleRow(row);
  openDrawer(false);
  choose(row.n, {});
}
