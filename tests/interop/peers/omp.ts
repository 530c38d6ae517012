// Answers questions with the code of oh-my-pi. Started with bun as `omp.ts <package folder>`.

import { copyFileSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { body } from "./omp-sender.ts";
import { turn } from "./turn.mjs";
import { attempt, serve } from "./wire.mjs";

const scratch = mkdtempSync(join(tmpdir(), "interop-omp-"));
process.env.PI_CODING_AGENT_DIR = join(scratch, "agent");

const source = (path: string) => import(resolve(process.argv[2], "src", path));
const core = (path: string) => import(resolve(process.argv[2], "../pi-agent-core/src", path));
const { SessionManager } = await source("session/session-manager.ts");
const { isTranscriptEntry, isUserRequestEntry, userTurnDraft } = await source(
	"session/session-context.ts",
);
const { convertToLlm } = await source("session/messages.ts");
const { ClaudeSessionStore } = await source("session/claude-session-store.ts");
const { CodexSessionStore } = await source("session/codex-session-store.ts");
const { loadSkills } = await source("extensibility/skills.ts");
const { TreeSelectorComponent } = await source("modes/components/tree-selector.ts");
const { setThemeInstance } = await source("modes/theme/theme.ts");
const { DEFAULT_COMPACTION_SETTINGS, calculateContextTokens, getLastAssistantUsage, prepareCompaction } =
	await core("compaction/compaction.ts");
const { collectEntriesForBranchSummary, prepareBranchEntries } = await core("compaction/branch-summarization.ts");
const { computeFileLists, serializeConversationForSummary } = await core("compaction/utils.ts");
const { Tokenizer } = await core("tokenizer.ts");

/** A window of 128,000 tokens less the 16,384 that oh-my-pi reserves, for an unknown model. */
const BRANCH_BUDGET = 128000 - 16384;

// The selector does not expose its rows, so they are parsed from what it draws. The theme encloses the parts in
// marks that no generated text contains, and adds no colours.
const MARK = { dim: "\x1b[38;5;201m", warning: "\x1b[38;5;202m", accent: "\x1b[38;5;203m" };
const END = "\x1b[39m";
setThemeInstance({
	fg: (colour: string, text: string) => (colour in MARK ? `${MARK[colour as keyof typeof MARK]}${text}${END}` : text),
	bg: (_colour: string, text: string) => text,
	bold: (text: string) => text,
	italic: (text: string) => text,
	tree: { last: "└─ ", branch: "├─ ", vertical: "│", horizontal: "─" },
	md: { bullet: "•" },
});

let copies = 0;

async function open(file: string) {
	const copy = join(scratch, `${++copies}.jsonl`);
	copyFileSync(file, copy);
	return SessionManager.open(copy, undefined, undefined, { suppressBreadcrumb: true });
}

/** Returns the context at an entry: the leaf moves there and back, in memory. */
function context(session: any, id: string) {
	const leaf = session.getLeafId();
	session.branch(id);
	const found = built(session);
	session.branch(leaf);
	return found;
}

/**
 * Returns the context at the leaf. In 18.3.4, whose source decides, the message of a summary by Anthropic has the time of
 * its entry; what 18.2.3 has there is `historyRewriteAt`.
 */
function built(session: any) {
	const found = session.buildSessionContext();
	const entry = session.getBranch().findLast((entry: any) => entry.type === "compaction");
	const messages = found.messages.map((message: any) => {
		const timestamp = Date.parse(entry?.timestamp);
		const isNative = message.role === "compactionSummary" && message.providerPayload?.type === "anthropicCompaction";
		if (!isNative || message.timestamp === timestamp) return message;
		return { ...message, historyRewriteAt: message.timestamp, timestamp };
	});
	return { ...found, messages };
}

function asLlm(messages: any[]) {
	const rewritten = new Map(messages.map(message => [message.providerPayload, message.historyRewriteAt]));
	return convertToLlm(messages).map((message: any) => {
		const historyRewriteAt = message.providerPayload && rewritten.get(message.providerPayload);
		return historyRewriteAt ? { ...message, historyRewriteAt } : message;
	});
}

/** Returns the size of the context, as `getContextUsage` does: after a compaction without a later count, an estimate. */
function tokens(session: any, id: string): number {
	const path = session.getBranch(id);
	const compacted = path.findLastIndex((entry: any) => entry.type === "compaction");
	const usage = getLastAssistantUsage(path.slice(compacted + 1));
	if (usage) return calculateContextTokens(usage);
	if (compacted < 0) return 0;
	const tokenizer = new Tokenizer();
	return context(session, id).messages.reduce((sum: number, message: any) => sum + tokenizer.countMessage(message), 0);
}

function labels(session: any) {
	const found = new Map<string, any>();
	for (const entry of session.getEntries()) {
		if (entry.type !== "label") continue;
		const label = session.getLabel(entry.targetId);
		if (label) found.set(entry.targetId, { targetId: entry.targetId, label, timestamp: entry.timestamp });
	}
	return [...found.values()];
}

function tree(session: any, { filter, search, leaf = session.getLeafId() }: any) {
	const nothing = () => {};
	const selector = new TreeSelectorComponent(session.getTree(), leaf, 100000, nothing, nothing, nothing, filter);
	if (search) selector.handleInput(search);
	const list = selector.getTreeList();
	const drawn: string[] = list.render(1_000_000);
	const first = "\x1b[H";
	const next = "\x1b[B";
	selector.handleInput(first);
	const rows: any[] = [];
	for (const line of drawn) {
		const node = list.getSelectedNode();
		if (!node || rows.some(row => row.id === node.entry.id)) break;
		rows.push({ id: node.entry.id, label: node.label ?? null, ...row(line, node.label) });
		selector.handleInput(next);
	}
	return rows;
}

/** Parses a row: cursor, prefix, mark of the active path, label, text. */
function row(line: string, label: string | undefined) {
	let rest = line.slice(line.indexOf(MARK.dim) + MARK.dim.length);
	rest = rest.slice(rest.indexOf(END) + END.length);
	const active = rest.startsWith(`${MARK.accent}• ${END}`);
	if (active) rest = rest.slice(`${MARK.accent}• ${END}`.length);
	if (label) rest = rest.slice(`${MARK.warning}[${label}] ${END}`.length);
	for (const mark of [...Object.values(MARK), END]) rest = rest.replaceAll(mark, "");
	return { active, text: rest };
}

function prepare(session: any, { keepRecentTokens, id = session.getLeafId() }: any) {
	const preparation = prepareCompaction(session.getBranch(id), { ...DEFAULT_COMPACTION_SETTINGS, keepRecentTokens });
	if (!preparation) return null;
	const { fileOps, settings: _, ...rest } = preparation;
	const sets = Object.fromEntries(Object.entries(fileOps).map(([name, set]: any) => [name, [...set]]));
	return { ...rest, fileOps: sets, details: computeFileLists(fileOps) };
}

function summarize(session: any, { id: targetId = session.getLeafId(), from: oldLeafId = session.getLeafId() }: any) {
	const { entries, commonAncestorId } = collectEntriesForBranchSummary(session, oldLeafId, targetId);
	const { fileOps } = prepareBranchEntries(entries, new Tokenizer(), BRANCH_BUDGET);
	return {
		oldLeafId,
		commonAncestorId,
		entriesToSummarize: stored(session, entries),
		...computeFileLists(fileOps),
		...navigation(session.getEntry(targetId)),
	};
}

/** Returns where the agent's navigation would end, and the text that its editor would contain. */
function navigation(entry: any) {
	if (isTranscriptEntry(entry) && isUserRequestEntry(entry)) {
		return { newLeafId: entry.parentId, editorText: userTurnDraft(entry) };
	}
	if (entry.type !== "custom_message" || entry.customType === "skill-prompt") return { newLeafId: entry.id };
	const { content, parentId } = entry;
	const text = typeof content === "string" ? content : content.flatMap((b: any) => (b.type === "text" ? b.text : [])).join("");
	return { newLeafId: parentId, editorText: text };
}

const asLines = (text: string) => text.split("\n").filter(line => line.trim());
const linesOf = (session: any) => asLines(readFileSync(session.getSessionFile(), "utf8"));

/**
 * Returns entries as they are in the file. Loading removes from turns of some providers what another process must
 * not replay; that changes what is sent, but not the file.
 */
function stored(session: any, entries: any[]) {
	const lines = new Map(linesOf(session).map(line => [JSON.parse(line).id, JSON.parse(line)]));
	return entries.map(entry => lines.get(entry.id) ?? entry);
}

/** The answer to each kind of question. Those that change the session open a copy of their own. */
const ANSWERS: Record<string, (session: any, question: any, file: string) => unknown> = {
	leaf: session => session.getLeafId(),
	entries: session => session.getEntries(),
	context: (session, { id }) => context(session, id),
	llm: (session, { id }) => asLlm(context(session, id).messages),
	body: (session, { id, api }) => body(process.argv[2], { api }, convertToLlm(context(session, id).messages)),
	text: (session, { id }) => serializeConversationForSummary(convertToLlm(context(session, id).messages)),
	tokens: (session, { id }) => tokens(session, id),
	path: (session, { id }) => stored(session, session.getBranch(id)),
	labels,
	tree,
	prepare,
	summarize,
	fork: async (source, { id }, file) => fork(source, await open(file), id),
	migrate: (_, _question, file) => migrate(file),
	write: async (_, { action }, file) => write(await open(file), action),
	reopen: (_, { out }, file) => reopen(file, out),
};

await serve({
	hello: () => ({ bun: Bun.version }),

	/** Returns oh-my-pi's own directory. */
	agent: () => process.env.PI_CODING_AGENT_DIR,

	/** Returns the sessions of a directory as oh-my-pi lists them. */
	async list({ cwd, dir }: any) {
		return (await SessionManager.list(cwd, dir)).map(({ path }: any) => ({ path }));
	},

	/** Returns the messages that oh-my-pi's importer makes of a session of Claude Code or Codex. */
	async imported({ source, path }: any) {
		const store = source === "claude" ? new ClaudeSessionStore(scratch) : new CodexSessionStore(scratch);
		const info = { source, id: "id", path, cwd: scratch, created: new Date(0), modified: new Date(0) };
		const session = await store.load(info);
		const messages = session.getEntries().filter((entry: any) => entry.type === "message");
		return messages.map((entry: any) => entry.message);
	},

	/** Returns the skills that oh-my-pi finds in a home directory, and its warnings. */
	async skills({ home }: any) {
		process.env.HOME = home;
		const { skills, warnings } = await loadSkills({ cwd: home });
		return { skills: skills.map(({ name, description, filePath: path }: any) => ({ name, description, path })), warnings };
	},

	async ask({ file, questions }: any) {
		const session = await open(file);
		const answers: unknown[] = [];
		for (const question of questions) answers.push(await attempt(() => ANSWERS[question.kind](session, question, file)));
		return answers;
	},
});
process.exit(0);

function fork(source: any, session: any, id: string) {
	session.createBranchedSession(id);
	const written = linesOf(session).map(line => JSON.parse(line));
	return stored(source, written.filter(entry => entry.type !== "label")).concat(written.filter(entry => entry.type === "label"));
}

async function migrate(file: string) {
	const session = await open(file);
	await session.rewriteEntries();
	return linesOf(session);
}

/** Writes with the agent's own methods; returns the new lines. */
function write(session: any, action: any) {
	const before = session.getEntries().length;
	perform(session, action);
	return session.getEntries().slice(before).map((entry: unknown) => JSON.stringify(entry));
}

/** Returns the context, continues the session, and copies the result to `out`. */
async function reopen(file: string, out: string) {
	const session = await open(file);
	const answer: any = { leaf: session.getLeafId(), context: built(session) };
	for (const message of turn) session.appendMessage(message);
	await session.flush();
	answer.continued = built(session);
	copyFileSync(session.getSessionFile(), out);
	await session.close();
	return answer;
}

function append(session: any, { what, text, type, data }: any, now: number) {
	switch (what) {
		case "model":
			return session.appendModelChange(text, "default");
		case "thinking":
			return session.appendThinkingLevelChange(text, text);
		case "custom":
			return session.appendCustomEntry(type, data);
		case "custom_message":
			return session.appendCustomMessageEntry(type, text, true);
		case "user":
			return session.appendMessage({ role: "user", content: [{ type: "text", text }], timestamp: now });
	}
	throw new Error(`no such entry: ${what}`);
}

function perform(session: any, action: any) {
	switch (action.kind) {
		case "label":
			return session.appendLabelChange(action.target, action.label);
		case "compaction":
			return session.appendCompaction(action.summary, action.shortSummary, action.firstKept, action.tokensBefore, action.options);
		case "branch_summary":
			return session.branchWithSummary(action.to, action.summary, action.details, action.byExtension);
		case "entries":
			return action.entries.forEach((entry: any) => append(session, entry, action.now));
		case "merge":
			session.branch(action.from);
			return session.branchWithSummary(action.to, action.summary, action.details, action.byExtension);
		case "custom":
			action.to === null ? session.resetLeaf() : session.branch(action.to);
			return session.appendCustomEntry(action.customType, action.data);
	}
	throw new Error(`no such action: ${action.kind}`);
}
