// The checks. Each kind asks the agent questions, runs a command of pisess, and returns the first difference
// between the answers, `{pointer, expected, actual}`, or null if there is none.

import { asAccepted, asSent, isEmpty } from "./accepted.mjs";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { meaning } from "./draft.mjs";
import { difference, plain } from "./json.mjs";
import { sameEntries, sameMigration } from "./lines.mjs";
import { NOW } from "./pisess.mjs";
import { matches, rows } from "./rows.mjs";
import { said } from "./said.mjs";

/** `kind → {questions(check), compare(world, check, answers)}` */
export const KINDS = {
  context: {
    questions: ({ id }) => [{ kind: "context", id }],
    async compare(world, { id }, [expected]) {
      const actual = await world.json(["context", world.file, ref(id), "--json"]);
      return actual.problem ?? difference(wholeContext(expected), wholeContext(actual.value));
    },
  },

  llm: {
    questions: ({ id }) => [{ kind: "llm", id }],
    async compare(world, { id }, [expected]) {
      const actual = await world.json(["context", world.file, ref(id), "--as", "llm", "--json"]);
      return actual.problem ?? difference(expected, actual.value);
    },
  },

  text: {
    questions: ({ id }) => [{ kind: "text", id }],
    async compare(world, { id }, [expected]) {
      const { code, stdout, stderr } = await world.run(["context", world.file, ref(id), "--as", "text"]);
      if (code !== 0) return exit(0, code, stderr);
      return firstUnit(expected.toWellFormed(), stdout, (text) => text.replace(/\n$/, ""));
    },
  },

  /** What pi sends to a server on this machine, except for what its API would refuse. */
  body: {
    questions: ({ id, api, model }) => [{ kind: "body", id, api, model }],
    async compare(world, { id, api, model }, [sent]) {
      const args = ["context", world.file, ref(id), "--as", api, ...(model ? ["--model", model.join("/")] : [])];
      const actual = await world.json(args, { code: isEmpty(sent) ? 1 : 0 });
      if (isEmpty(sent)) return actual.problem;
      return actual.problem ?? difference(plain(asAccepted(api, sent)), plain(asSent(api, actual.value)));
    },
  },

  /** What the model reads in the body that oh-my-pi sends to a server on this machine. */
  said: {
    questions: ({ id, api }) => [{ kind: "body", id, api }],
    async compare(world, { id, api }, [sent]) {
      // oh-my-pi sends nothing if the type of a block is unknown to it.
      if (sent.none) return (await world.run(["context", world.file, ref(id), "--as", api])).code < 2 ? null : exit("0 or 1", 2, "");
      const profile = { anthropic: "anthropic/claude-sonnet-4-5", google: "google/gemini-3.1-pro-preview" }[api] ?? "openai/gpt-5.1";
      const [expected, actual] = [said(api, sent), await world.json(["context", world.file, ref(id), "--as", api, "--model", profile])];
      if (actual.problem) return expected.steps.length + expected.images.length > 0 ? actual.problem : null;
      return difference(plain(expected), plain(said(api, actual.value)));
    },
  },

  tokens: {
    questions: ({ id }) => [{ kind: "tokens", id }],
    async compare(world, { id }, [expected]) {
      const actual = await world.json(["context", world.file, ref(id), "--tokens"]);
      return actual.problem ?? difference(expected, actual.value?.tokens ?? actual.value);
    },
  },

  path: {
    questions: ({ id }) => [{ kind: "path", id }],
    async compare(world, { id }, [expected]) {
      const actual = await world.jsonLines(["path", world.file, ref(id), "--json"]);
      return actual.problem ?? difference(expected, actual.value, { order: true });
    },
  },

  labels: {
    questions: () => [{ kind: "labels" }],
    async compare(world, _, [expected]) {
      const actual = await world.jsonLines(["label", world.file, "--json"]);
      if (actual.problem) return actual.problem;
      // The labelled entry is `targetId` in the rows of the agent, and `id` in those of pisess.
      const sorted = (list) =>
        Object.fromEntries(list.map(({ id, targetId, label, timestamp }) => [targetId ?? id, { label, timestamp: timestamp ?? null }]));
      return difference(sorted(expected), sorted(actual.value));
    },
  },

  tree: {
    questions: ({ filter, search, leaf }) => [{ kind: "tree", filter, search, leaf }],
    async compare(world, { filter, search, leaf }, [expected]) {
      const args = ["tree", world.file, ...(leaf ? [ref(leaf)] : []), "--json", "--filter", filter];
      if (search) args.push("--search", search);
      const actual = await world.jsonLines(args, { empty: 1 });
      if (actual.problem) return actual.problem;
      const drawn = await drawnAsPi(world, args, actual.value);
      if (drawn) return drawn;
      const [ours, theirs] = rows(expected, actual.value, { dialect: world.dialect, filter, search });
      const missing = difference(ours, theirs);
      if (missing || !search) return missing;
      // A match is in the entry as `show` prints it, which an older session has once it is migrated.
      const lines = readFileSync(world.peerFile, "utf8").split("\n");
      const known = new Set(expected.map((row) => row.id));
      const wrong = actual.value.find((row) => !matches(row, lines[row.line - 1], search, known.has(row.id), world.dialect));
      return wrong ? { pointer: "match", expected: search, actual: wrong } : null;
    },
  },

  stats: {
    questions: () => [{ kind: "stats" }],
    async compare(world, _, [{ tokens, cost, ...counts }]) {
      const actual = await world.json(["stats", world.file, "--json"]);
      if (actual.problem) return actual.problem;
      const { messages: totalMessages, userMessages, assistantMessages, toolCalls, toolResults } = actual.value;
      const found = { userMessages, assistantMessages, toolCalls, toolResults, totalMessages };
      return difference({ ...counts, tokens, cost }, { ...found, tokens: actual.value.tokens, cost: actual.value.cost });
    },
  },

  prepare: {
    questions: ({ keepRecentTokens }) => [{ kind: "prepare", keepRecentTokens }],
    async compare(world, { keepRecentTokens }, [expected]) {
      const args = ["compact", world.file, "--prepare", "--json", "--keep-recent-tokens", `${keepRecentTokens}`];
      const actual = await world.json(args, { code: expected ? 0 : 1 });
      return actual.problem ?? difference(preparation(expected), preparation(actual.value));
    },
  },

  summarize: {
    questions: ({ id }) => [{ kind: "summarize", id }],
    async compare(world, { id }, [expected]) {
      // If only notes would be left behind, pisess summarizes nothing.
      const nothing = expected.entriesToSummarize.every(({ type }) => NOTES.includes(type));
      const actual = await world.json(["summarize", world.file, ref(id), "--prepare", "--json"], { code: nothing ? 1 : 0 });
      if (actual.problem) return actual.problem;
      if (nothing) return null;
      // If the target's parent is not in the file, pi moves to an entry that it then does not find.
      if (expected.newLeafId !== null && actual.value.newLeafId === null) expected.newLeafId = null;
      const { readFiles, modifiedFiles } = expected.readFiles ? actual.value : {};
      return difference(abandoned(expected), abandoned({ ...actual.value, readFiles, modifiedFiles }));
    },
  },

  fork: {
    questions: ({ id }) => [{ kind: "fork", id }, { kind: "path", id }],
    async compare(world, { id }, [expected, path]) {
      const actual = await world.jsonLines(["fork", world.file, ref(id), "-o", "-"]);
      if (actual.problem) return actual.problem;
      // oh-my-pi drops labels without giving their children a new parent, and keeps a parent that is not in the
      // file; in both cases pisess does what pi does.
      const chained =
        world.dialect === "pi" || !((path[0]?.parentId ?? null) !== null || path.some((entry) => entry.type === "label"));
      return sameEntries(expected, actual.value, { dialect: world.dialect, chained });
    },
  },

  migrate: {
    questions: () => [],
    async compare(world) {
      const [{ ok: expected }] = await world.peer.ask(world.file, [{ kind: "migrate" }]);
      const source = readFileSync(world.file, "utf8");
      const { code, stdout, stderr } = await world.run(["migrate", "-"], source);
      return code === 0 ? sameMigration(source, expected, stdout) : exit(0, code, stderr);
    },
  },

  label: {
    questions: ({ id, label }) => [{ kind: "write", action: { kind: "label", target: id, label } }],
    compare: (world, { id, label }, [[line]]) =>
      written(world, ["label", world.file, ref(id), ...(label === undefined ? ["--clear"] : ["--", label])], line),
  },

  compact: {
    questions: ({ keepRecentTokens }) => [{ kind: "prepare", keepRecentTokens }],
    async compare(world, { keepRecentTokens, summary }, [prepared]) {
      const args = ["compact", world.file, "--summary", summary, "--keep-recent-tokens", `${keepRecentTokens}`];
      if (!prepared) return unwritten(world, args);
      const { firstKeptEntryId: firstKept, tokensBefore, details } = prepared;
      const options = { details, fromExtension: false };
      const action = { kind: "compaction", summary, firstKept, tokensBefore, details, fromHook: false, options };
      const [answer] = await world.ask([{ kind: "write", action }]);
      return written(world, args, answer[0]);
    },
  },

  /** A hook receives what the agent passes to its extensions. */
  told: {
    questions: ({ id, leaf, keepRecentTokens }) => [
      { kind: "context", id },
      { kind: "path", id },
      { kind: "summarize", id },
      { kind: "prepare", keepRecentTokens },
      { kind: "path", id: leaf },
    ],
    async compare(world, { id, leaf, keepRecentTokens }, [context, path, summarize, prepare, branch]) {
      const event = { messages: context.messages, branchEntries: path };
      const found = await told(world, ["context", world.file, ref(id)], (actual) => difference(event, pick(actual, event)));
      if (found) return found;
      const left = (actual) => difference(abandoned(summarize), abandoned(actual.preparation));
      // If the target's parent is not in the file, pi moves to an entry that it then does not find.
      const lands = summarize.newLeafId === null || hasEntry(world, summarize.newLeafId);
      const moves = id !== leaf && lands && summarize.readFiles;
      const missed = moves && (await told(world, ["switch", world.file, ref(id), "--summary", "s"], left));
      if (missed) return missed;
      if (!prepare) return null;
      return told(world, ["compact", world.file, "--keep-recent-tokens", `${keepRecentTokens}`], (actual) =>
        difference(
          { ...preparation(prepare), branchEntries: branch },
          { ...preparation(actual.preparation), branchEntries: actual.branchEntries },
        ),
      );
    },
  },

  /** The reply of a hook is stored like the reply of an extension. */
  hooked: {
    questions: ({ keepRecentTokens }) => [{ kind: "prepare", keepRecentTokens }],
    async compare(world, { keepRecentTokens, summary }, [prepared]) {
      if (!prepared) return null;
      const answer = { summary, tokensBefore: 7, details: { n: 1 }, ...(world.dialect === "pi" && { usage: { input: 1 } }) };
      const file = world.scratch();
      writeFileSync(file, JSON.stringify({ compaction: answer }));
      const args = ["compact", world.file, "--keep-recent-tokens", `${keepRecentTokens}`, "--hook", `cat '${file}'`];
      const { details, tokensBefore, usage } = answer;
      const options = { details, fromExtension: true };
      const { firstKeptEntryId: firstKept } = prepared;
      const action = { kind: "compaction", summary, firstKept, tokensBefore, details, fromHook: true, usage, options };
      const [lines] = await world.ask([{ kind: "write", action }]);
      return written(world, args, lines[0]);
    },
  },

  leave: {
    questions: ({ id }) => [{ kind: "summarize", id }],
    compare: (world, { id, summary }, [prepared]) => left(world, ["summarize", world.file, ref(id)], prepared, summary),
  },

  /** Both find the same last user message. */
  pop: {
    questions: () => [{ kind: "entries" }],
    async compare(world, { summary }, [entries]) {
      const id = lastQuestion(entries);
      if (id === undefined) return unwritten(world, ["pop", world.file]);
      const [prepared] = await world.ask([{ kind: "summarize", id }]);
      return left(world, ["pop", world.file], prepared, summary);
    },
  },

  /** Entries from options are those that the agent's own methods write, in the order of pisess. */
  append: {
    questions: ({ entries }) => [{ kind: "write", action: { kind: "entries", entries, now: Date.parse(NOW) } }],
    async compare(world, { entries }, [lines]) {
      return written(world, ["append", world.file, ...entries.flatMap(words)], ...lines);
    },
  },

  /** Entries as JSON without ids, parents and times: the agent opens the result. */
  lines: {
    questions: () => [],
    async compare(world, { lines }) {
      const from = world.scratch();
      writeFileSync(from, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
      return grown(world, ["append", world.file, "--input", from], lines.length);
    },
  },

  /**
   * The line that pi itself writes for an edit. pi does not check tool calls and compactions; pisess refuses some
   * edits.
   */
  edit: {
    questions: ({ id, content }) => [{ kind: "write", action: { kind: "edit", target: id, replacement: content === undefined ? null : { content } } }],
    async compare(world, { id, content }, [lines]) {
      const args = ["edit", world.file, ref(id), ...(content === undefined ? ["--omit"] : ["--replace", content])];
      const out = world.scratch();
      const { code, stdout, stderr } = await world.run([...args, "-o", out]);
      if (code === 2 && (lines.length === 0 || /tool call|a compaction replaced it/.test(stderr))) return null;
      if (code !== 0) return exit(0, code, stderr);
      if (stdout === "") return null;
      const found = await written(world, args, ...lines);
      if (found) return found;
      const undone = world.scratch();
      const back = await world.run(["edit", out, ref(id), "--restore", "-o", undone]);
      // If an earlier edit removed the call, its result cannot be restored alone.
      if (back.code === 2 && /tool call/.test(back.stderr)) return null;
      const after = await world.json(["context", undone, "--json"]);
      return after.problem ?? (await opens(world, undone, after.value));
    },
  },

  /** Copies open in the agent; picks that would be incomplete are refused. */
  pick: {
    questions: () => [],
    async compare(world, { ids, onto }) {
      const args = ["pick", world.file, ...ids.map(ref), "--at", ref(onto)];
      const { code, stderr } = await world.run([...args, "-n"]);
      if (code === 2 && REFUSALS.test(stderr)) return null;
      return grown(world, args);
    },
  },

  /**
   * A branch summary at the leaf, as for a move from the branch to the leaf; but `fromId` is the end of the branch in
   * both formats.
   */
  merge: {
    questions: ({ id }) => [{ kind: "summarize", from: id }, { kind: "leaf" }],
    async compare(world, { id, summary }, [{ entriesToSummarize, readFiles, modifiedFiles }, leaf]) {
      const args = ["merge", world.file, ref(id)];
      const nothing = entriesToSummarize.every(({ type }) => NOTES.includes(type));
      const prepared = await world.json([...args, "--prepare", "--json"], { code: nothing ? 1 : 0 });
      if (prepared.problem) return prepared.problem;
      const found = difference(plain(entriesToSummarize), prepared.value.entriesToSummarize);
      if (found || !readFiles) return found;
      const action = { kind: "merge", from: id, to: leaf, summary, details: { readFiles, modifiedFiles }, byExtension: false };
      const [[line]] = await world.ask([{ kind: "write", action }]);
      return written(world, [...args, "--summary", summary], JSON.stringify({ ...JSON.parse(line), fromId: id }));
    },
  },

  /**
   * The entry is the one that the agent would append after a move to the same place. Selecting the leaf does nothing,
   * as in pi.
   */
  switch: {
    questions: ({ id }) => [{ kind: "summarize", id }, { kind: "entries" }],
    async compare(world, { id }, [{ oldLeafId: from, newLeafId: to }, entries]) {
      const args = ["switch", world.file, ref(id)];
      if (id === from) return nothingWritten(world, args);
      if (to !== null && !hasEntry(world, to)) return null;
      if (standsAt(entries, from, to)) return nothingWritten(world, args);
      const action = { kind: "custom", to, customType: "pisess.switch", data: { from, to } };
      const [answer] = await world.ask([{ kind: "write", action }]);
      return written(world, args, answer[0]);
    },
  },

  /** After an operation and its undo, the agent has the context and the labels that it had before, and continues. */
  undo: {
    questions: () => [{ kind: "labels" }],
    async compare(world, { args }, [labels]) {
      const [made, undone] = [world.scratch(), world.scratch()];
      const first = await world.run([args[0], world.file, ...args.slice(1), "-o", made, "--json"]);
      // There may be nothing to compact.
      if (first.code > 1) return exit(0, first.code, first.stderr);
      // Nothing is undone where nothing was done.
      if (first.code === 1 || JSON.parse(first.stdout).written.length === 0) return null;
      const { code, stderr } = await world.run(["undo", made, "-o", undone]);
      if (code !== 0) return exit(0, code, stderr);
      const before = await world.json(["context", world.file, "--json"]);
      const [kept] = await world.ask([{ kind: "labels" }], undone);
      const order = (rows) => rows.map(({ targetId, label }) => `${targetId} ${label}`).sort();
      const found = before.problem ?? difference(order(labels), order(kept));
      return found ?? (await opens(world, undone, before.value));
    },
  },

  /**
   * An entry with all entries below it opens in the agent. Its leaf is that of the source, or else its last entry.
   */
  subtree: {
    questions: () => [{ kind: "entries" }],
    async compare(world, { id }, [entries]) {
      const out = world.scratch();
      const { code, stderr } = await world.run(["fork", world.file, ref(id), "--subtree", "-o", out]);
      if (code !== 0) return exit(0, code, stderr);
      const inside = below(entries, id);
      const kept = entries.filter(({ id: other, type }) => type !== "label" && (inside.has(other) || above(entries, id).has(other)));
      if (mayBeTakenForOther(world, kept)) return null;
      const made = readFileSync(out, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line).id);
      const missing = difference(kept.map((entry) => entry.id), made.filter((other) => kept.some((entry) => entry.id === other)));
      if (missing) return missing;
      const last = entries.at(-1).id;
      const stands = inside.has(last) ? last : entries.findLast((entry) => inside.has(entry.id) && entry.type !== "label")?.id ?? id;
      for (const { id: other } of [...kept.slice(0, 2), ...kept.slice(-2)]) {
        const [before, after] = [await world.json(["context", world.file, ref(other)]), await world.json(["context", out, ref(other)])];
        const found = before.problem ?? after.problem ?? difference(before.value, after.value);
        if (found) return { ...found, pointer: `(at ${other})${found.pointer}` };
      }
      const before = await world.json(["context", world.file, ref(stands)]);
      return before.problem ?? (await opens(world, out, before.value));
    },
  },

  /**
   * After `prune --compacted`, the agent finds at each tip the context, its size and the next compaction that it found
   * before, and continues; after `prune --branch`, the same at the other tips. `--restore` gives every byte back.
   */
  pruned: {
    questions: () => [{ kind: "entries" }],
    async compare(world, { keepRecentTokens }, [entries]) {
      const rows = await world.jsonLines(["branches", world.file, "--json"]);
      if (rows.problem) return rows.problem;
      if (mayBeTakenForOther(world, entries)) return null;
      const tips = rows.value.filter(({ id }) => id);
      const other = tips.find(({ active, branchPoint }) => !active && branchPoint);
      for (const [args, left] of [[["--compacted"], tips], ...(other ? [[["--branch", ref(other.id), "--force"], tips.filter(({ id }) => id !== other.id)]] : [])]) {
        const [out, whole] = [world.scratch(), world.scratch()];
        const { code, stderr } = await world.run(["prune", world.file, ...args, "-o", out]);
        if (code !== 0) return exit(0, code, stderr);
        const questions = left.slice(0, 6).flatMap(({ id }) => [{ kind: "context", id }, { kind: "tokens", id }, { kind: "prepare", id, keepRecentTokens }]);
        const still = args[0] === "--compacted" ? questions : questions.filter(({ id }) => readFileSync(out, "utf8").includes(JSON.stringify(id)));
        const [before, after] = [await world.ask(still), await world.ask(still, out)];
        for (const [at, { kind, id }] of still.entries()) {
          const found = difference(before[at], after[at]);
          if (found) return { ...found, pointer: `(${args[0]}: ${kind} at ${id})${found.pointer}` };
        }
        if (existsSync(`${out}.pruned`)) {
          const restored = await world.run(["prune", out, "--restore", "-o", whole]);
          if (restored.code !== 0) return exit(0, restored.code, restored.stderr);
          const found = difference(readFileSync(world.file, "latin1"), readFileSync(whole, "latin1"));
          if (found) return { ...found, pointer: `(restored)${found.pointer}` };
        }
        const context = await world.json(["context", out, "--json"]);
        const found = context.problem ?? (await opens(world, out, context.value));
        if (found) return found;
      }
      return null;
    },
  },

  /** The tokens of each branch are those of the agent, and exactly one branch is active. */
  branches: {
    questions: () => [{ kind: "entries" }],
    async compare(world) {
      const rows = await world.jsonLines(["branches", world.file, "--json"]);
      if (rows.problem) return rows.problem;
      const tokens = await world.ask(rows.value.map(({ id }) => ({ kind: "tokens", id })));
      const active = rows.value.filter((row) => row.active).length;
      return difference([...tokens, "active", 1], [...rows.value.map((row) => row.tokens), "active", active]);
    },
  },

  /** A fork, or a migrated file, opens in the agent and has the same context. */
  reopen: {
    questions: ({ id }) => (id ? [{ kind: "path", id }] : []),
    async compare(world, { id, by }, [path]) {
      if (by === "fork" && mayBeTakenForOther(world, path)) return null;
      const out = world.scratch();
      const { code, stderr } = await world.run([by, world.file, ...(id ? [ref(id)] : []), "-o", out]);
      if (code !== 0) return exit(0, code, stderr);
      const before = await world.json(["context", world.file, ...(id ? [ref(id)] : []), "--json"]);
      return before.problem ?? (await opens(world, out, before.value));
    },
  },

  /** The migrated draft tree contains for pi what its design specifies; no program implements that design. */
  draft: {
    questions: () => [{ kind: "context" }],
    async compare(world, _, [{ messages }]) {
      const found = messages.map(({ role, content, summary }) => [role, content ?? summary]);
      return difference(meaning(world.lines), plain(found));
    },
  },
};

