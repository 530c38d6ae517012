// Entries of sessions for tests.

export const at = (minute) => ({ timestamp: new Date(Date.UTC(2026, 2, 14, 9, 10 + minute)).toISOString() });

/** Returns a chain of entries with ids e0, e1 …, unless they have an id or a parent of their own. */
export const chain = (...entries) => entries.map((entry, n) => ({ type: "message", id: `e${n}`, parentId: n ? `e${n - 1}` : null, ...at(n), ...entry }));
export const user = (content) => ({ message: { role: "user", content, timestamp: 1 } });
export const usage = (total) => ({ input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total } });
export const says = (content, more = {}) => ({ message: { role: "assistant", content: typeof content === "string" ? [{ type: "text", text: content }] : content, provider: "anthropic", model: "one", usage: usage(0), stopReason: "stop", timestamp: 1, ...more } });
export const calls = (id, name, args) => says([{ type: "toolCall", id, name, arguments: args }], { stopReason: "toolUse" });
export const result = (id, name, text, more = {}) => ({ message: { role: "toolResult", toolCallId: id, toolName: name, content: [{ type: "text", text }], isError: false, timestamp: 1, ...more } });
