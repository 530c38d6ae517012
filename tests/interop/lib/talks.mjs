// Conversations of pi through the APIs of several providers, for requests. They contain what is specific to these
// APIs: ids of two parts, signatures, reasoning items, tools with schemas and grammars.

import { PIXEL } from "./pieces.mjs";
import { text, words } from "./words.mjs";

const MODELS = [
  { api: "anthropic-messages", provider: "anthropic", model: "claude-sonnet-4-5" },
  { api: "anthropic-messages", provider: "anthropic", model: "claude-opus-4-5" },
  { api: "anthropic-messages", provider: "anthropic", model: "claude-opus-5" },
  { api: "openai-completions", provider: "openai", model: "gpt-5.1" },
  { api: "openai-responses", provider: "openai", model: "gpt-5.1" },
  { api: "openai-responses", provider: "openai", model: "gpt-5.2" },
  { api: "openai-responses", provider: "github-copilot", model: "gpt-5.1" },
  { api: "google-generative-ai", provider: "google", model: "gemini-3.1-pro-preview" },
  { api: "google-generative-ai", provider: "google", model: "gemini-2.5-pro" },
];

/** Returns the lines of one conversation. */
export function talk(random) {
  const lines = [{ type: "session", version: 3, id: `01990000-0000-7000-8000-${random.hex(12)}`, timestamp: "2026-01-31T10:00:00.000Z", cwd: "/tmp" }];
  const say = (message) => {
    const id = `${lines.length}`.padStart(8, "0");
    lines.push({ type: "message", id, parentId: lines.length > 1 ? lines.at(-1).id : null, timestamp: "2026-02-01T10:00:00.000Z", message: { ...message, timestamp: 1769940000000 + lines.length } });
  };
  // Without this message, nothing shows that the session is from pi until the first turn.
  if (random.chance(0.9)) say(system(random, true));
  for (let turns = random.between(2, 9); turns > 0; turns--) {
    if (random.chance(0.8)) say({ role: "user", content: content(random) });
    turn(random, say);
    if (random.chance(0.15)) say(system(random, false));
  }
  return lines.map((line) => JSON.stringify(line));
}

function turn(random, say) {
  const model = random.pick(MODELS);
  const calls = Array.from({ length: random.weighted([[3, 0], [3, 1], [2, 2]]) }, () => call(random, model));
  const before = Array.from({ length: random.below(3) }, () => (random.chance(0.6) ? thought(random, model) : said(random, model)));
  const stopReason = random.weighted([[8, calls.length > 0 ? "toolUse" : "stop"], [1, "length"], [1, "error"], [1, "aborted"]]);
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
  say({ role: "assistant", content: [...before, ...(random.chance(0.5) ? [said(random, model)] : []), ...calls], ...model, usage, stopReason });
  if (random.chance(0.05)) say(system(random, false));
  for (const { id, name } of calls) {
    if (random.chance(0.07)) continue;
    if (random.chance(0.05)) say({ role: "user", content: text(random) });
    say({ role: "toolResult", toolCallId: random.chance(0.96) ? id : "call_of_no_turn", toolName: name, content: content(random, true), isError: random.chance(0.2) });
    if (random.chance(0.04)) say({ role: "toolResult", toolCallId: id, toolName: name, content: [{ type: "text", text: "again" }], isError: false });
  }
}

function content(random, isList = false) {
  if (!isList && random.chance(0.4)) return text(random);
  const part = () => random.weighted([[6, () => ({ type: "text", text: text(random) })], [2, () => ({ type: "image", data: PIXEL, mimeType: "image/png" })]])();
  return Array.from({ length: random.below(4) }, part);
}

function said(random, { api }) {
  const signature = { "openai-responses": () => random.pick([`{"v":1,"id":"msg_${random.hex(6)}","phase":"commentary"}`, `msg_${random.hex(40)}`, "msg_again"]), "google-generative-ai": () => random.pick(["c2ln", "not base64"]) }[api];
  return { type: "text", text: text(random), ...(signature && random.chance(0.6) && { textSignature: signature() }) };
}

function thought(random, { api }) {
  if (api === "openai-responses") {
    const item = { type: "reasoning", id: random.chance(0.9) ? `rs_${random.hex(6)}` : "rs_again", summary: [], encrypted_content: random.hex(8) };
    return { type: "thinking", thinking: random.pick(["", words(random)]), thinkingSignature: JSON.stringify(item) };
  }
  const signatures = {
    "anthropic-messages": ["c2ln", "", undefined, " "],
    "openai-completions": ["reasoning_content", "reasoning", "other", '[{"type":"reasoning.text","text":"why"}]', undefined],
    "google-generative-ai": ["c2ln", "no", undefined],
  }[api];
  return { type: "thinking", thinking: text(random), thinkingSignature: random.pick(signatures), ...(api === "anthropic-messages" && random.chance(0.2) && { redacted: true }) };
}