const REFUSALS = /tool call|labels an entry|keeps entries from|edits an entry/;

/** The types of bookkeeping, as docs/format.md lists them (tests/it/kinds.rs compares that list with pisess). */
const NOTES = (() => {
  const text = readFileSync(new URL("../../../docs/format.md", import.meta.url), "utf8");
  const [, list] = /\*\*bookkeeping\*\*: entries of the types([^]*?)\. None of these/.exec(text);
  return [...list.matchAll(/`(\w+)`/g)].map(([, type]) => type);
})();

/** Returns the first difference between the order of the rows that `--layout pi` draws and of those of `--json`. */
async function drawnAsPi(world, args, rows) {
  const { code, stdout, stderr } = await world.run([...args.filter((arg) => arg !== "--json"), "--layout", "pi", "--unfold"]);
  if (code > 1) return exit(0, code, stderr);
  const lines = stdout.split("\n").slice(0, -1);
  const expected = rows.map(({ id }) => id);
  // Ids that a terminal would not show as they are stored are not compared.
  const actual = lines.map((line, at) => (!/^[\w-]+$/.test(expected[at] ?? "") || line.startsWith(`${expected[at]} `) ? expected[at] : line));
  return difference(expected, actual, { order: true });
}

const ref = (id) => `id:${id}`;

