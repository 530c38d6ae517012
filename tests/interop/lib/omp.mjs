// Sessions as oh-my-pi writes them.

import { Growing } from "./grow.mjs";
import { Raw, write } from "./json.mjs";
import { PIXEL, anything, content, details, files, imageBlock, object, summary, textBlock, toolCall, usage } from "./pieces.mjs";
import { long, path, text, words } from "./words.mjs";

const STEPS = [
  [24, turn],
  [6, userMessage],
  [3, developerMessage],
  [4, bashExecution],
  [2, pythonExecution],
  [2, fileMention],
  [5, compaction],
  [2, branchSummary],
  [6, customMessage],
  [3, customEntry],
  [3, label],
  [3, modelChange],
  [3, thinkingLevel],
  [2, serviceTier],
  [2, modeChange],
  [2, (s) => s.add("reset_boundary", {})],
  [2, (s) => s.add("ttsr_injection", { injectedRules: Array.from({ length: s.random.below(3) }, () => words(s.random, 1)) })],
  [1, (s) => s.add("title_change", { title: text(s.random), source: s.random.pick(["user", "auto"]), previousTitle: s.random.chance(0.3) ? "old" : undefined })],
  [1, (s) => s.add("credential_pin", { provider: "anthropic", hash: "ab".repeat(32) })],
  [1, modelUsage],
  [1, sessionInit],
  [1, oddEntry],
];

/** Returns the lines of one session of oh-my-pi; in version 2, with the roles of that version. */
export function ompSession(random, version = 3) {
  const session = new Growing(random);
  // Loading removes data from turns by Copilot, which would be missing after a migration.
  session.providers = version === 3 ? ["anthropic", "openai", "github-copilot"] : ["anthropic", "openai"];
  session.add("model_change", { model: "anthropic/claude-x", ...(random.chance(0.5) && { role: "default" }), resolvedModelIsFallback: false });
  const steps = random.weighted([[3, random.between(1, 8)], [5, random.between(8, 30)], [1, random.between(30, 70)]]);
  for (let i = 0; i < steps; i++) random.weighted(STEPS)(session);
  if (version === 2) for (let i = 0; i < 3; i++) hookMessage(session);
  const title = random.pick([undefined, "", "A title", "Ein längerer Titel 🚀"]);
  const header = {
    type: "session",
    version,
    id: `01990000-0000-7000-9000-${random.hex(12)}`,
    timestamp: "2026-01-31T10:00:00.000Z",
    cwd: "/tmp",
    ...(random.chance(0.3) && title !== undefined && { title, titleSource: "auto" }),
    ...(random.chance(0.1) && { additionalDirectories: ["/var/tmp"] }),
  };
  const lines = [write(header, random), ...session.lines()];
  return title === undefined ? lines : [titleSlot(title), ...lines];
}

/** Returns the title line: 256 bytes, including the newline. */
function titleSlot(title) {
  const slot = { type: "title", v: 1, title, ...(title && { source: "user" }), updatedAt: "2026-01-31T10:00:00.000Z", pad: "" };
  slot.pad = " ".repeat(255 - Buffer.byteLength(JSON.stringify(slot)));
  return JSON.stringify(slot);
}

function userMessage(session) {
  const { random } = session;
  session.add("message", {
    message: {
      role: "user",
      content: content(random),
      ...(random.chance(0.1) && { steering: true }),
      ...(random.chance(0.1) && { synthetic: true }),
      ...(random.chance(0.2) && { attribution: random.pick(["user", "agent"]) }),
      ...(random.chance(0.05) && { providerPayload: { type: "openaiResponsesHistory", items: [object(random)] } }),
      timestamp: session.clock,
    },
  });
}

function developerMessage(session) {
  const { random } = session;
  session.add("message", {
    message: { role: "developer", content: content(random), ...(random.chance(0.3) && { attribution: "user" }), timestamp: session.clock },
  });
}

function turn(session) {
  const { random } = session;
  if (random.chance(0.6)) userMessage(session);
  const { message } = assistant(session);
  const calls = session.pendingCalls();
  for (const call of random.chance(0.5) ? random.shuffled(calls) : calls) {
    if (random.chance(0.8)) toolResult(session, call);
  }
  if (message.stopReason === "aborted" && random.chance(0.5)) {
    session.add("custom_message", { customType: "interrupted-thinking", content: text(random), display: false, attribution: "agent" }, { last: true });
  }
}

