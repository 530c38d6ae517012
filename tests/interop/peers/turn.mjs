// The turn with which an agent continues a session: a question and its answer.

const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };

export const turn = [
  { role: "user", content: "and then?", timestamp: 1 },
  {
    role: "assistant",
    content: [{ type: "text", text: "The kite flew." }],
    api: "anthropic-messages",
    provider: "anthropic",
    model: "claude-sonnet-4-5",
    usage,
    stopReason: "stop",
    timestamp: 2,
  },
];