function call(random, { api }) {
  const id = {
    "anthropic-messages": () => `toolu_${random.hex(8)}`,
    "openai-completions": () => random.pick([`call_${random.hex(24)}`, `call.${random.hex(4)}`, `x${random.hex(50)}`]),
    "openai-responses": () => `call_${random.hex(6)}|fc_${random.hex(random.pick([6, 70]))}`,
    "google-generative-ai": () => `read_${random.hex(4)}`,
  }[api]();
  const name = random.pick(TOOLS).name;
  const given = { patch: { input: text(random) }, lines: { text: text(random) } }[name] ?? random.pick([{}, { path: text(random) }, { n: 1.5, 2: "two", 1: "one" }]);
  return { type: "toolCall", id, name, arguments: given, ...(api === "google-generative-ai" && random.chance(0.7) && { thoughtSignature: "c2ln" }) };
}

const strings = (...names) => Object.fromEntries(names.map((name) => [name, { type: "string" }]));

/** Returns a tool that prefers a strict schema, with these properties. */
const strict = (name, properties, rest) => ({
  name,
  description: `Does ${name}`,
  parameters: { type: "object", properties, ...rest },
  constrainedSampling: { type: "json_schema", strict: "prefer" },
});

/** Tools whose schemas the APIs, or their strict modes, treat differently. */
const TOOLS = [
  { name: "read", description: "Reads", parameters: { type: "object", properties: { ...strings("path"), n: { type: "number", minimum: 1 } }, required: ["path"], title: "Read" }, constrainedSampling: { type: "json_schema", strict: "prefer" } },
  { name: "edit", description: "Edits", parameters: { type: "object", properties: { edits: { type: "array", items: { type: "object", properties: strings("old", "new"), required: ["old"] } }, how: { anyOf: [{ const: "all" }, { const: 1 }] } } }, constrainedSampling: { type: "json_schema", strict: "prefer" } },
  { name: "patch", description: "Patches", parameters: { type: "object", properties: strings("input"), required: ["input"] }, constrainedSampling: { type: "grammar", variants: { openai_lark: "start: /.+/" } } },
  { name: "search", description: "Searches", parameters: { type: "object", properties: { kind: { $ref: "#/$defs/kind" } }, $defs: { kind: { const: "text" } } }, constrainedSampling: { type: "json_schema", strict: "prefer" } },
  strict("typed", { mode: { type: "string", enum: ["a", "b"] }, size: { type: ["integer", "null"] } }, { required: ["mode"], additionalProperties: false }),
  strict("listed", { mode: { enum: ["a", 1, null] }, deep: { type: "object", properties: { list: { type: "array", items: { type: "string" }, minItems: 1 } } } }),
  strict("untyped", { any: { description: "Anything" } }, { required: ["any"] }),
  strict("constant", { how: { const: "all" }, list: { type: "array", items: {} } }),
  strict("open", strings("a"), { additionalProperties: true }),
  strict("mapped", strings("a"), { additionalProperties: { type: "string" }, required: ["a"] }),
  strict("union", { either: { anyOf: [{ type: "string" }, { type: "null" }] }, when: { type: "string", format: "date-time" } }),
  { name: "plain", description: "Has no constraint", parameters: { type: "object", properties: strings("a"), additionalProperties: false, $comment: "c" } },
  { name: "lines", description: "Takes lines", parameters: { type: "object", properties: strings("text"), required: ["text"] }, constrainedSampling: { type: "grammar", variants: { openai_regex: ".+" } } },
];

function system(random, isFirst) {
  const sections = random.chance(0.6) ? { skills: random.pick([text(random), null]), agents: text(random) } : undefined;
  const toolsAdded = isFirst ? TOOLS.filter(() => random.chance(0.5)) : random.chance(0.4) ? [random.pick(TOOLS)] : undefined;
  const toolsRemoved = !isFirst && random.chance(0.3) ? [{ name: random.pick(TOOLS).name }] : undefined;
  return { role: "system", content: isFirst ? words(random) : text(random), ...(sections && { sections }), ...(toolsAdded && { toolsAdded }), ...(toolsRemoved && { toolsRemoved }) };
}
