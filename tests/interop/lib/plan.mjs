// Which sessions belong to a seed, and which questions are asked about each.

import { draftSession } from "./draft.mjs";
import { ompSession } from "./omp.mjs";
import { olderSession, piSession } from "./pi.mjs";
import { random } from "./random.mjs";
import { talk } from "./talks.mjs";
import { words } from "./words.mjs";

const SHAPES = [
  [48, { shape: "pi", dialect: "pi", grow: piSession }],
  [30, { shape: "omp", dialect: "omp", grow: ompSession }],
  [7, { shape: "pi-v1", dialect: "pi", older: true, grow: (r) => olderSession(r, 1) }],
  [6, { shape: "pi-v2", dialect: "pi", older: true, grow: (r) => olderSession(r, 2) }],
  [3, { shape: "omp-v2", dialect: "omp", older: true, grow: (r) => ompSession(r, 2) }],
  [6, { shape: "draft", dialect: "pi", older: true, grow: draftSession }],
];

/** Returns the n-th session of a seed: `{name, shape, dialect, older, lines}`. */
export function session(seed, n) {
  const choices = random(`${seed}/${n}`);
  const { grow, ...shape } = choices.weighted(SHAPES);
  return { name: `${n}-${shape.shape}`, ...shape, lines: grow(choices) };
}

/** Returns the n-th conversation of a seed, for requests. */
export const conversation = (seed, n) => ({ name: `${n}-talk`, shape: "talk", dialect: "pi", lines: talk(random(`${seed}/talk/${n}`)) });

export const FILTERS = ["default", "no-tools", "user-only", "labeled-only", "all"];

const APIS = ["anthropic", "openai", "openai-responses", "google"];

/** The models that a request may be for, besides that of the session or of the API. */
const MODELS = {
  anthropic: [["anthropic", "claude-x"], ["anthropic", "claude-opus-5"], ["openai", "gpt-y"], ["opencode", "claude-opus-4-5"]],
  openai: [["openai", "gpt-5.2"], ["groq", "llama"]],
  "openai-responses": [["openai", "gpt-5.2"], ["xai", "grok"]],
  google: [["google", "gemini-2.5-pro"], ["google", "gemini-4-argon"]],
};

const receiver = (choices, api) => (choices.chance(0.5) ? { model: choices.pick(MODELS[api]) } : {});

const SEARCHES = ["user", "assistant", "bash", "fix the", "строка", "tool", "label", "compaction", "e", "summary parser"];

/**
 * Returns the ids of entries with a label. Only these are cleared: otherwise pisess does nothing, but the agents
 * write a line.
 */
function named(entries) {
  const labels = new Map();
  for (const { type, targetId, label } of entries) {
    if (type === "label") label ? labels.set(targetId, label) : labels.delete(targetId);
  }
  return [...labels.keys()];
}

/** Returns some entries that `append` can write from options, in the order in which pisess writes them. */
function inWords(choices, dialect) {
  const all = [
    ...(dialect === "pi" ? [{ what: "name", text: words(choices, 3) }] : []),
    { what: "model", text: `anthropic/${words(choices, 1)}` },
    { what: "thinking", text: choices.pick(["off", "low", "xhigh"]) },
    { what: "custom", type: "note", data: choices.pick([undefined, { n: 1 }, "text"]) },
    { what: "custom_message", type: "hint", text: words(choices) },
    { what: "user", text: words(choices) },
  ];
  const some = all.filter(() => choices.chance(0.5));
  return some.length > 0 ? some : all;
}

const USAGE = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 3, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };

/** Returns a turn with a tool call, without ids, parents and times. */
function bare(choices) {
  const by = { api: "anthropic-messages", provider: "anthropic", model: "claude-x", usage: USAGE };
  const message = (message) => ({ type: "message", message });
  return [
    message({ role: "user", content: words(choices) }),
    message({ role: "assistant", content: [{ type: "toolCall", id: "made_1", name: "read", arguments: {} }], ...by, stopReason: "toolUse" }),
    { type: "custom", customType: "between", data: null },
    message({ role: "toolResult", toolCallId: "made_1", toolName: "read", content: [{ type: "text", text: words(choices) }], isError: false }),
    message({ role: "assistant", content: [{ type: "text", text: words(choices) }], ...by, stopReason: "stop" }),
  ];
}