/** Returns the options with which pisess writes such an entry. */
const words = ({ what, text, type, data }) =>
  ({
    name: ["--name", text],
    model: ["--model", text],
    thinking: ["--thinking", text],
    custom: ["--custom", type, ...(data === undefined ? [] : ["--data", JSON.stringify(data)])],
    custom_message: ["--custom-message", type, "--text", text],
    user: ["--user", text],
  })[what];

/** Checks that pisess adds the lines of the agent and nothing else, and that the agent opens the result. */
const written = (world, args, ...lines) => grown(world, args, lines.length, lines);

/**
 * Checks that pisess adds `count` lines (if given), equal to `lines` (if given), and nothing else, and that the
 * agent opens the result.
 */
async function grown(world, args, count, lines = []) {
  const out = world.scratch();
  const { code, stderr } = await world.run([...beforeDashes(args, ["-o", out])]);
  if (code !== 0) return exit(0, code, stderr);
  const [source, result] = [world.peerFile, out].map((file) => readFileSync(file, "utf8"));
  const whole = source.endsWith("\n") ? source : `${source}\n`;
  if (!result.startsWith(whole)) return { pointer: "(earlier bytes)", expected: "as they were", actual: "changed" };
  const added = result.slice(whole.length).split("\n").filter(Boolean).map((line) => JSON.parse(line));
  if (count !== undefined && added.length !== count) return { pointer: "(lines added)", expected: count, actual: added };
  const late = added.find(({ timestamp }) => timestamp !== NOW);
  if (late) return { pointer: "/timestamp", expected: NOW, actual: late.timestamp };
  const expected = lines.map((line) => JSON.parse(line));
  const found = lines.length > 0 && difference(chained(expected), chained(added), { order: true });
  if (found) return found;
  const after = await world.json(["context", out, "--json"]);
  return after.problem ?? (await opens(world, out, after.value, added.at(-1).id));
}

