// Sessions as pi writes them: version 3, and the two older ones.

import { Growing } from "./grow.mjs";
import { Raw, write } from "./json.mjs";
import { anything, content, details, imageBlock, object, summary, textBlock, toolCall, usage } from "./pieces.mjs";
import { long, text, words } from "./words.mjs";

const header = (random, version) => ({
  type: "session",
  ...(version && { version }),
  id: `01990000-0000-7000-8000-${random.hex(12)}`,
  timestamp: "2026-01-31T10:00:00.000Z",
  cwd: random.pick(["/tmp", "/tmp/interop project", "/tmp/é"]),
  ...(random.chance(0.2) && { parentSession: "/tmp/older.jsonl" }),
  ...(random.chance(0.1) && { unknownHeaderKey: { kept: [1, 2] } }),
});

const STEPS = [
  [24, turn],
  [6, userMessage],
  [3, systemMessage],
  [5, bashExecution],
  [5, compaction],
  [3, branchSummary],
  [4, contextEdit],
  [4, customMessage],
  [2, (s) => s.add("custom", { customType: text(s.random, 1), data: s.random.chance(0.8) ? object(s.random) : undefined }, { last: true })],
  [4, label],
  [2, (s) => s.add("model_change", { provider: "anthropic", modelId: words(s.random, 1) })],
  [2, (s) => s.add("thinking_level_change", { thinkingLevel: s.random.pick(["off", "low", "high", "xhigh"]) })],
  [2, (s) => s.add("session_info", { name: s.random.pick(["", words(s.random), text(s.random)]) })],
  [2, (s) => s.add("usage", { kind: "cache_warm", provider: "p", model: "m", usage: usage(s.random), note: s.random.chance(0.3) ? "n" : undefined })],
  [1, oddEntry],
];

/** Returns the lines of one session of pi. */
export function piSession(random) {
  const session = new Growing(random);
  if (random.chance(0.5)) systemMessage(session);
  if (random.chance(0.7)) session.add("model_change", { provider: "p", modelId: "m" });
  if (random.chance(0.2)) session.add("session_info", { name: "named so that the dialect is plain" });
  const steps = random.weighted([[3, random.between(1, 8)], [5, random.between(8, 30)], [1, random.between(30, 70)]]);
  for (let i = 0; i < steps; i++) random.weighted(STEPS)(session);
  return [write(header(random, 3), random), ...session.lines()];
}

/** Returns a linear file of version 1, or a file of version 2, with the roles and indexes of that version. */
export function olderSession(random, version) {
  const session = new Growing(random);
  session.parent = () => session.leaf;
  const kinds = [
    [20, turn],
    [5, userMessage],
    [4, bashExecution],
    [3, (s) => s.add("message", { message: custom(s, "hookMessage") })],
    [3, compaction],
    [2, (s) => s.add("model_change", { provider: "anthropic", modelId: words(random, 1) })],
    [2, (s) => s.add("thinking_level_change", { thinkingLevel: "high" })],
    [version === 2 ? 3 : 0, label],
    [version === 2 ? 3 : 0, customMessage],
    [version === 2 ? 2 : 0, branchSummary],
    [1, oddEntry],
  ];
  const steps = random.between(2, 30);
  for (let i = 0; i < steps; i++) random.weighted(kinds)(session);
  // Other tools write the version as a string, which JavaScript compares like a number.
  const spelled = version === 1 ? [[4, 1], [4, undefined], [1, "1"], [1, "1.0"], [0.5, " 0x1"]] : [[8, 2], [1, "2"], [0.5, "2.0"]];
  const head = header(random, random.weighted(spelled));
  if (version === 1) Object.assign(head, { provider: "p", modelId: "m", thinkingLevel: "off" });
  if (version === 2) return [write(head, random), ...session.lines()];
  return [write(head, random), ...session.entries.map((entry) => write(withoutIds(entry, session), random))];
}

/**
 * Returns an entry as in version 1: without ids, and with the first kept entry as an index that counts the header.
 */
