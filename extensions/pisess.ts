// The commands /branches, /switch, /pop, /undo and /pick for pi and oh-my-pi, which run pisess on the session's file.
//
// The agents keep their leaf in memory: they do not record a move by /tree in the file, and do not read what another
// program appends. So if the leaf is not the last entry of the file, a mark is appended under the leaf before pisess
// runs, and afterwards the agent opens the session again, at its new last entry.
//
// The program is $PISESS, or else the binary that npm installed beside this extension, or else `pisess` on the PATH.

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";
import type { ExtensionAPI, ExtensionCommandContext } from "@earendil-works/pi-coding-agent";

/** The type of a mark, the same that `pisess switch` appends; no model sees such an entry. */
const MARK = "pisess.switch";

interface Row {
  id: string | null;
  label: string | null;
  text?: string;
  active?: boolean;
  entries?: number;
  question?: { text: string } | null;
}

export default function (pi: ExtensionAPI) {
  const bundled = bundledBinary();
  if (bundled) appendToPath(dirname(bundled));
  // oh-my-pi has a /switch of its own, for models.
  const isOmp = "zod" in pi;

  let session: string | undefined;
  pi.on("session_start", (_event, ctx) => {
    session = ctx.sessionManager.getSessionFile();
  });

  pi.registerCommand("branches", {
    description: "List the branches of this session",
    handler: async (_args, ctx) => {
      const file = await ready(ctx);
      if (file) report(ctx, await run(["branches", "--", file]), "This session has no branches yet");
    },
  });

  const switchName = isOmp ? "switch-branch" : "switch"; pi.registerCommand(switchName, { description: `Continue from
  another branch or entry; REF - returns to the one before: /${switchName} [REF]`, getArgumentCompletions: complete,
  handler: async (args, ctx) => { const file = await ready(ctx); if (!file) return; const target = args.trim() || (await
  chooseBranch(ctx, file)); if (target) await change(ctx, file, "switch", [target]); }, });

  pi.registerCommand("pop", {
    description: "Undo the last user message, or go back to an entry, leaving a summary: /pop [REF]",
    getArgumentCompletions: complete,
    handler: async (args, ctx) => {
      const file = await ready(ctx);
      if (file) await change(ctx, file, "pop", args.trim() ? [args.trim()] : []);
    },
  });

  pi.registerCommand("undo", {
    description: "Take back the last change of pisess, such as a label or a switch",
    handler: async (_args, ctx) => {
      const file = await ready(ctx);
      if (file) await change(ctx, file, "undo", []);
    },
  });

  pi.registerCommand("pick", {
    description: "Copy entries to the end of this branch: /pick REF...",
    getArgumentCompletions: complete,
    handler: async (args, ctx) => {
      const file = await ready(ctx);
      if (!file) return;
      const entries = words(args);
      if (entries.length === 0) ctx.ui.notify("/pick needs the ids or labels of entries", "error");
      else await change(ctx, file, "pick", entries);
    },
  });

  /** Returns the session's file, whose last entry is then pi's leaf; appends a mark if necessary. */
  async function ready(ctx: ExtensionCommandContext): Promise<string | undefined> {
    await ctx.waitForIdle();
    const file = ctx.sessionManager.getSessionFile();
    if (!file || !existsSync(file)) {
      ctx.ui.notify("This session is not stored in a file yet", "warning");
      return undefined;
    }
    const from = ctx.sessionManager.getEntries().at(-1)?.id ?? null;
    const to = ctx.sessionManager.getLeafId();
    if (from !== to) pi.appendEntry(MARK, { from, to });
    return file;
  }

  /** Changes the session, opens it again, and puts the text that pisess returns for editing into the editor. */
  async function change(ctx: ExtensionCommandContext, file: string, verb: string, args: string[]) {
    let done = await run([verb, "--json", "--", file, ...args]);
    // oh-my-pi has the file open. It is idle, and opens the file again.
    const isOpenHere = isOmp && done.code === 3 && message(done.stderr).includes(`process ${process.pid} has it open`);
    if (isOpenHere) done = await run([verb, "--json", "--force", "--", file, ...args]);
    if (done.code !== 0 && done.code !== 4) return report(ctx, done, "");
    const { written = [], editorText } = rows<{ written: unknown[]; editorText?: string | null }>(done.stdout)[0] ?? {};
    const note = message(done.stderr);
    if (written.length === 0) return ctx.ui.notify(note || "Nothing to do", "info");
    const show = async ({ ui }: ExtensionCommandContext) => {
      if (note) ui.notify(note, "info");
      if (editorText) ui.setEditorText(editorText);
    };
    const { cancelled } = await ctx.switchSession(file, { withSession: show });
    if (cancelled) ctx.ui.notify("The session has changed: open it again with /resume", "warning");
    // Its context outlives the switch, and it does not call `withSession`.
    else if (isOmp) await show(ctx);
  }

  async function chooseBranch(ctx: ExtensionCommandContext, file: string): Promise<string | undefined> {
    const done = await run(["branches", "--json", "--", file]);
    if (done.code !== 0) return void report(ctx, done, "");
    const choices = rows<Row>(done.stdout).filter(({ id, active }) => id && !active);
    if (choices.length === 0) return void ctx.ui.notify("This session has no other branch", "info");
    const titles = choices.map((row) => `${row.id}  ${row.entries} entries  ${caption(row)}`);
    const chosen = await ctx.ui.select("Continue from", titles);
    return chosen && `id:${choices[titles.indexOf(chosen)].id}`;
  }

  /** Completes the ids of branches and labelled entries. */
  async function complete(prefix: string) {
    if (!session || !existsSync(session)) return null;
    const found = await Promise.all(["branches", "label"].map((verb) => run([verb, "--json", "--", session as string])));
    const items = found.flatMap(({ stdout }) => rows<Row>(stdout)).filter(({ id }) => id?.startsWith(prefix));
    return items.map((row) => ({ value: row.id as string, label: row.id as string, description: caption(row) }));
  }

  async function run(args: string[]) {
    const program = process.env.PISESS || bundled || "pisess";
    const done = await pi.exec(program, args);
    // pisess explains each failure on stderr. If it could not be started, pi leaves stderr empty or reports ENOENT.
    const ran = done.code === 0 || (done.stderr.trim() !== "" && !/\bENOENT\b/.test(done.stderr));
    if (ran) return done;
    return { ...done, code: 2, stderr: `cannot run ${program} (hint: install pisess, or set PISESS to its path)` };
  }
}