/** Returns entries without ids and times. If the parent is the entry before, only that is kept. */
const chained = (entries) =>
  entries.map((entry, at) =>
    unstamped(at > 0 && entry.parentId === entries[at - 1].id ? { ...entry, parentId: "(the one before)" } : entry),
  );
/** Returns the id of the last user message on the path to the leaf, as the agents define it. */
function lastQuestion(entries) {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const isPrompt = ({ role, type, customType, attribution }) =>
    (role ?? type).startsWith("custom") && ["skill-prompt", "collab-prompt"].includes(customType) && attribution === "user";
  for (let at = entries.at(-1); at; at = byId.get(at.parentId)) {
    const message = at.type === "message" ? at.message : at;
    if (message.role === "user" || isPrompt(message)) return at.id;
  }
}

/** Checks that the branch summary is that of the agent. */
async function left(world, args, { newLeafId: to, readFiles, modifiedFiles }, summary) {
  // If the target's parent is not in the file, pi throws; pisess moves to before the first entry.
  if (!readFiles || (to !== null && !hasEntry(world, to))) return null;
  const action = { kind: "branch_summary", to, summary, details: { readFiles, modifiedFiles }, byExtension: false };
  const [answer] = await world.ask([{ kind: "write", action }]);
  return written(world, [...args, "--summary", summary], answer[0]);
}