const MORE_TOOLS = {
  glob: (random) => random.pick([{ paths: [path(random), "*.ts"] }, { path: path(random) }, { paths: "src/**" }, {}, { paths: '["a","b"]' }]),
  grep: (random) => ({ pattern: text(random, 2), ...random.pick([{}, { path: path(random) }, { paths: [path(random)] }, { paths: ["a", "b"] }]) }),
  read: (random) => ({
    path: random.pick([path(random), `${path(random)}:50-200`, "src/a.rs:raw", "src/a.rs:1-5:raw", "artifact://3", "https://example.org/x", "b.rs:L5", "c.rs:5..9,12", "d.rs:conflicts"]),
    ...(random.chance(0.3) && { offset: random.pick([1, 7]) }),
    ...(random.chance(0.3) && { limit: 10 }),
  }),
};

function assistant(session) {
  const { random } = session;
  const stopReason = random.weighted([[10, "stop"], [6, "toolUse"], [3, "error"], [3, "aborted"], [1, "length"]]);
  const blocks = Array.from({ length: random.below(5) }, () =>
    random.weighted([
      [5, () => textBlock(random)],
      [3, () => ({ type: "thinking", thinking: text(random), ...(random.chance(0.5) && { thinkingSignature: random.pick([random.hex(20), ""]) }) })],
      [1, () => ({ type: "redactedThinking", data: random.pick([random.hex(30), " "]) })],
      [4, () => toolCall(random, random.chance(0.9) ? `call_${random.hex(6)}` : "call_again", MORE_TOOLS)],
      [0.5, () => ({ type: "fallback", from: "a", to: "b" })],
      [0.5, () => ({ type: "anthropicServerTool", block: { type: "server_tool_use", id: "s", input: object(random) } })],
    ])(),
  );
  return session.add("message", {
    message: {
      role: "assistant",
      content: blocks,
      api: "anthropic-messages",
      provider: random.pick(session.providers),
      model: random.pick(["claude-x", "gpt-y"]),
      usage: usage(random, random.chance(0.2) ? { contextTokens: 4321, reasoningTokens: 7, premiumRequests: 1 } : {}),
      stopReason,
      ...((stopReason === "error" || stopReason === "aborted") && random.chance(0.8) && {
        errorMessage: random.pick([text(random), long(random), "Interrupted by user", "Request was aborted", "__omp.silent_abort__"]),
      }),
      ...(random.chance(0.06) && {
        retryRecovery: random.pick([{ status: "superseded" }, { status: "recovered", note: "retried  after\ta pause" }]),
      }),
      ...(random.chance(0.06) && { providerPayload: { type: "openaiResponsesHistory", provider: "openai", items: [object(random)] } }),
      ...(stopReason === "aborted" && random.chance(0.2) && { errorId: random.pick([0x02000000, 0x04000000, 0x08000000]) }),
      timestamp: session.clock,
    },
  });
}

function toolResult(session, call) {
  const { random } = session;
  session.add("message", {
    message: {
      role: "toolResult",
      toolCallId: random.chance(0.95) ? call.id : "call_unknown",
      toolName: call.name,
      content: Array.from({ length: random.below(4) }, () =>
        random.chance(0.85) ? { type: "text", text: random.chance(0.3) ? long(random) : text(random, 40) } : imageBlock(random),
      ),
      ...(random.chance(0.3) && { details: anything(random) }),
      isError: random.chance(0.15),
      ...(random.chance(0.1) && { prunedAt: 1769853600000 }),
      ...(random.chance(0.1) && { useless: true }),
      ...(random.chance(0.1) && { attribution: "user" }),
      timestamp: session.clock,
    },
  });
}

const meta = (random) =>
  random.weighted([
    [6, undefined],
    [1, {}],
    [1, { truncation: { direction: "tail", truncatedBy: "lines", totalLines: 900, totalBytes: 80000, outputLines: 100, outputBytes: 5000, shownRange: { start: 801, end: 900 }, artifactId: "3" } }],
    [1, { truncation: { direction: "head", truncatedBy: "bytes", totalLines: 9, totalBytes: 80000, outputLines: 5, outputBytes: 51200, maxBytes: 51200, nextOffset: 6 } }],
    [1, { truncation: { direction: "middle", truncatedBy: "middle", totalLines: 5000, totalBytes: 1800000, outputLines: 100, outputBytes: 4096, headRange: { start: 1, end: 50 }, tailRange: { start: 4951, end: 5000 } } }],
    [1, { limits: { matchLimit: { reached: 100, suggestion: 200 }, columnTruncated: { maxColumn: 768 } } }],
  ]);

