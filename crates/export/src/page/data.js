// The data of the file: pieces of gzip as base64, inflated when they are needed.

const $ = (id) => document.getElementById(id);

/** Returns an element with a class and text. */
function make(name, className = "", text = "") {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text) element.textContent = text;
  return element;
}

/** Returns the content of a piece. */
function inflated(element) {
  const base64 = element.textContent;
  const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(base64) : Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
}

/** Returns the text of a piece. */
const inflate = (element) => inflated(element).text();

const pause = (ms = 0) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * The pieces of one kind. Each contains the items from a number on. The most recently used ones are kept inflated.
 */
class Pieces {
  /** `separator`: between the items. `most`: how many pieces to keep. `isComplete`: whether all are there at once. */
  constructor(className, separator, most, isComplete) {
    this.isComplete = isComplete;
    this.elements = document.getElementsByClassName(className);
    this.separator = separator;
    this.most = most;
    this.kept = new Map();
    this.loading = new Map();
  }

  /** Returns the number of the first item of a piece. */
  start(at) {
    return +this.elements[at].dataset.n;
  }

  /** Returns the index of the piece with item n; -1 until it has been loaded. */
  find(n) {
    let low = 0, high = this.elements.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.start(middle) <= n) low = middle + 1;
      else high = middle;
    }
    // While the file is still being loaded, the last piece may be incomplete.
    if (!this.isComplete && document.readyState === "loading" && low === this.elements.length) return -1;
    return low - 1;
  }

  /** Returns item n if its piece is inflated. */
  peek(n) {
    const at = this.find(n), items = this.kept.get(at);
    if (!items) return undefined;
    this.kept.delete(at);
    this.kept.set(at, items);
    return items[n - this.start(at)] ?? "";
  }

  /** Returns item n once its piece is loaded. */
  async get(n) {
    let at;
    while ((at = this.find(n)) < 0) await pause(20);
    await this.load(at);
    return this.peek(n);
  }

  /** Inflates the first piece if it is loaded. */
  async first() {
    if (this.elements.length) await this.load(0);
  }

  /** Returns all items of a piece. */
  load(at) {
    if (this.kept.has(at)) return Promise.resolve(this.kept.get(at));
    if (!this.loading.has(at)) {
      this.loading.set(at, inflate(this.elements[at]).then((text) => {
        const items = text.split(this.separator);
        this.kept.set(at, items);
        this.loading.delete(at);
        for (const old of this.kept.keys()) {
          if (this.kept.size <= this.most) break;
          this.kept.delete(old);
        }
        return items;
      }));
    }
    return this.loading.get(at);
  }
}

/** Divides an item of entries into its markup and, if it has any, the Markdown of its texts. */
const splitItem = (item) => item.split("\x1d");

/** The tree, and the data about each entry by its number. */
const session = {};
const rowPieces = new Pieces("rows", "\n", 12, true);
const entryPieces = new Pieces("entries", "\x1e", 6, false);

const KINDS = {
  u: "User", a: "Assistant", t: "Tool", b: "Command", s: "Instructions", f: "Files", m: "Message",
  c: "Compaction", r: "Branch summary", x: "Custom", l: "Label", e: "Edit of the context", n: "Setting", o: "Entry",
};

/** The bits of an entry that follow the bits of the filters (see index.rs). */
const SILENT = 16, FAILED = 32, ABORTED = 64, NOTE = 128;
const bitsOf = (n) => session.mask.charCodeAt(n) - 48;
/** Returns how an entry ended, if it failed or was aborted. */
function endingOf(n) {
  if (bitsOf(n) & FAILED) return "failed";
  return bitsOf(n) & ABORTED ? "aborted" : "";
}