/** Returns the ids of an entry and of all entries below it. */
function below(entries, id) {
  const inside = new Set([id]);
  for (let size = 0; size !== inside.size; ) {
    size = inside.size;
    for (const entry of entries) if (inside.has(entry.parentId)) inside.add(entry.id);
  }
  return inside;
}

/** Returns the ids of the entries above it. */
function above(entries, id) {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const found = new Set();
  for (let at = byId.get(byId.get(id)?.parentId); at; at = byId.get(at.parentId)) found.add(at.id);
  return found;
}

/** Whether an entry is the leaf, or only labels follow it up to the leaf. */
function standsAt(entries, leaf, place) {
  const parents = new Map(entries.filter(({ type }) => type === "label").map(({ id, parentId }) => [id, parentId]));
  let at = leaf;
  while (at !== place && parents.has(at)) at = parents.get(at);
  return at === place;
}

/** Checks that the output is the unchanged session. */
async function nothingWritten(world, args) {
  const { code, stdout, stderr } = await world.run([...args, "-o", "-"]);
  if (code !== 0) return exit(0, code, stderr);
  return stdout === readFileSync(world.file, "utf8") ? null : { pointer: "(session)", expected: "as it was", actual: "changed" };
}

/** Adds options before a `--`. */
function beforeDashes(args, more) {
  const at = args.indexOf("--");
  return at < 0 ? [...args, ...more] : [...args.slice(0, at), ...more, ...args.slice(at)];
}

