// Asks the running oh-my-pi. Started with bun as `omp.ts <package folder>`.

import { copyFileSync, mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { part, serve } from "./wire.mjs";

const scratch = mkdtempSync(join(tmpdir(), "interop-omp-"));
process.env.HOME = process.env.INTEROP_HOME ?? join(scratch, "home");
process.env.PI_CODING_AGENT_DIR = join(scratch, "agent");
mkdirSync(process.env.HOME, { recursive: true });

const source = (path: string) => import(resolve(process.argv[2], "src", path));
const core = (path: string) => import(resolve(process.argv[2], "../pi-agent-core/src", path));
const { SessionManager } = await source("session/session-manager.ts");
const { buildSessionContext, isTranscriptEntry, isUserRequestEntry, userTurnDraft } = await source(
	"session/session-context.ts",
);
const { convertToLlm } = await source("session/messages.ts");
const { TreeSelectorComponent } = await source("modes/components/tree-selector.ts");
const { setThemeInstance } = await source("modes/theme/theme.ts");
const { DEFAULT_COMPACTION_SETTINGS, calculateContextTokens, getLastAssistantUsage, prepareCompaction } =
	await core("compaction/compaction.ts");
const { collectEntriesForBranchSummary, prepareBranchEntries } = await core("compaction/branch-summarization.ts");
const { computeFileLists, serializeConversationForSummary } = await core("compaction/utils.ts");
const { Tokenizer } = await core("tokenizer.ts");

/** A window of 128,000 tokens less the 16,384 reserved, for a model that is not known. */
const BRANCH_BUDGET = 128000 - 16384;

// The selector keeps its rows to itself, so they are read off what it draws. The
// theme wraps the parts in marks that no generated text holds, and paints nothing.
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

const byId = (session: any) => new Map(session.getEntries().map((entry: any) => [entry.id, entry]));
const context = (session: any, id: string) => buildSessionContext(session.getEntries(), id, byId(session));

function tokens(session: any, id: string): number {
	const usage = getLastAssistantUsage(session.getBranch(id));
	return usage ? calculateContextTokens(usage) : 0;
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

function tree(session: any, { filter, search, leaf }: { filter: string; search?: string; leaf: string }) {
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

/** Cursor, prefix, mark of the active path, label, words. */
function row(line: string, label: string | undefined) {
	let rest = line.slice(line.indexOf(MARK.dim) + MARK.dim.length);
	rest = rest.slice(rest.indexOf(END) + END.length);
	const active = rest.startsWith(`${MARK.accent}• ${END}`);
	if (active) rest = rest.slice(`${MARK.accent}• ${END}`.length);
	if (label) rest = rest.slice(`${MARK.warning}[${label}] ${END}`.length);
	for (const mark of [...Object.values(MARK), END]) rest = rest.replaceAll(mark, "");
	return { active, text: rest };
}

function prepare(session: any, keepRecentTokens: number) {
	const preparation = prepareCompaction(session.getBranch(), { ...DEFAULT_COMPACTION_SETTINGS, keepRecentTokens });
	if (!preparation) return null;
	const { fileOps, settings: _, ...rest } = preparation;
	return { ...rest, fileOps: Object.fromEntries(Object.entries(fileOps).map(([name, set]: any) => [name, [...set]])) };
}

function summarize(session: any, targetId: string) {
	const oldLeafId = session.getLeafId();
	const { entries, commonAncestorId } = collectEntriesForBranchSummary(session, oldLeafId, targetId);
	const { messages, fileOps } = prepareBranchEntries(entries, new Tokenizer(), BRANCH_BUDGET);
	return {
		oldLeafId,
		commonAncestorId,
		entriesToSummarize: entries,
		text: serializeConversationForSummary(convertToLlm(messages)),
		...computeFileLists(fileOps),
		...navigation(session.getEntry(targetId)),
	};
}

/** Where the navigation of the agent would land, and what its editor would hold. */
function navigation(entry: any) {
	if (isTranscriptEntry(entry) && isUserRequestEntry(entry)) {
		return { newLeafId: entry.parentId, editorText: userTurnDraft(entry) };
	}
	if (entry.type !== "custom_message" || entry.customType === "skill-prompt") return { newLeafId: entry.id };
	const { content, parentId } = entry;
	const text = typeof content === "string" ? content : content.flatMap((b: any) => (b.type === "text" ? b.text : [])).join("");
	return { newLeafId: parentId, editorText: text };
}

const asLines = (text: string) => text.split("\n").filter(Boolean);
const linesOf = (session: any) => asLines(readFileSync(session.getSessionFile(), "utf8"));

async function partly<T>(ask: () => Promise<T>) {
	try {
		return { ok: (await ask()) ?? null };
	} catch (error: any) {
		return { error: `${error?.message ?? error}`, stack: error?.stack };
	}
}

async function each<A, B>(items: A[], ask: (item: A) => Promise<B>) {
	const answers: unknown[] = [];
	for (const item of items) answers.push(await partly(() => ask(item)));
	return answers;
}

await serve({
	hello: () => ({ bun: Bun.version }),

	async read({ file, ids = [], trees = [], keeps = [], targets = [] }: any) {
		const session = await open(file);
		const answer = {
			leaf: session.getLeafId(),
			labels: part(() => labels(session)),
			at: ids.map((id: string) => ({
				id,
				context: part(() => context(session, id)),
				llm: part(() => convertToLlm(context(session, id).messages)),
				text: part(() => serializeConversationForSummary(convertToLlm(context(session, id).messages))),
				tokens: part(() => tokens(session, id)),
				path: part(() => session.getBranch(id)),
			})),
			trees: trees.map((wanted: any) => part(() => tree(session, { ...wanted, leaf: wanted.leaf ?? session.getLeafId() }))),
			prepared: keeps.map((keep: number) => part(() => prepare(session, keep))),
			summaries: targets.map((id: string) => part(() => summarize(session, id))),
			forks: await each(ids, async (id: string) => {
				const copy = await open(file);
				copy.createBranchedSession(id);
				return linesOf(copy).map(line => JSON.parse(line));
			}),
		};
		await session.close();
		return answer;
	},

	async migrate({ file }: any) {
		const session = await open(file);
		await session.rewriteEntries();
		return linesOf(session);
	},

	write: ({ file, actions }: any) =>
		each(actions, async (action: any) => {
			const session = await open(file);
			const before = session.getEntries().length;
			perform(session, action);
			await session.flush();
			return session.getEntries().slice(before).map((entry: unknown) => JSON.stringify(entry));
		}),

	async reopen({ file, out }: any) {
		const session = await open(file);
		const answer: any = { leaf: session.getLeafId(), context: session.buildSessionContext() };
		session.appendMessage({ role: "user", content: "and then?", timestamp: 1 });
		await session.flush();
		answer.continued = { leaf: session.getLeafId(), context: session.buildSessionContext() };
		copyFileSync(session.getSessionFile(), out);
		await session.close();
		return answer;
	},
});
process.exit(0);

function perform(session: any, action: any) {
	switch (action.kind) {
		case "label":
			return session.appendLabelChange(action.target, action.label);
		case "compaction":
			return session.appendCompaction(action.summary, action.shortSummary, action.firstKept, action.tokensBefore, action.options);
		case "branch_summary":
			return session.branchWithSummary(action.to, action.summary, action.details, action.fromExtension);
	}
	throw new Error(`no such action: ${action.kind}`);
}
