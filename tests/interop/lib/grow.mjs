// A session that grows entry by entry, as with an agent, but in unusual ways, too: it moves to other branches,
// starts again at the root, loses parents, and its clock stops or runs backwards.

import { plain, write } from "./json.mjs";

const START = Date.parse("2026-01-31T10:00:00.000Z");

export class Growing {
  constructor(random) {
    this.random = random;
    this.entries = [];
    this.leaf = null;
    this.clock = START;
    this.odd = random.chance(0.3);
  }

  id() {
    const { random, odd } = this;
    const fresh = () =>
      odd
        ? random.weighted([
            [4, () => random.hex(8)],
            [2, () => `${random.hex(8)}-${random.hex(4)}-4${random.hex(3)}-8${random.hex(3)}-${random.hex(12)}`],
            [2, () => `-${random.hex(6)}_Z`],
            [1, () => `${random.below(100)}`],
            [1, () => random.pick(["root", "@", ":12", "a^", "b~2", "x^{user}", "id:y", "label:z", "é語", "sp ace", "HEAD"]) + random.below(9)],
          ])()
        : random.hex(8);
    for (;;) {
      const id = fresh();
      if (!this.entries.some((entry) => entry.id === id)) return id;
    }
  }

  timestamp() {
    const { random } = this;
    this.clock += random.weighted([[8, 1000], [1, 0], [1, -5000], [1, 86400000]]);
    const iso = new Date(this.clock).toISOString();
    if (!this.odd) return iso;
    return random.weighted([
      [12, iso],
      [1, iso.replace(".000Z", "Z")],
      [1, iso.replace("Z", "+02:00")],
      [1, iso.slice(0, 10)],
      [1, "not a time"],
    ]);
  }

  /** Returns the parent of the next entry. */
  parent() {
    const { random } = this;
    const at = random.weighted([
      [80, () => this.leaf],
      [8, () => random.pick(this.entries)?.id ?? null],
      [this.odd ? 2 : 0, () => null],
      [this.odd ? 1 : 0, () => `gone-${random.hex(4)}`],
      [this.odd ? 0.5 : 0, () => ""],
    ])();
    return at;
  }

  /**
   * Appends an entry and makes it the leaf. With `last`, id, parent and time follow the other members, as in
   * custom entries.
   */
  add(type, fields, { last = false, parentId = this.parent(), timestamp = this.timestamp() } = {}) {
    const base = { id: this.id(), parentId, timestamp };
    const entry = last ? { type, ...fields, ...base } : { type, ...base, ...fields };
    if (this.odd && this.random.chance(0.03)) entry.fromTheFuture = { kept: true };
    this.entries.push(entry);
    this.leaf = entry.id;
    return entry;
  }

  /** Returns an id to refer to: usually one on the path, sometimes another or one that does not exist. */
  target(accept = () => true) {
    const { random } = this;
    const path = this.path().filter(accept);
    const all = this.entries.filter(accept);
    return random.weighted([
      [8, () => random.pick(path)?.id],
      [2, () => random.pick(all)?.id],
      [0.7, () => `none-${random.hex(4)}`],
    ])();
  }

  path() {
    const byId = new Map(this.entries.map((entry) => [entry.id, entry]));
    const path = [];
    for (let at = byId.get(this.leaf); at; at = at.parentId ? byId.get(at.parentId) : undefined) path.unshift(at);
    return path;
  }

  /** Returns the calls on the path that have no result there yet. */
  pendingCalls() {
    const path = this.path().map((entry) => entry.message).filter(Boolean);
    const answered = new Set(path.map((message) => message.toolCallId));
    return path
      .flatMap((message) => (message.role === "assistant" && Array.isArray(message.content) ? message.content : []))
      .filter((block) => block.type === "toolCall" && !answered.has(block.id));
  }

  lines() {
    this.calmTies();
    return this.entries.map((entry) => write(entry, this.random));
  }

  /** Makes times valid where there are three or more siblings: otherwise their order is not defined. */
  calmTies() {
    const siblings = Map.groupBy(this.entries, (entry) => entry.parentId);
    for (const group of siblings.values()) {
      if (group.length < 3) continue;
      for (const entry of group) if (Number.isNaN(Date.parse(entry.timestamp))) entry.timestamp = new Date(START).toISOString();
    }
  }
}

export const valueOf = (line) => plain(JSON.parse(line));