/** Compares the event that a hook receives; the hook then cancels the operation. */
async function told(world, args, compare) {
  const event = world.scratch();
  const hook = `cat > '${event}'; echo '{"cancel":true}'`;
  const { code, stderr } = await world.run([...args, "--hook", hook]);
  if (code !== 1) return exit(1, code, stderr);
  // If there is nothing to do, no hook is called.
  if (!existsSync(event)) return null;
  return compare(JSON.parse(readFileSync(event, "utf8")));
}

const pick = (from, like) => Object.fromEntries(Object.keys(like).map((name) => [name, from[name]]));

async function unwritten(world, args) {
  const { code, stderr } = await world.run([...args, "-o", world.scratch()]);
  return code === 1 ? null : exit(1, code, stderr);
}

/** Removes random ids and times. */
function unstamped({ id, timestamp, ...entry }) {
  if (entry.firstKeptEntryId === id) entry.firstKeptEntryId = "itself";
  if (entry.systemMessage) entry.systemMessage = { ...entry.systemMessage, timestamp: 0 };
  return entry;
}

/**
 * Checks that the agent has the same leaf and context as pisess; then the agent appends, and pisess must have the
 * same context again.
 */
async function opens(world, file, context, leaf) {
  const out = world.scratch();
  const [answer] = await world.ask([{ kind: "reopen", out }], file);
  if (leaf && answer.leaf !== leaf) return { pointer: "(leaf)", expected: answer.leaf, actual: leaf };
  const found = difference(wholeContext(answer.context), wholeContext(context));
  if (found) return { ...found, pointer: `(opened)${found.pointer}` };
  const continued = await world.json(["context", out, "--json"]);
  if (continued.problem) return continued.problem;
  const later = difference(wholeContext(answer.continued), wholeContext(continued.value));
  for (const made of [file, out]) rmSync(made, { force: true });
  return later && { ...later, pointer: `(continued)${later.pointer}` };
}

