// Where pi would send what a provider's API refuses, pisess sends something else (docs/requests.md). `accepted` makes
// these changes in the messages before pi sends them, `asAccepted` in the body that pi sent.

const REFUSED_REASONS = ["error", "aborted"];

/** Gives each call an id of its own and drops calls without a name and results without a call. */
export function accepted(api, messages) {
  const used = new Set();
  let open = [];
  return messages.map(withoutHalves).flatMap((message) => {
    if (message.role === "system") return [message];
    if (message.role === "toolResult") {
      const at = open.findIndex(({ own }) => own === message.toolCallId);
      if (at < 0) return [];
      const [{ call }] = open.splice(at, 1);
      return call ? [{ ...message, toolCallId: call.id, toolName: message.toolName || call.name, content: parts(message.content) }] : [];
    }
    open = [];
    if (message.role === "user") return [{ ...message, content: Array.isArray(message.content) ? parts(message.content) : message.content }];
    if (message.role !== "assistant" || REFUSED_REASONS.includes(message.stopReason)) return [message];
    const content = (message.content ?? []).flatMap((block) => {
      if (block.type === "thinking" && block.redacted && !block.thinkingSignature?.trim()) return [];
      if (block.type !== "toolCall") return [block];
      const call = block.name ? { ...block, id: unused(block.id, used), arguments: asObject(block.arguments) } : undefined;
      open.push({ own: block.id, call });
      return call ? [call] : [];
    });
    // A reasoning item must be followed by another item of its turn.
    while (api === "openai-responses" && content.at(-1)?.type === "thinking") content.pop();
    return [{ ...message, content }];
  });
}

/**
 * Removes lone surrogates from texts that are blank without them: pi checks for blank texts before it removes lone
 * surrogates.
 */
function withoutHalves(message) {
  if (message.role === "system") return message;
  const text = (value) => (typeof value === "string" && whole("", value).trim() === "" ? whole("", value) : value);
  const block = (part) => (["text", "thinking"].includes(part?.type) ? { ...part, [part.type]: text(part[part.type]) } : part);
  return { ...message, content: Array.isArray(message.content) ? message.content.map(block) : text(message.content) };
}

/** Keeps texts and images; pi treats a block of any other type as an image. */
const parts = (content) => (content ?? []).filter(({ type }) => type === "text" || type === "image").map(withData);

const withData = (block) =>
  block.type === "text" || /^[A-Za-z0-9+/=]+$/.test(block.data) ? block : { type: "text", text: "(image omitted: its data is not in the session)" };

const asObject = (value) => (value && typeof value === "object" && !Array.isArray(value) ? value : {});

function unused(id, used) {
  const base = id || "call";
  let free = base;
  for (let n = 2; used.has(free); n++) free = base.includes("|") ? base.replace("|", `_${n}|`) : `${base}_${n}`;
  used.add(free);
  return free;
}

/** Returns the compared part of a body of pi, as pisess would send it. */
export function asAccepted(api, body) {
  const { messages, system, tools, input, contents, systemInstruction, toolConfig } = JSON.parse(JSON.stringify(body), whole);
  switch (api) {
    case "anthropic":
      return anthropic({ messages: messages.filter(({ role }) => role !== "system"), system, tools, thinking: body.thinking });
    case "openai":
      return { messages: /^gpt/.test(body.model) ? messages.map(short) : messages, tools };
    case "openai-responses":
      return { input: responses(input), tools };
    case "google":
      return { contents: google(contents, body.id), systemInstruction, tools, toolConfig };
  }
}

/** Whether a body of pi has no message besides the system prompt. */
export const isEmpty = ({ messages, input, contents }) => !(messages ?? input ?? contents ?? []).some(({ role }) => !["system", "developer"].includes(role));

/** Returns the compared part of a body of pisess. */
export function asSent(api, body) {
  const { messages, system, tools, input, contents, systemInstruction, toolConfig } = body;
  switch (api) {
    case "anthropic":
      return { messages, system, tools, thinking: body.thinking };
    case "openai":
      return { messages, tools };
    case "openai-responses":
      return { input: unnumbered(input), tools };
    case "google":
      return { contents, systemInstruction, tools, toolConfig };
  }
}

/** Removes lone surrogates from JSON. */
const whole = (_key, value) => (typeof value === "string" ? value.replace(/\p{Surrogate}/gu, "") : value);

const isBlank = ({ type, text }) => type === "text" && text.trim() === "";

function anthropic({ messages, system, tools, thinking }) {
  const sent = [];
  for (const message of messages) {
    const { role, content } = message;
    if (role === "assistant") {
      while (["thinking", "redacted_thinking"].includes(content.at(-1)?.type)) content.pop();
      if (content.length === 0) continue;
      if (sent.length === 0) sent.push({ role: "user", content: "(no earlier message)" });
    }
    if (Array.isArray(content)) for (const block of content) if (Array.isArray(block.content)) block.content = described(block.content);
    sent.push(message);
  }
  const last = sent.at(-1);
  if (last?.role === "assistant" && last.content.at(-1).type === "text") last.content.at(-1).text = last.content.at(-1).text.trimEnd();
  const blocks = sent.flatMap(({ content }) => (Array.isArray(content) ? content : []));
  const called = [...new Set(blocks.flatMap(({ type, name }) => (type === "tool_use" ? [name] : [])))];
  const any = called.map((name) => ({ name, input_schema: { type: "object", properties: {}, required: [] } }));
  // pisess leaves settings out, except for what becomes of thinking that is bound to another prefix.
  const isBound = thinking?.block_binding && blocks.some(({ type }) => ["thinking", "redacted_thinking"].includes(type));
  return { messages: sent, system, tools: tools ?? (any.length > 0 ? any : undefined), thinking: isBound ? thinking : undefined };
}

/** Returns the blocks of a result with images, without blank texts. */
function described(blocks) {
  const kept = blocks.filter((block) => !isBlank(block));
  return kept.some(({ type }) => type === "text") ? kept : [{ type: "text", text: "(see attached image)" }, ...kept];
}

/** OpenAI accepts ids of up to 40 characters, even if another model made longer ones. */
function short(message) {
  const cut = (call) => ({ ...call, id: call.id.slice(0, 40) });
  const { tool_calls: calls, tool_call_id: id } = message;
  return { ...message, ...(calls && { tool_calls: calls.map(cut) }), ...(id && { tool_call_id: id.slice(0, 40) }) };
}

/** pi numbers the ids of texts by message, counting messages that pisess omits. */
const unnumbered = (items) => items.map((item) => (item.id?.startsWith("msg_pi_") ? { ...item, id: "msg_pi" } : item));

function responses(items) {
  const seen = new Set();
  const isNew = (id) => id === undefined || !seen.has(id) === !!seen.add(id);
  const kept = unnumbered(items).flatMap((item) => {
    if (item.type === "reasoning") return isNew(item.id) ? [item] : [];
    if (item.id === undefined || item.id === "msg_pi" || (item.id.length <= 64 && isNew(item.id))) return [item];
    const { id, ...rest } = item;
    return [item.type === "message" ? { ...item, id: "msg_pi" } : rest];
  });
  return kept;
}

function google(contents, model) {
  const needs = /^gemini-[3-9]/.test(model);
  const signed = contents.map((content) => ({
    ...content,
    parts: content.parts.map((part) => (needs && part.functionCall && !part.thoughtSignature ? { ...part, thoughtSignature: "skip_thought_signature_validator" } : part)),
  }));
  return signed[0]?.role === "model" ? [{ parts: [{ text: "(no earlier message)" }], role: "user" }, ...signed] : signed;
}