function bashExecution(session) {
  const { random } = session;
  session.add("message", {
    message: {
      role: "bashExecution",
      command: text(random),
      output: random.weighted([[3, text(random, 30)], [1, ""], [1, long(random)]]),
      exitCode: random.pick([0, 1, 127, null, undefined]),
      cancelled: random.chance(0.2),
      truncated: random.chance(0.3),
      ...(random.chance(0.1) && { images: [imageBlock(random)] }),
      meta: meta(random),
      timestamp: session.clock,
      ...(random.chance(0.2) && { excludeFromContext: random.pick([true, false]) }),
    },
  });
}

function pythonExecution(session) {
  const { random } = session;
  session.add("message", {
    message: {
      role: "pythonExecution",
      code: text(random),
      output: random.chance(0.7) ? text(random, 30) : "",
      exitCode: random.pick([0, 1, undefined]),
      cancelled: random.chance(0.2),
      truncated: false,
      meta: meta(random),
      timestamp: session.clock,
      ...(random.chance(0.2) && { excludeFromContext: true }),
    },
  });
}

function fileMention(session) {
  const { random } = session;
  const file = () =>
    random.weighted([
      [4, { path: path(random), content: text(random, 20), lineCount: 3 }],
      [1, { path: path(random), content: "" }],
      [1, { path: path(random), content: "", byteSize: 9000000, skippedReason: "tooLarge" }],
      [1, { path: "shot.png", content: "", image: imageBlock(random) }],
    ]);
  session.add("message", { message: { role: "fileMention", files: Array.from({ length: random.below(4) }, file), timestamp: session.clock } });
}

function compaction(session) {
  const { random } = session;
  const kept = random.weighted([
    [7, () => session.target((entry) => entry.type === "message" || entry.type === "custom_message")],
    [2, () => session.target()],
    [1, () => session.target((entry) => entry.type === "label" || entry.type === "compaction")],
    [1, () => "none-such"],
  ])();
  const parts = random.weighted([
    [8, { method: random.pick([undefined, "soft", "shake"]), details: details(random), fromExtension: random.pick([undefined, false, true]) }],
    [1, { method: "handoff", details: details(random) }],
    [2, remote(session)],
    [1, { method: "remote", preserveData: { anthropicCompaction: { provider: "anthropic", content: text(random), ...(random.chance(0.5) && { encryptedContent: "enc", filesText: "f" }) } } }],
    [2, { details: { kind: "experimental-context-rollover" } }],
    [1, { method: "snapcompact", preserveData: { snapcompact: archive(random) } }],
    [1, { preserveData: object(random) }],
  ]);
  const { details: made, fromExtension, preserveData, ...rest } = parts;
  session.add("compaction", {
    summary: summary(random),
    ...(random.chance(0.5) && { shortSummary: words(random) }),
    firstKeptEntryId: kept,
    tokensBefore: random.pick([0, 499, 500, 1500, 123456, new Raw("2.5e3")]),
    ...(random.chance(0.5) && { tokensAfter: 45 }),
    ...rest,
    details: made,
    fromExtension,
    preserveData,
    ...(random.chance(0.1) && { warning: "freed too little" }),
  });
}

/** Returns history that only its provider can read; sometimes an invalid record, which must be ignored. */
function remote(session) {
  const { random } = session;
  const openaiRemoteCompaction = random.weighted([
    [2, { provider: "openai", replacementHistory: [{ type: "message", content: text(random) }], compactionItem: { type: "compaction", encrypted_content: "x" } }],
    [2, { version: "v2", provider: "openai", replacementHistory: [{ type: "compaction", encrypted_content: "x" }], usedTokens: 5, usage: {}, retainedImageCount: 0 }],
    [1, { provider: "", replacementHistory: [] }],
    [1, { provider: "openai", replacementHistory: ["not an object"] }],
  ]);
  return {
    method: "remote",
    ...(random.chance(0.5) && { providerReplayThroughEntryId: session.target() }),
    preserveData: { openaiRemoteCompaction },
  };
}

const archive = (random) => ({
  frames: random.chance(0.5) ? [] : [{ data: PIXEL, mimeType: "image/png", cols: 80, rows: 40, chars: 3000, font: "5x8", variant: "sent" }],
  totalChars: 1000,
  truncatedChars: random.pick([0, 50]),
  ...(random.chance(0.8) && { textHead: text(random, 30) }),
  ...(random.chance(0.8) && { textTail: text(random, 30) }),
});

