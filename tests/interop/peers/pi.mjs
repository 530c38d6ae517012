// Answers questions with the code of pi. Started with Node 22 as `pi.mjs <package folder>`; the code of both
// versions of pi has the same layout.

import { copyFileSync, existsSync, mkdtempSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { body } from "./pi-sender.mjs";
import { turn } from "./turn.mjs";
import { attempt, part, serve } from "./wire.mjs";

const scratch = mkdtempSync(join(tmpdir(), "interop-pi-"));
process.env.PI_CODING_AGENT_DIR = join(scratch, "agent");

const plainTheme = new URL("./plain-theme.mjs", import.meta.url).href;
registerHooks({
  resolve: (specifier, context, next) =>
    specifier.endsWith("/theme/theme.js") ? { url: plainTheme, shortCircuit: true } : next(specifier, context),
});

const dist = (path) => import(pathToFileURL(resolve(process.argv[2], "dist", path)).href);
const { SessionManager, buildSessionContext, buildSessionProjection } = await dist("core/session-manager.js");
const { convertToLlm } = await dist("core/messages.js");
const compaction = await dist("core/compaction/compaction.js");
const { collectEntriesForBranchSummary, prepareBranchEntries } = await dist("core/compaction/branch-summarization.js");
const { computeFileLists, serializeConversation } = await dist("core/compaction/utils.js");
const { addUsageToTotals, createUsageTotals } = await dist("core/usage-totals.js");
const { TreeSelectorComponent } = await dist("modes/interactive/components/tree-selector.js");

/**
 * The counts of `/session`: a method of a class that cannot be loaded, because packages that it imports are not
 * published. The method does not need them, so its text is taken from the file.
 */
const { getSessionStats } = (() => {
  const text = readFileSync(resolve(process.argv[2], "dist/core/agent-session.js"), "utf8");
  const method = text.slice(text.indexOf("    getSessionStats() {"), text.indexOf("    getContextUsage() {"));
  return new Function("createUsageTotals", "addUsageToTotals", `return {${method}}`)(createUsageTotals, addUsageToTotals);
})();

/** A model's window of 128,000 tokens less the 16,384 that pi reserves for prompt and response. */
const BRANCH_BUDGET = 128000 - 16384;

let copies = 0;

/** Opens a copy, because pi repairs and migrates the file it opens. */
function open(file) {
  const copy = join(scratch, `${++copies}.jsonl`);
  copyFileSync(file, copy);
  return SessionManager.open(copy);
}

const at = (session) => ({ entries: session.getEntries(), byId: session.byId });

function context(session, id = session.getLeafId()) {
  const { entries, byId } = at(session);
  return buildSessionContext(entries, id, byId);
}

function tokens(session, id) {
  const { entries, byId } = at(session);
  return compaction.estimateProjectedContextTokens(buildSessionProjection(entries, id, byId), session.getBranch(id)).tokens;
}

function labels(session) {
  return [...session.labelsById].map(([targetId, label]) => ({
    targetId,
    label,
    timestamp: session.labelTimestampsById.get(targetId),
  }));
}

function tree(session, { filter, search, leaf = session.getLeafId() }) {
  const nothing = () => {};
  const selector = new TreeSelectorComponent(session.getTree(), leaf, 1000, nothing, nothing, nothing, undefined, filter);
  const list = selector.getTreeList();
  if (search) selector.handleInput(search);
  return list.filteredNodes.map(({ node, indent }) => ({
    id: node.entry.id,
    depth: list.multipleRoots ? Math.max(0, indent - 1) : indent,
    label: node.label ?? null,
    active: list.activePathIds.has(node.entry.id),
    text: list.getEntryDisplayText(node, false),
  }));
}

/** Adds empty usage to messages without it, on which pi throws. */
function stats(session) {
  const none = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: { total: 0 } };
  const entries = session.getEntries().map((entry) =>
    entry.message?.role === "assistant" && !entry.message.usage ? { ...entry, message: { ...entry.message, usage: none } } : entry,
  );
  return getSessionStats.call({ sessionManager: { getEntries: () => entries }, getContextUsage: () => undefined });
}

function prepare(session, { keepRecentTokens, id = session.getLeafId() }) {
  const settings = { enabled: true, reserveTokens: 16384, keepRecentTokens };
  const preparation = compaction.prepareCompaction(session.getBranch(id), settings);
  if (!preparation) return null;
  const { fileOps, settings: _, ...rest } = preparation;
  return { ...rest, fileOps: sets(fileOps), details: computeFileLists(fileOps) };
}

const sets = (fileOps) => Object.fromEntries(Object.entries(fileOps).map(([name, set]) => [name, [...set]]));

function summarize(session, { id: targetId = session.getLeafId(), from: oldLeafId = session.getLeafId() }) {
  const { entries, commonAncestorId } = collectEntriesForBranchSummary(session, oldLeafId, targetId);
  return { oldLeafId, commonAncestorId, entriesToSummarize: entries, ...branchFiles(entries), ...navigation(session.getEntry(targetId)) };
}

/**
 * Returns the file lists of a branch. pi throws on a message without content here, although it shows and sends it.
 */
function branchFiles(entries) {
  const { ok, error } = part(() => prepareBranchEntries(entries, BRANCH_BUDGET));
  if (error && !entries.some(({ type, message }) => type === "message" && message.content == null)) throw new Error(error);
  return ok ? computeFileLists(ok.fileOps) : {};
}