/** Returns the binary of the npm package that this extension is part of; undefined if it was installed otherwise. */
function bundledBinary(): string | undefined {
  const name = process.platform === "win32" ? "pisess.exe" : "pisess";
  try {
    const manifest = createRequire(import.meta.url).resolve(`@pisess/${process.platform}-${process.arch}/package.json`);
    return join(dirname(manifest), name);
  } catch {
    return undefined;
  }
}

/** The skill has the model run `pisess`. One that the user installed comes first. */
function appendToPath(folder: string) {
  const folders = (process.env.PATH ?? "").split(delimiter).filter(Boolean);
  if (!folders.includes(folder)) process.env.PATH = [...folders, folder].join(delimiter);
}

type Result = Awaited<ReturnType<ExtensionAPI["exec"]>>;

function report(ctx: ExtensionCommandContext, { code, stdout, stderr }: Result, otherwise: string) {
  if (code === 0) ctx.ui.notify(stdout.trimEnd() || otherwise, "info");
  else ctx.ui.notify(message(stderr), code === 1 ? "info" : "error");
}

/** Returns what pisess wrote to standard error. With `--json`, an error there is a line of JSON. */
function message(stderr: string): string {
  const lines = stderr.split("\n").filter((line) => line.trim());
  return lines.map((line) => error(line) ?? line).join("\n");
}

function error(line: string): string | undefined {
  try {
    const { message, hint } = JSON.parse(line).error;
    return hint ? `${message} (hint: ${hint})` : message;
  } catch {
    return undefined;
  }
}

function rows<T>(stdout: string): T[] {
  return stdout.split("\n").filter((line) => line.trim()).map((line) => JSON.parse(line));
}

function caption({ label, question, text }: Row): string {
  return `${label ? `[${label}] ` : ""}${question?.text ?? text ?? ""}`;
}

/** Splits at spaces, except within quotes. */
function words(args: string): string[] {
  return [...args.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, double, single, plain]) => double ?? single ?? plain);
}
