// Asks the running pi. Started with Node 22 as `pi.mjs <package folder>`; both
// versions of pi that the suite knows have the same module layout.

import { copyFileSync, mkdtempSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { part, serve } from "./wire.mjs";

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
const { TreeSelectorComponent } = await dist("modes/interactive/components/tree-selector.js");

/** A model's window of 128,000 tokens less the 16,384 that pi reserves for prompt and answer. */
const BRANCH_BUDGET = 128000 - 16384;

let copies = 0;

/** Opens a copy, because pi repairs and migrates the file it opens. */
function open(file) {
  const copy = join(scratch, `${++copies}.jsonl`);
  copyFileSync(file, copy);
  return SessionManager.open(copy);
}

const at = (session) => ({ entries: session.getEntries(), byId: session.byId });

function context(session, id) {
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

function tree(session, { filter, search, leaf }) {
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

function prepare(session, keepRecentTokens) {
  const settings = { enabled: true, reserveTokens: 16384, keepRecentTokens };
  const preparation = compaction.prepareCompaction(session.getBranch(), settings);
  if (!preparation) return null;
  const { fileOps, settings: _, ...rest } = preparation;
  return { ...rest, fileOps: sets(fileOps) };
}

const sets = (fileOps) => Object.fromEntries(Object.entries(fileOps).map(([name, set]) => [name, [...set]]));

function summarize(session, targetId) {
  const oldLeafId = session.getLeafId();
  const { entries, commonAncestorId } = collectEntriesForBranchSummary(session, oldLeafId, targetId);
  const { messages, fileOps } = prepareBranchEntries(entries, BRANCH_BUDGET);
  return {
    oldLeafId,
    commonAncestorId,
    entriesToSummarize: entries,
    text: serializeConversation(convertToLlm(messages)),
    ...computeFileLists(fileOps),
    ...navigation(session.getEntry(targetId)),
  };
}

/** Where the navigation of the agent would land, and what its editor would hold. */
function navigation(entry) {
  const content =
    entry.type === "custom_message" ? entry.content : entry.message?.role === "user" ? entry.message.content : undefined;
  if (content === undefined) return { newLeafId: entry.id };
  const text = typeof content === "string" ? content : content.filter((b) => b.type === "text").map((b) => b.text).join("");
  return { newLeafId: entry.parentId, editorText: text };
}

function fork(session, id) {
  session.createBranchedSession(id);
  return session.fileEntries;
}

const asLines = (text) => text.split("\n").filter(Boolean);

await serve({
  hello: () => ({ node: process.versions.node }),

  read({ file, ids = [], trees = [], keeps = [], targets = [] }) {
    const session = open(file);
    return {
      leaf: session.getLeafId(),
      labels: part(() => labels(session)),
      at: ids.map((id) => ({
        id,
        context: part(() => context(session, id)),
        llm: part(() => convertToLlm(context(session, id).messages)),
        text: part(() => serializeConversation(convertToLlm(context(session, id).messages))),
        tokens: part(() => tokens(session, id)),
        path: part(() => session.getBranch(id)),
      })),
      trees: trees.map((wanted) => part(() => tree(session, { ...wanted, leaf: wanted.leaf ?? session.getLeafId() }))),
      prepared: keeps.map((keep) => part(() => prepare(session, keep))),
      summaries: targets.map((id) => part(() => summarize(session, id))),
      forks: ids.map((id) => part(() => fork(open(file), id))),
    };
  },

  migrate({ file }) {
    const session = open(file);
    return asLines(readFileSync(session.getSessionFile(), "utf8"));
  },

  /** Writes with the agent's own methods; answers the lines that are new. */
  write({ file, actions }) {
    return actions.map((action) =>
      part(() => {
        const session = open(file);
        const path = session.getSessionFile();
        const before = asLines(readFileSync(path, "utf8")).length;
        perform(session, action);
        return asLines(readFileSync(path, "utf8")).slice(before);
      }),
    );
  },

  /** Opens what pisess wrote, answers its context, goes on with it, and leaves the result at `out`. */
  reopen({ file, out }) {
    const session = open(file);
    const answer = { leaf: session.getLeafId(), context: session.buildSessionContext() };
    session.appendMessage({ role: "user", content: "and then?", timestamp: 1 });
    answer.continued = { leaf: session.getLeafId(), context: session.buildSessionContext() };
    copyFileSync(session.getSessionFile(), out);
    return answer;
  },
});

function perform(session, action) {
  switch (action.kind) {
    case "label":
      return session.appendLabelChange(action.target, action.label);
    case "compaction":
      return session.appendCompaction(action.summary, action.firstKept, action.tokensBefore, action.details, action.fromHook);
    case "branch_summary":
      return session.branchWithSummary(action.to, action.summary, action.details, action.fromHook);
  }
  throw new Error(`no such action: ${action.kind}`);
}