const CONTEXT = ["messages", "thinkingLevel", "model", "models", "mode", "modeData", "serviceTier", "configuredThinkingLevel", "injectedTtsrRules"];

/** Whether a part of a file of pi would be taken for a file of oh-my-pi. */
const mayBeTakenForOther = (world, part) =>
  // The first thing in it that is specific to an agent would be a role of oh-my-pi.
  world.dialect === "pi" && part.some(({ message }) => message?.role === "developer");

const hasEntry = (world, id) =>
  world.lines.some((line) => {
    try {
      return JSON.parse(line).id === id;
    } catch {
      return false;
    }
  });

// Returns the members of a context that are promised, without null, which may as well be absent. oh-my-pi has only
// `models`; pisess prints `model`, too, for both agents.
export const wholeContext = (context) =>
  Object.fromEntries(
    CONTEXT.filter((name) => name !== "model" || !context.models).flatMap((name) =>
      (context[name] ?? null) === null ? [] : [[name, context[name]]],
    ),
  );

const PREPARATION = ["firstKeptEntryId", "isSplitTurn", "tokensBefore", "messagesToSummarize", "turnPrefixMessages"];

function preparation(found) {
  if (!found) return null;
  const kept = Object.fromEntries(PREPARATION.map((name) => [name, found[name]]));
  const fileOps = Object.fromEntries(["read", "written", "edited"].map((name) => [name, [...(found.fileOps?.[name] ?? [])].sort()]));
  return plain({ ...kept, previousSummary: found.previousSummary ?? null, fileOps });
}

const ABANDONED = ["oldLeafId", "commonAncestorId", "newLeafId", "editorText"];

function abandoned(found) {
  const { entriesToSummarize, readFiles, modifiedFiles } = found;
  const rest = Object.fromEntries(ABANDONED.map((name) => [name, found[name] ?? null]));
  return plain({ ...rest, entriesToSummarize, readFiles, modifiedFiles });
}

const exit = (expected, code, stderr) => ({ pointer: "(exit code)", expected, actual: `${code}: ${stderr.trim().slice(0, 300)}` });

/** Returns the first difference between two texts, with a few units before and after it. */
function firstUnit(expected, actual, trim) {
  if (expected === actual || expected === trim(actual)) return null;
  let at = 0;
  while (at < expected.length && expected[at] === actual[at]) at++;
  const piece = (text) => text.slice(Math.max(0, at - 30), at + 60);
  return { pointer: `(unit ${at})`, expected: piece(expected), actual: piece(actual) };
}
