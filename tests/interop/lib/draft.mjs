// Files of the draft tree, the design before the current tree: parents are record numbers, and the last record is the
// leaf, often a `head`. No agent ever wrote such files, so their meaning is derived here from the design.

import { write } from "./json.mjs";
import { text, words } from "./words.mjs";

export function draftSession(random) {
  const records = [{ type: "session", id: `draft-${random.hex(6)}`, parent: -1, timestamp: "2026-01-31T10:00:00.000Z", cwd: "/tmp" }];
  const contents = () => records.flatMap(({ type }, at) => (["session", "head"].includes(type) ? [] : [at]));
  let at = 0;
  const add = (record) => {
    const timestamp = new Date(Date.parse("2026-01-31T10:00:00.000Z") + records.length * 1000).toISOString();
    at = records.push({ type: record.type, parent: at, timestamp, ...record }) - 1;
  };
  const message = (role) => () =>
    add({ type: "message", message: { role, content: role === "user" ? text(random) : [{ type: "text", text: text(random) }], ...(role === "assistant" && { provider: "p", model: "m", stopReason: "stop" }), timestamp: 1 } });
  const steps = [
    [5, message("user")],
    [5, message("assistant")],
    [2, () => (at = random.pick(contents()) ?? at)],
    [1, () => add({ type: random.pick(["stack_summary", "branch_summary"]), parent: random.pick(contents()) ?? at, summary: words(random) })],
    [1, () => add({ type: "stack_pop", backToIndex: random.pick(contents()) ?? at, summary: words(random) })],
    [1, () => add({ type: "compaction", parent: 0, summary: words(random), summarizedPath: contents(), tokensBefore: 9 })],
    [1, () => records.push({ type: "head", parent: at, timestamp: "2026-01-31T11:00:00.000Z", name: random.pick(["main", "try", undefined]) })],
  ];
  message("user")();
  for (let i = random.between(1, 20); i > 0; i--) random.weighted(steps)();
  if (random.chance(0.6)) records.push({ type: "head", parent: at, timestamp: "2026-01-31T11:00:00.000Z", name: "main" });
  return records.map((record) => write(record, random));
}

/**
 * Returns `[role, content]` of each message that a model would see: from the last record up to the header, or to the
 * last compaction.
 */
export function meaning(lines) {
  const records = lines.map((line) => JSON.parse(line));
  const messages = [];
  let at = records.length - 1;
  while (at >= 0) {
    const { type, parent, backToIndex, message, summary } = records[at];
    if (type === "message") messages.unshift([message.role, message.content]);
    if (["stack_summary", "branch_summary", "stack_pop"].includes(type)) messages.unshift(["branchSummary", summary]);
    if (type === "compaction") return [["compactionSummary", summary], ...messages];
    at = type === "stack_pop" ? backToIndex : parent;
  }
  return messages;
}
