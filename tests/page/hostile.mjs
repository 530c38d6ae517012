// Text that tries to run or to load something, for every field of a session.

export const STRINGS = [
  "<script>pwned('a')</script>",
  "</script><script>pwned('b')</script>",
  "</SCRIPT ><img src=x onerror=pwned('c')>",
  "</textarea></title></style><svg onload=pwned('d')>",
  "\"><img src=http://evil.example/x.png onerror=pwned('e')>",
  "' onmouseover='pwned(1)' x='",
  "javascript:pwned('f')",
  "[x](javascript:pwned('g')) ![x](http://evil.example/i.png) <http://evil.example> [y](JaVa\tScRiPt:pwned('h'))",
  "[z](data:text/html;base64,PHNjcmlwdD5wd25lZCgnaScpPC9zY3JpcHQ+)",
  "![a](x\"onerror=\"pwned('j'))",
  "<iframe srcdoc='<script>parent.pwned(1)</script>'></iframe><base href=http://evil.example/><meta http-equiv=refresh content='0;url=http://evil.example'>",
  "<a href=\"javascript:pwned('k')\">x</a><form action=http://evil.example><button>x",
  "\u0001a\u0002ajavascript:pwned('l')\u0003x\u0004\u0005\u0006\u000e\u000f\u001e",
  "```html\n</code></pre><script>pwned('m')</script>\n```\n<!--<script>",
  "{{constructor.constructor('pwned(1)')()}} ${pwned('n')} <%= pwned %>",
  "__proto__", "constructor", "index", "late", "text", "rows", "\u202e\u2066txt.exe", "\ud83d",
];

/** Returns an entry of every kind with `s` in every field. */
export function entries(s) {
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.01 } };
  const at = { timestamp: "2026-03-14T09:26:45.589Z" };
  let parentId = null, count = 0;
  const entry = (rest) => {
    const made = { type: "message", id: `${count}${s}`, parentId, ...at, ...rest };
    parentId = made.id;
    count++;
    return made;
  };
  const message = (rest) => entry({ message: { timestamp: 1, ...rest } });
  const call = (name, args, result, details) => [
    message({ role: "assistant", content: [{ type: "toolCall", id: `${s}${count}`, name, arguments: args }], provider: s, model: s, api: s, usage, stopReason: "toolUse" }),
    message({ role: "toolResult", toolCallId: `${s}${count - 1}`, toolName: name, content: [{ type: "text", text: result }], details, isError: count % 2 === 0 }),
  ];
  return [
    entry({ type: "model_change", provider: s, modelId: s }),
    entry({ type: "thinking_level_change", thinkingLevel: s }),
    message({ role: "user", content: s }),
    message({ role: "user", content: [{ type: "text", text: s }, { type: "image", mimeType: s, data: s }, { type: "image", mimeType: "image/svg+xml", data: "PHN2Zz4=" }, { type: "image", mimeType: "image/png", data: s }, { type: s, x: s }] }),
    message({ role: "assistant", content: [{ type: "thinking", thinking: s, thinkingSignature: s }, { type: "text", text: s }], provider: s, model: s, usage, stopReason: "error", errorMessage: s }),
    ...call("bash", { command: s }, `${s}\nCommand exited with code 7`),
    ...call("read", { path: s, offset: 3 }, s),
    ...call("edit", { path: s, oldText: s, newText: `${s}!` }, s, { diff: `+1 ${s}\n-2 ${s}` }),
    ...call("write", { path: s, content: s }, s),
    ...call(s, { [s]: s, path: s }, s, { [s]: s }),
    message({ role: "bashExecution", command: s, output: s, exitCode: 3, cancelled: false, truncated: true }),
    message({ role: s, content: s, [s]: s }),
    entry({ type: "custom", customType: s, data: { [s]: s } }),
    entry({ type: "custom_message", customType: s, content: s, display: true, details: { [s]: s } }),
    entry({ type: "compaction", summary: s, firstKeptEntryId: `2${s}`, tokensBefore: 12 }),
    entry({ type: "branch_summary", summary: s, fromId: `3${s}` }),
    entry({ type: "context_edit", targetId: `2${s}`, replacement: { content: s } }),
    entry({ type: "context_edit", targetId: `3${s}`, replacement: null }),
    entry({ type: "label", targetId: `2${s}`, label: s }),
    entry({ type: "session_info", name: s }),
    entry({ type: s, [s]: s }),
  ];
}