function withoutIds(entry, { entries, random }) {
  const { id, parentId, firstKeptEntryId, ...rest } = entry;
  if (entry.type !== "compaction") return random.chance(0.02) ? { ...rest, id: "had-one" } : rest;
  const at = entries.findIndex((other) => other.id === firstKeptEntryId);
  const index = random.weighted([[8, at + 1], [1, 0], [1, 9999], [1, entries.indexOf(entry) + 2], [0.5, -1], [0.5, new Raw("1.5")]]);
  return { ...rest, firstKeptEntryIndex: index };
}

function userMessage(session) {
  const { random } = session;
  session.add("message", {
    message: {
      role: "user",
      content: random.weighted([[20, content(random)], [1, null], [1, undefined]]),
      timestamp: session.clock,
    },
  });
}

function turn(session) {
  const { random } = session;
  if (random.chance(0.6)) userMessage(session);
  assistant(session);
  const calls = session.pendingCalls();
  for (const call of random.chance(0.5) ? random.shuffled(calls) : calls) {
    if (random.chance(0.85)) toolResult(session, call);
    if (random.chance(0.05)) contextEdit(session);
  }
}

function assistant(session) {
  const { random } = session;
  const blocks = Array.from({ length: random.below(5) }, () =>
    random.weighted([
      [5, () => textBlock(random)],
      [3, () => thinking(random)],
      [4, () => toolCall(random, random.chance(0.9) ? `call_${random.hex(6)}` : "call_again")],
    ])(),
  );
  const stopReason = random.weighted([[10, "stop"], [6, "toolUse"], [2, "error"], [2, "aborted"], [1, "length"], [1, "deferred"], [0.5, undefined]]);
  session.add("message", {
    message: {
      role: "assistant",
      content: random.weighted([[30, blocks], [1, null]]),
      api: "anthropic-messages",
      provider: random.pick(["anthropic", "openai"]),
      model: random.pick(["claude-x", "gpt-y"]),
      usage: random.weighted([[12, usage(random, random.chance(0.2) ? { cacheWrite1h: 5, reasoning: 7 } : {})], [1, undefined]]),
      stopReason,
      ...((stopReason === "error" || random.chance(0.02)) && { errorMessage: random.chance(0.8) ? text(random) : long(random) }),
      ...(random.chance(0.1) && { responseId: "r" }),
      timestamp: session.clock,
    },
  });
}

const thinking = (random) => ({
  type: "thinking",
  thinking: text(random),
  ...(random.chance(0.6) && { thinkingSignature: random.hex(20) }),
  ...(random.chance(0.1) && { redacted: true }),
});

function toolResult(session, call) {
  const { random } = session;
  session.add("message", {
    message: {
      role: "toolResult",
      toolCallId: random.chance(0.95) ? call.id : "call_unknown",
      toolName: random.chance(0.95) ? call.name : undefined,
      content: random.weighted([
        [12, Array.from({ length: random.below(3) + 1 }, () => (random.chance(0.85) ? { type: "text", text: random.chance(0.3) ? long(random) : text(random, 40) } : imageBlock(random)))],
        [1, []],
        [0.5, null],
      ]),
      ...(random.chance(0.3) && { details: anything(random) }),
      isError: random.chance(0.15),
      ...(random.chance(0.1) && { usage: usage(random) }),
      ...(random.chance(0.1) && {
        nestedCalls: { calls: [{ name: "read", arguments: { path: "nested/read.rs" } }, { name: "edit", arguments: { path: text(random, 1) } }, { name: "write", arguments: null }] },
      }),
      timestamp: session.clock,
    },
  });
}

const tool = (random) => ({ name: random.pick(["read", "bash", "edit"]), description: text(random), parameters: { type: "object", properties: object(random) } });

function system(session) {
  const { random } = session;
  return {
    role: "system",
    content: random.weighted([[6, text(random)], [2, [textBlock(random), textBlock(random)]], [1, ""], [0.5, null]]),
    ...(random.chance(0.5) && { sections: { skills: random.chance(0.7) ? text(random) : null, agents: random.chance(0.8) ? text(random) : null } }),
    ...(random.chance(0.5) && { toolsAdded: Array.from({ length: random.below(3) }, () => tool(random)) }),
    ...(random.chance(0.2) && { toolsRemoved: [{ name: "bash" }] }),
    timestamp: session.clock,
  };
}