function branchSummary(session) {
  const { random } = session;
  session.add("branch_summary", {
    fromId: random.chance(0.8) ? (session.leaf ?? "root") : "root",
    ...random.weighted([
      [8, { summary: summary(random), details: details(random) }],
      [1, { summary: "", details: { kind: "discarded-entry-branch", discardedEntryId: "gone" } }],
    ]),
    ...(random.chance(0.3) && { fromExtension: random.chance(0.5) }),
  });
}

const CUSTOM = ["skill-prompt", "collab-prompt", "interrupted-thinking", "advisor", "rewind-report", "prewalk-plan", "vibe-mode-context", "plan-mode-note", "note"];

function customMessage(session) {
  const { random } = session;
  const customType = random.weighted([[8, random.pick(CUSTOM)], [2, text(random, 1)]]);
  const about = {
    "skill-prompt": { name: "review", path: "/s/SKILL.md", args: random.pick([undefined, "all of it"]), prompt: random.pick([undefined, "/skill:review now"]), lineCount: 3 },
    advisor: {
      notes: [
        { note: text(random), advisor: random.pick(["default", "sec", "perf"]), severity: random.pick(["blocker", "nit", undefined]) },
        { note: "second", advisor: "sec" },
        "not a note",
      ],
    },
  };
  session.add(
    "custom_message",
    {
      customType,
      content: content(random),
      display: random.chance(0.7),
      details: about[customType] ?? (random.chance(0.3) ? anything(random) : undefined),
      attribution: random.pick(["user", "agent", undefined]),
    },
    { last: true },
  );
}

function customEntry(session) {
  const { random } = session;
  const [customType, data] = random.weighted([
    [4, ["experimental_context_notes", { version: 1, text: random.pick([text(random), ""]) }]],
    [1, ["experimental_context_notes", { version: 2, text: "not valid" }]],
    [1, ["experimental_context_notes", { version: 1, text: "not valid", extra: 1 }]],
    [2, ["tool_execution_start", { toolCallId: "c", toolName: "bash", startedAt: 1 }]],
    [2, ["session_exit", { reason: "quit", kind: "normal", recordedAt: "2026-01-31T10:00:00.000Z" }]],
    [2, [text(random, 1), anything(random)]],
  ]);
  session.add("custom", { customType, data }, { last: true });
}

function label(session) {
  const { random } = session;
  const targetId = session.target();
  if (targetId === undefined) return;
  session.add("label", { targetId, label: random.weighted([[8, words(random, 2)], [1, "same name"], [1, ""], [2, undefined]]) });
}

function modelChange(session) {
  const { random } = session;
  session.add("model_change", {
    model: random.pick(["anthropic/claude-x", "openai/gpt-y", ""]),
    role: random.pick(["default", "smol", "fallback", undefined, "slow"]),
    resolvedModelIsFallback: random.chance(0.2),
  });
}

function thinkingLevel(session) {
  const { random } = session;
  session.add("thinking_level_change", {
    thinkingLevel: random.pick(["high", "low", null, undefined]),
    configured: random.pick(["auto", "high", null, undefined]),
  });
}

function serviceTier(session) {
  const { random } = session;
  session.add("service_tier_change", {
    serviceTier: random.pick([{ openai: "priority" }, { openai: "flex", anthropic: "priority", google: "no" }, null, "priority", "openai-only", "claude-only", "nonsense", {}]),
  });
}

function modeChange(session) {
  const { random } = session;
  session.add("mode_change", {
    mode: random.pick(["none", "plan", "plan_paused", "vibe", "goal"]),
    ...(random.chance(0.5) && { data: { planFilePath: "/tmp/plan.md", extra: anything(random) } }),
  });
}

function modelUsage(session) {
  const { random } = session;
  session.add("model_usage", { purpose: "auto-thinking", ...(random.chance(0.5) && { role: "tiny" }), api: "x", provider: "p", model: "m", usage: usage(random), stopReason: "stop" });
}

function sessionInit(session) {
  session.add("session_init", { systemPrompt: text(session.random), task: text(session.random), tools: ["read"], agent: "scout", spawns: "*" });
}

function hookMessage(session) {
  const { random } = session;
  session.add("message", { message: { role: "hookMessage", customType: "hook", content: content(random), display: true, timestamp: session.clock } });
}

function oddEntry(session) {
  const { random } = session;
  random.weighted([
    [2, () => session.add("message", { message: { role: "custom", customType: random.pick(["skill-prompt", "x"]), content: content(random), display: true, attribution: "user", timestamp: 1 } })],
    [1, () => hookMessage(session)],
    [1, () => session.add("from_the_future", { anything: anything(random), files: files(random) })],
    [1, () => session.add("message", { message: { role: "system", content: text(random), timestamp: 1 } })],
  ])();
}
