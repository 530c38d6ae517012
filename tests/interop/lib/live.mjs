// A real pi works with a scripted model on this machine, and pisess writes to its sessions between its turns. After
// each writing command, pi opens the session and continues it: what it then sends must be what `context --as anthropic`
// printed before, followed by the new question. Two sessions are worked on at once, each by a pi of its own.

import { execFile } from "node:child_process";
import { appendFileSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { difference } from "./json.mjs";
import { scriptedModel } from "./model.mjs";

/** The number of milliseconds after which a turn of pi counts as hanging. */
const PATIENCE = 180_000;

/** The questions with which a session begins: a text, a call, two calls at once, and a text again. */
const BEGINNING = ["How are you?", "run: echo one", "run: echo two; echo three", "And now?"];

/**
 * Steps of `{name, run}`, each followed by a turn of pi. `run(session)` calls pisess; if it returns a path, pi
 * continues that file. A case has a home directory of its own.
 */
const CASES = {
  moving: [
    step("label", ["label", "@", "here"]),
    step("switch", ["switch", "@^{user}^"]),
    step("switch back", ["switch", "-"]),
    step("switch to the leaf", ["switch", "@"]),
    step("pop", ["pop"]),
    step("summarize", ["summarize", "label:here"]),
    { name: "merge", run: merge },
    step("undo", ["append", "--user", "Never mind."], ["undo"]),
    step("switch with a summary", ["switch", "label:here", "--summarize"]),
    step("switch to the start", ["switch", "root"]),
  ],
  writing: [
    step("append", ["append", "--user", "One more thing.", "--name", "a name"]),
    step("append a note", ["append", "--custom-message", "note", "--text", "By the way."]),
    step("edit", ["edit", "@^{user}", "--replace", "Asked in another way."]),
    step("edit, taken back", ["edit", "@^{user}", "--replace", "Wrong."], ["undo"]),
    { name: "pick", run: pick },
    step("compact", ["compact", "--keep-recent-tokens", "1"]),
    // By force, because the pi of the other session runs in the same directory.
    step("prune --compacted", ["prune", "--compacted", "--force"]),
    step("prune --restore", ["prune", "--restore", "--force"]),
    step("compact, keeping nothing", ["compact", "--first-kept", "none", "--summary", "All of it."]),
    step("prune --results", ["prune", "--results", "--over", "1", "--force"]),
  ],
  copying: [
    { name: "repair", run: repair },
    { name: "fork", run: (session) => copied(session, "fork", session.file) },
    { name: "fork of a part", run: (session) => copied(session, "fork", session.file, "@^{user}^") },
    { name: "fork --branches", run: (session) => copied(session, "fork", session.file, "--branches") },
    { name: "redact", run: (session) => copied(session, "redact", session.file) },
    { name: "migrate", run: (session) => copied(session, "migrate", session.file) },
  ],
};

/** Returns a step that runs commands, given without the session. */
function step(name, ...commands) {
  return {
    name,
    run: async (session) => {
      for (const [command, ...args] of commands) await session.pisess(command, session.file, ...args);
    },
  };
}

/** Calls `report(name, found)` for each turn. */
export async function compareLive({ pisess, folder }, command, report) {
  const model = await scriptedModel();
  try {
    for (const [name, steps] of Object.entries(CASES)) {
      const desk = makeDesk(name, { pisess, folder, command, model });
      const sessions = ["one", "two"].map((own) => new LiveSession(`${name}-${own}`, desk));
      await Promise.all(sessions.map((session) => session.work(steps, report)));
    }
  } finally {
    model.close();
  }
}

/** Makes a home directory for a case, with a model for each of its sessions, and a project. */
function makeDesk(name, { pisess, folder, command, model }) {
  const home = join(folder, `live-${name}`);
  const project = join(home, "project");
  mkdirSync(join(home, ".pi/agent"), { recursive: true });
  mkdirSync(project);
  const provider = (own) => ({
    baseUrl: model.url(`${name}-${own}`),
    api: "anthropic-messages",
    apiKey: "scripted",
    models: [{ id: "scripted", name: "scripted", reasoning: true, input: ["text"], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 1_000_000, maxTokens: 4000 }],
    // pisess omits what not every model supports.
    compat: { supportsEagerToolInputStreaming: false, supportsStrictTools: false },
  });
  const providers = Object.fromEntries(["one", "two"].map((own) => [`${name}-${own}`, provider(own)]));
  writeFileSync(join(home, ".pi/agent/models.json"), JSON.stringify({ providers }));
  const env = { HOME: home, PATH: process.env.PATH, TZ: "UTC", LANG: "C.UTF-8" };
  return { runner: pisess, command, model, project, env };
}

class LiveSession {
  constructor(name, desk) {
    Object.assign(this, desk, { name, questions: 0, folder: join(desk.env.HOME, name) });
    mkdirSync(this.folder);
  }

  /** Has pi begin the session, then runs the steps. */
  async work(steps, report) {
    try {
      for (const question of BEGINNING) await this.turn(question);
    } catch (error) {
      report(`${this.name} begins`, { pointer: "(pi)", expected: "a session", actual: error.message });
      return;
    }
    for (const { name, run } of steps) {
      try {
        this.file = (await run(this)) ?? this.file;
        const found = await this.goesOn(name);
        report(`${this.name} after ${name}`, found);
      } catch (error) {
        report(`${this.name} after ${name}`, { pointer: "(error)", expected: "a turn", actual: error.message });
        return;
      }
    }
    const { stdout, code } = await this.runner.run(["check", this.file]);
    report(`${this.name} checked`, difference({ code: 0, stdout: "" }, { code, stdout: code === 0 ? "" : stdout }));
  }

  /** Returns how what pi sends differs from what pisess printed before. */
  async goesOn(name) {
    const printed = await this.printed();
    this.questions++;
    const question = this.questions % 3 === 0 ? `run: echo ${this.questions}` : `Go on after "${name}".`;
    const [first] = await this.turn(question);
    const asked = { role: "user", content: question };
    // At the start there is nothing to print, and pi writes its system prompt again.
    const { system, tools, messages } = printed ?? { system: first.system, tools: first.tools, messages: [] };
    const expected = { model: first.model, system, tools, messages: [...messages, asked] };
    return difference(comparable(first), comparable(expected));
  }

  /** Returns the body that pisess prints, null at the start of the conversation. */
  async printed() {
    const { code, stdout, stderr } = await this.runner.run(["context", this.file, "--as", "anthropic", "--model", `${this.name}/scripted`]);
    if (code === 1 && stderr.includes("the context has no message to send")) return null;
    if (code !== 0) throw new Error(`pisess context: exit ${code}: ${stderr}`);
    return JSON.parse(stdout);
  }

  /** Has pi ask a question, and returns the bodies that it sent. */
  async turn(question) {
    const session = this.file ? ["--session", this.file] : ["--session-dir", this.folder];
    const args = [...this.command.slice(1), "--offline", "--provider", this.name, "--model", "scripted", "--thinking", "low", ...session, "-p", question];
    const failure = await new Promise((done) => {
      const child = execFile(this.command[0], args, { cwd: this.project, env: this.env, timeout: PATIENCE }, (error, _stdout, stderr) => done(error && `${error.message}\n${stderr}`));
      child.stdin.end();
    });
    if (failure) throw new Error(`pi: ${failure}`);
    const sent = this.model.sent(this.name);
    if (sent.length === 0) throw new Error("pi sent no request");
    this.file ??= join(this.folder, readdirSync(this.folder).find((name) => name.endsWith(".jsonl")));
    return sent;
  }

  /** Returns what pisess prints; throws if it fails. */
  async pisess(...args) {
    // Ids and times are not fixed here: pi's own come between them.
    const env = { PISESS_NOW: undefined, PISESS_ID_SEED: undefined, HOME: this.env.HOME };
    const { code, stdout, stderr } = await this.runner.run(args, undefined, { env });
    if (code !== 0) throw new Error(`pisess ${args.join(" ")}: exit ${code}: ${stderr}`);
    return stdout;
  }
}

/** Breaks the file as a crash would, and repairs it. */
async function repair(session) {
  const { file } = session;
  appendFileSync(file, '{"type":"message","id":"torn","par');
  await session.pisess("check", file, "--repair", "--backup");
}

async function merge(session) {
  await session.pisess("merge", session.file, await otherTip(session));
}

async function pick(session) {
  await session.pisess("pick", session.file, ...(await firstTurn(session)));
}

let copies = 0;

/** Runs a command that writes a copy, and returns the path of the copy. */
async function copied(session, ...args) {
  const out = join(session.folder, `copy-${++copies}.jsonl`);
  await session.pisess(...args, "-o", out);
  return out;
}

async function rows(session, ...args) {
  const [command, ...rest] = args;
  const text = await session.pisess(command, session.file, ...rest, "--json");
  return text.trimEnd().split("\n").map((line) => JSON.parse(line));
}

/** Returns the tip of a branch that the leaf is not on. */
async function otherTip(session) {
  const branches = await rows(session, "branches");
  return branches.find(({ active }) => !active).id;
}

/**
 * Returns the ids of the first question on the path and of its answer, which has no calls: where two calls have one
 * id, pisess sends another for the second, and pi does not.
 */
async function firstTurn(session) {
  const path = await rows(session, "path");
  const said = path.filter(({ type, message }) => type === "message" && message.role !== "system");
  return said.slice(0, 2).map(({ id }) => id);
}

/** Returns the compared part of a body: without settings of the cache, and with a text alone as a string. */
function comparable({ model, system, messages, tools }) {
  const uncached = JSON.parse(JSON.stringify({ model, system, messages, tools }), (key, value) => (key === "cache_control" ? undefined : value));
  for (const owner of [uncached, ...uncached.messages]) {
    const key = owner === uncached ? "system" : "content";
    const only = Array.isArray(owner[key]) && owner[key].length === 1 ? owner[key][0] : null;
    if (only?.type === "text") owner[key] = only.text;
  }
  return uncached;
}