function systemMessage(session) {
  session.add("message", { message: system(session) });
}

function bashExecution(session) {
  const { random } = session;
  session.add("message", {
    message: {
      role: "bashExecution",
      command: text(random),
      output: random.weighted([[3, text(random, 30)], [1, ""], [1, long(random)]]),
      exitCode: random.pick([0, 1, 127, -9, null, undefined]),
      cancelled: random.chance(0.2),
      truncated: random.chance(0.3),
      ...(random.chance(0.4) && { fullOutputPath: "/tmp/out é.log" }),
      ...(random.chance(0.2) && { excludeFromContext: random.pick([true, false]) }),
      timestamp: session.clock,
    },
  });
}

function compaction(session) {
  const { random } = session;
  const kept = random.weighted([
    [6, () => session.target((entry) => entry.type === "message")],
    [2, () => session.target()],
    [2, () => session.target((entry) => entry.type === "label")],
    [1, () => session.target((entry) => entry.type === "compaction")],
    [2, () => "own"],
    [0.5, () => undefined],
  ])();
  const entry = session.add("compaction", {
    summary: summary(random),
    firstKeptEntryId: kept,
    tokensBefore: random.pick([0, 499, 500, 1500, 123456, new Raw("2.5e3")]),
    details: details(random),
    ...(random.chance(0.2) && { usage: usage(random) }),
    ...(random.chance(0.3) && { fromHook: random.chance(0.5) }),
    ...(random.chance(0.3) && { systemMessage: { ...system(session), content: text(random) } }),
  });
  if (kept === "own") entry.firstKeptEntryId = entry.id;
}

function branchSummary(session) {
  const { random } = session;
  session.add("branch_summary", {
    fromId: random.chance(0.8) ? (session.target() ?? "root") : "root",
    summary: random.chance(0.9) ? summary(random) : "",
    details: details(random),
    ...(random.chance(0.2) && { usage: usage(random) }),
    ...(random.chance(0.3) && { fromHook: random.chance(0.5) }),
  });
}

function contextEdit(session) {
  const { random } = session;
  const target = session.target((entry) => entry.type === "message" || entry.type === "custom_message" || random.chance(0.1));
  if (target === undefined) return;
  const entry = session.entries.find((other) => other.id === target);
  const wantsBlocks = ["assistant", "toolResult"].includes(entry?.message?.role);
  session.add("context_edit", {
    targetId: target,
    replacement: random.weighted([
      [4, null],
      [2, { content: wantsBlocks ? [textBlock(random)] : content(random) }],
      [2, { content: text(random) }],
      [1, { content: [] }],
    ]),
  });
}

function custom(session, role) {
  const { random } = session;
  return {
    role,
    customType: text(random, 1),
    content: content(random),
    display: random.chance(0.7),
    ...(random.chance(0.4) && { details: anything(random) }),
    timestamp: session.clock,
  };
}

function customMessage(session) {
  const { role, timestamp, ...fields } = custom(session);
  session.add("custom_message", fields, { last: true });
}

function label(session) {
  const { random } = session;
  const targetId = session.target();
  if (targetId === undefined) return;
  const word = random.weighted([[8, words(random, 2)], [1, "same name"], [1, text(random)], [1, ""], [2, undefined], [0.5, null]]);
  session.add("label", { targetId, label: word });
}

function oddEntry(session) {
  const { random } = session;
  random.weighted([
    [2, () => session.add("message", { message: custom(session, "custom") })],
    [1, () => session.add("message", { message: { role: "holographic", content: text(random), timestamp: 1 } })],
    [1, () => session.add("from_the_future", { anything: anything(random), content: "kept" })],
    // A role of the other agent must not be the first evidence of which agent the file belongs to.
    [session.entries.some((entry) => entry.provider) ? 1 : 0, () => session.add("message", { message: { role: "developer", content: text(random), timestamp: 1 } })],
  ])();
}