/** Returns where the agent's navigation would end, and the text that its editor would contain. */
function navigation(entry) {
  const isRequest = entry.type === "custom_message" || entry.message?.role === "user";
  if (!isRequest) return { newLeafId: entry.id };
  const { content } = entry.message ?? entry;
  const text = typeof content === "string" ? content : (content ?? []).map((b) => (b.type === "text" ? b.text : "")).join("");
  return { newLeafId: entry.parentId, editorText: text };
}

function fork(session, id) {
  session.createBranchedSession(id);
  return session.fileEntries;
}

const asLines = (text) => text.split("\n").filter((line) => line.trim());
const linesOf = (session) => asLines(readFileSync(session.getSessionFile(), "utf8"));

/** The answer to each kind of question. Those that change the session open a copy of their own. */
const ANSWERS = {
  leaf: (session) => session.getLeafId(),
  entries: (session) => session.getEntries(),
  context: (session, { id }) => context(session, id),
  llm: (session, { id }) => convertToLlm(context(session, id).messages),
  body: (session, { id, ...target }) => body(process.argv[2], target, convertToLlm(context(session, id).messages)),
  text: (session, { id }) => serializeConversation(convertToLlm(context(session, id).messages)),
  tokens: (session, { id }) => tokens(session, id),
  path: (session, { id }) => session.getBranch(id),
  labels,
  tree,
  prepare,
  stats,
  summarize,
  fork: (_, { id }, file) => fork(open(file), id),
  migrate: (session) => linesOf(session),
  write: (_, { action }, file) => write(open(file), action),
  reopen: (session, { out }) => reopen(session, out),
};

await serve({
  hello: () => ({ node: process.versions.node }),

  /** Returns the sessions as pi lists them, or the one that it continues. `agent` is pi's own directory. */
  async list({ agent, cwd, dir, all, newest }) {
    const own = process.env.PI_CODING_AGENT_DIR;
    process.env.PI_CODING_AGENT_DIR = agent;
    try {
      if (newest) return SessionManager.continueRecent(cwd, dir).getSessionFile();
      const sessions = await (all ? SessionManager.listAll(dir) : SessionManager.list(cwd, dir));
      return sessions.map(({ allMessagesText, ...session }) => session);
    } finally {
      process.env.PI_CODING_AGENT_DIR = own;
    }
  },

  /** Returns the skills that pi finds in a home directory, and its warnings. */
  async skills({ home }) {
    const bundled = existsSync(resolve(process.argv[2], "dist/bundle/index.js"));
    const { DefaultResourceLoader } = await dist(bundled ? "bundle/index.js" : "index.js");
    process.env.HOME = home;
    const loader = new DefaultResourceLoader({ cwd: home, agentDir: join(home, ".pi/agent") });
    await loader.reload();
    const { skills, diagnostics } = loader.getSkills();
    return { skills: skills.map(({ name, description, filePath: path }) => ({ name, description, path })), warnings: diagnostics };
  },

  /** Runs one of pi's own tools: `read`, `write` or `edit`. Returns its result, or why it failed. */
  async tool({ name, args, cwd }) {
    const tools = await dist(`core/tools/${name}.js`);
    const title = name[0].toUpperCase() + name.slice(1);
    const tool = tools[`create${title}ToolDefinition`](cwd);
    const prepared = tool.prepareArguments ? tool.prepareArguments(structuredClone(args)) : args;
    try {
      const { content, details } = await tool.execute("call", prepared, undefined, undefined, undefined);
      return { content, details, isError: false };
    } catch (error) {
      return { content: [{ type: "text", text: error.message }], isError: true };
    }
  },

  async ask({ file, questions }) {
    const session = open(file);
    const answers = [];
    for (const question of questions) answers.push(await attempt(() => ANSWERS[question.kind](session, question, file)));
    return answers;
  },
});

/** Writes with the agent's own methods; returns the new lines. */
function write(session, action) {
  const before = linesOf(session).length;
  perform(session, action);
  return linesOf(session).slice(before);
}

function perform(session, action) {
  switch (action.kind) {
    case "label":
      return session.appendLabelChange(action.target, action.label);
    case "compaction":
      return session.appendCompaction(action.summary, action.firstKept, action.tokensBefore, action.details, action.fromHook, action.usage);
    case "branch_summary":
      return session.branchWithSummary(action.to, action.summary, action.details, action.byExtension);
    case "entries":
      return action.entries.forEach((entry) => append(session, entry, action.now));
    case "edit":
      // If pi refuses an edit, there is no new line.
      return part(() => session.appendContextEdit(action.target, action.replacement));
    case "merge":
      session.branch(action.from);
      return session.branchWithSummary(action.to, action.summary, action.details, action.byExtension);
    case "custom":
      action.to === null ? session.resetLeaf() : session.branch(action.to);
      return session.appendCustomEntry(action.customType, action.data);
  }
  throw new Error(`no such action: ${action.kind}`);
}

function append(session, { what, text, type, data }, now) {
  switch (what) {
    case "name":
      return session.appendSessionInfo(text);
    case "model":
      return session.appendModelChange(...text.split("/"));
    case "thinking":
      return session.appendThinkingLevelChange(text);
    case "custom":
      return session.appendCustomEntry(type, data);
    case "custom_message":
      return session.appendCustomMessageEntry(type, text, true);
    case "user":
      return session.appendMessage({ role: "user", content: [{ type: "text", text }], timestamp: now });
  }
  throw new Error(`no such entry: ${what}`);
}

/** Returns the context, continues the session, and copies the result to `out`. */
function reopen(session, out) {
  const answer = { leaf: session.getLeafId(), context: session.buildSessionContext() };
  for (const message of turn) session.appendMessage(message);
  answer.continued = session.buildSessionContext();
  copyFileSync(session.getSessionFile(), out);
  return answer;
}
