// What sessions of both agents contain: blocks, usage, tool calls, results.

import { Pairs, Raw } from "./json.mjs";
import { long, path, text, words } from "./words.mjs";

export const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

export const textBlock = (random) => ({
  type: "text",
  text: text(random),
  ...(random.chance(0.1) && { textSignature: random.pick(["sig", "", '{"v":1,"id":"msg_1"}']) }),
});

export const imageBlock = (random) => ({
  type: "image",
  data: random.pick([PIXEL, "AAAA", `blob:sha256:${"ab".repeat(32)}`]),
  mimeType: random.pick(["image/png", "image/jpeg"]),
});

/** Returns the content of a user message: a string, or blocks. */
export function content(random) {
  if (random.chance(0.5)) return text(random);
  const blocks = Array.from({ length: random.below(4) }, () => (random.chance(0.8) ? textBlock(random) : imageBlock(random)));
  if (random.chance(0.05)) blocks.push({ type: "from-the-future", text: "kept as it is", nested: { deep: [1, null] } });
  return blocks;
}

/** Returns a number in a spelling that a careless writer would change. */
export const number = (random) =>
  random.weighted([
    [10, random.below(100000)],
    [1, new Raw("1e5")],
    [1, new Raw("12345678901234567890")],
    [1, new Raw("1.0")],
    [1, new Raw("-0")],
    [1, new Raw("1E-7")],
    [1, new Raw("0.1000000000000000055511151231257827")],
    [1, -1.5],
    [1, new Raw("1e21")],
    [0.3, new Raw("1e400")],
  ]);

/** Returns any JSON value, for tool details and custom data. */
export function anything(random, depth = 3) {
  return random.weighted([
    [3, () => text(random, 5)],
    [2, () => number(random)],
    [1, () => random.chance(0.5)],
    [1, () => null],
    [depth, () => Array.from({ length: random.below(3) }, () => anything(random, depth - 1))],
    [depth, () => object(random, depth - 1)],
  ])();
}

export function object(random, depth = 2) {
  const pairs = Array.from({ length: random.below(4) }, () => [
    random.pick(["a", "b", "key with space", "ключ", "10", "2", "__proto__", "toString", "content"]),
    anything(random, depth),
  ]);
  return new Pairs(random.chance(0.2) ? [...pairs, ...pairs.slice(0, 1)] : [...new Map(pairs)]);
}

export function usage(random, extra = {}) {
  const [input, output, cacheRead, cacheWrite] = [9000, 700, 20000, 100].map((n) => random.below(n));
  return random.weighted([
    [
      14,
      {
        input,
        output,
        cacheRead,
        cacheWrite,
        totalTokens: random.weighted([[4, input + output + cacheRead + cacheWrite], [1, 0], [1, random.below(50)]]),
        cost: { input: 0.01, output: new Raw("1.50"), cacheRead: 0, cacheWrite: 0, total: new Raw("1e-3") },
        ...extra,
      },
    ],
    [1, { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } }],
  ]);
}

const TOOLS = {
  read: (random) => ({
    path: path(random),
    ...(random.chance(0.4) && { offset: random.pick([1, 5, 0, null]) }),
    ...(random.chance(0.4) && { limit: random.pick([10, 1, 0, null]) }),
  }),
  write: (random) => ({ path: path(random), content: text(random) }),
  edit: (random) => ({ path: path(random), oldText: text(random, 3), newText: text(random, 3) }),
  bash: (random) => ({ command: random.chance(0.3) ? long(random) : text(random), ...(random.chance(0.2) && { timeout: 10 }) }),
  grep: (random) => ({ pattern: text(random, 2), ...(random.chance(0.6) && { path: path(random) }) }),
  find: (random) => ({ pattern: "*.rs", ...(random.chance(0.6) && { path: path(random) }) }),
  ls: (random) => (random.chance(0.6) ? { path: path(random) } : {}),
  mcp_thing: (random) => object(random),
  ask: (random) => ({ questions: [{ id: "q", question: text(random, 4) }] }),
};

/** Returns a call as `{id, name, arguments}`; `more` are tools that only one agent has. */
export function toolCall(random, id, more = {}) {
  const tools = { ...TOOLS, ...more };
  const name = random.pick(Object.keys(tools));
  const args = tools[name](random);
  if (random.chance(0.1) && args.path !== undefined) {
    args.file_path = args.path;
    delete args.path;
  }
  return {
    type: "toolCall",
    id,
    name,
    arguments: args,
    ...(random.chance(0.05) && { thoughtSignature: "ts" }),
  };
}

export const files = (random) => Array.from({ length: random.below(3) }, () => path(random));

export function details(random) {
  return random.weighted([
    [6, { readFiles: files(random), modifiedFiles: files(random) }],
    [1, { readFiles: "not a list", modifiedFiles: files(random) }],
    [1, object(random)],
    [1, undefined],
    [1, null],
  ]);
}

export const summary = (random) =>
  random.weighted([
    [5, `## Goal\n${words(random)}\n\n## Progress\n### Done\n- [x] ${words(random)}`],
    [2, text(random)],
    [1, `${words(random)}\n\n<read-files>\nsrc/main.rs\n</read-files>`],
  ]);