/** Returns the checks of a session with these entries (as the agent reads them). */
export function checks(seed, { name, shape, older, dialect }, entries) {
  const choices = random(`${seed}/${name}/checks`);
  const ids = entries.map((entry) => entry.id);
  const places = choices.some(ids.slice(0, -1), 3).concat(ids.slice(-1));
  const one = () => choices.pick(ids);
  if (shape === "talk") return APIS.flatMap((api) => [{}, receiver(choices, api)].map((model) => ({ kind: "body", id: one(), api, ...model })));
  const labelled = named(entries).filter((id) => ids.includes(id));
  const search = choices.chance(0.5) ? choices.pick(SEARCHES) : words(choices, 1);
  return [
    ...places.flatMap((id) => ["context", "llm", "text", "tokens", "path"].map((kind) => ({ kind, id }))),
    ...choices.some(places, 2).map((id) => ({ kind: "fork", id })),
    { kind: "labels" },
    ...FILTERS.map((filter) => ({ kind: "tree", filter })),
    { kind: "tree", filter: choices.pick(FILTERS), search },
    { kind: "tree", filter: "default", search: choices.pick(SEARCHES) },
    { kind: "tree", filter: choices.pick(FILTERS), leaf: one() },
    ...[1, 50, 500, 20000].map((keepRecentTokens) => ({ kind: "prepare", keepRecentTokens })),
    ...choices.some(ids, 3).map((id) => ({ kind: "summarize", id })),
    { kind: "label", id: one(), label: `new ${words(choices, 2)}` },
    ...labelled.slice(-1).map((id) => ({ kind: "label", id })),
    { kind: "compact", keepRecentTokens: choices.pick([1, 50, 500]), summary: words(choices) },
    ...choices.some(ids, 2).map((id) => ({ kind: "told", id, leaf: ids.at(-1), keepRecentTokens: choices.pick([1, 50, 500]) })),
    { kind: "hooked", keepRecentTokens: choices.pick([1, 50, 500]), summary: words(choices) },
    { kind: "leave", id: one(), summary: words(choices) },
    ...choices.some(places, 2).map((id) => ({ kind: "switch", id })),
    { kind: "pop", summary: words(choices) },
    ...UNDONE.map((args) => ({ kind: "undo", args })),
    { kind: "append", entries: inWords(choices, dialect) },
    ...[1, 2, 5].map((n) => ({ kind: "pick", ids: choices.some(ids, n), onto: one() })),
    ...choices.some(ids, 2).map((id) => ({ kind: "merge", id, summary: words(choices) })),
    { kind: "lines", lines: bare(choices) },
    ...(dialect === "pi" ? places.map((id) => ({ kind: "edit", id, ...(choices.chance(0.5) && { content: words(choices) }) })) : []),
    { kind: "branches" },
    ...(dialect === "pi" ? [{ kind: "stats" }] : []),
    ...choices.some(APIS, 2).map((api) => ({ kind: dialect === "pi" ? "body" : "said", id: choices.pick(places), api, ...(dialect === "pi" && receiver(choices, api)) })),
    ...choices.some(places, 2).map((id) => ({ kind: "subtree", id })),
    ...(older ? [] : [{ kind: "pruned", keepRecentTokens: choices.pick([1, 50, 500]) }]),
    { kind: "reopen", by: "fork", id: one() },
    ...(older ? [{ kind: "reopen", by: "migrate" }] : []),
    ...(older && shape !== "draft" ? [{ kind: "migrate" }] : []),
    ...(shape === "draft" ? [{ kind: "draft" }] : []),
  ];
}

/** Operations to undo, without the session. */
const UNDONE = [
  ["label", ":$", "undone label"],
  ["append", "--name", "undone name"],
  ["append", "--user", "undone question", "--thinking", "high"],
  ["switch", "root"],
  ["compact", "--first-kept", "none", "--summary", "undone summary"],
];