async function readIndex() {
  Object.assign(session, JSON.parse(await inflate($("index"))));
  const count = session.ids.length;
  session.count = count;
  session.parent = new Int32Array(count).fill(-1);
  session.up.forEach((up, n) => { if (up !== null) session.parent[n] = n - up; });
  let time = 0;
  session.time = session.time.map((since) => (since === null ? null : (time += since)));
  session.label = new Map(session.labels);
  session.typeName = new Map();
  for (let at = 0; at < session.nameOf.length; at += 2) session.typeName.set(session.nameOf[at], session.names[session.nameOf[at + 1]]);
  session.numberOf = new Map(session.ids.map((id, n) => [id, n]));
  linkChildren(count);
  Object.assign(session, { models: [], model: [], cost: [], usage: [], lines: [], edits: [], concealed: new Set(), estimates: new Set(), took: [], calls: [] });
  Object.assign(session, { filesOf: new Map(), changesOf: new Map(), exitOf: new Map(), commitsOf: new Map() });
}

/** Sets the children of each entry, in the order of the tree: `kids[first[n]..first[n + 1]]`. */
function linkChildren(count) {
  const { parent } = session;
  const first = new Int32Array(count + 1);
  session.roots = [];
  for (let n = 0; n < count; n++) {
    if (parent[n] < 0) session.roots.push(n);
    else first[parent[n] + 1]++;
  }
  for (let n = 0; n < count; n++) first[n + 1] += first[n];
  const kids = new Int32Array(count - session.roots.length), next = first.slice();
  for (let n = 0; n < count; n++) if (parent[n] >= 0) kids[next[parent[n]]++] = n;
  for (const [n, ordered] of session.order) kids.set(ordered, first[n]);
  Object.assign(session, { first, kids });
  session.children = (n) => (n < 0 ? session.roots : kids.subarray(first[n], first[n + 1]));
  linkLeaves(count);
}

/** Sets, for each entry, the newest leaf below it, the number of entries, and the time of the last one. */
function linkLeaves(count) {
  const { parent, first, time } = session;
  const newest = new Int32Array(count), size = new Int32Array(count), last = new Float64Array(count);
  for (let n = 0; n < count; n++) {
    newest[n] = first[n + 1] > first[n] ? -1 : n;
    size[n] = bitsOf(n) & NOTE ? 0 : 1;
    last[n] = bitsOf(n) & NOTE ? -Infinity : time[n] ?? -Infinity;
  }
  const order = parentsFirst();
  for (let at = order.length - 1; at >= 0; at--) {
    const n = order[at], up = parent[n];
    if (up < 0) continue;
    newest[up] = Math.max(newest[up], newest[n]);
    size[up] += size[n];
    last[up] = Math.max(last[up], last[n]);
  }
  // Notes that lead to the leaf are a branch of their own if the conversation continues beside them. Then their time counts.
  let above = session.leaf;
  while (above >= 0 && size[above] === 0) above = parent[above];
  const continuesBeside = above < 0 || size[above] > (bitsOf(above) & NOTE ? 0 : 1);
  if (above !== session.leaf && continuesBeside) {
    for (let n = session.leaf; n >= 0; n = parent[n]) last[n] = Math.max(last[n], time[session.leaf] ?? -Infinity);
  }
  Object.assign(session, { newest, size, last });
}

/** Returns all entries, parents before children. */
function parentsFirst() {
  const order = new Int32Array(session.count), stack = [...session.roots].reverse();
  let count = 0;
  while (stack.length) {
    const n = stack.pop(), children = session.children(n);
    order[count++] = n;
    for (let at = children.length - 1; at >= 0; at--) stack.push(children[at]);
  }
  return order.subarray(0, count);
}

/** Returns the path from the root to n. */
function pathTo(n) {
  const path = [];
  for (; n >= 0; n = session.parent[n]) path.push(n);
  return path.reverse();
}

/** Resolves when the whole file has been loaded. */
const wholeFile = new Promise((resolve) => {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", resolve);
  else resolve();
});

/** Returns the data that follows the entries in the file. */
async function readFacts() {
  await wholeFile;
  const facts = JSON.parse(await inflate($("late")));
  return { ...facts, ...workFacts(facts), concealed: new Set(facts.hidden), estimates: new Set(facts.estimated) };
}
