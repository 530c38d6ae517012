// A real agent works with a scripted model on this machine, and pisess writes to its sessions between its turns. After
// each writing command, the agent opens the session and continues it: what it then sends must be what
// `context --as anthropic` printed before, followed by the new question. Two sessions are worked on at once, each by an
// agent of its own.

import { execFile } from "node:child_process";
import { appendFileSync, copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { difference } from "./json.mjs";
import { scriptedModel } from "./model.mjs";

/** The number of milliseconds after which a turn of an agent counts as hanging. */
const PATIENCE = 180_000;

const fixtures = fileURLToPath(new URL("../../../fixtures", import.meta.url));

/** The questions with which a session begins: a text, a call, two calls at once, and a text again. */
const BEGINNING = ["How are you?", "run: echo one", "run: echo two; echo three", "And now?"];

/** The imported fixtures: parallel calls, branches, compactions, turns taken back, sub-agents. */
const IMPORTED = ["claude/plain", "claude/parallel", "claude/tree", "claude/cleared", "codex/plain", "codex/rollback", "codex/paginated", "codex/summaries"];

/**
 * Steps of `{name, run}`, each followed by a turn of the agent. `run(session)` calls pisess; if it returns a path, the
 * agent continues that file. A case has a home directory of its own.
 */
const PI_CASES = {
  moving: [
    step("label", ["label", "@", "here"]),
    step("switch", ["switch", "@^{user}^"]),
    step("switch back", ["switch", "-"]),
    step("switch to the leaf", ["switch", "@"]),
    step("pop", ["pop"]),
    step("summarize", ["summarize", "label:here"]),
    { name: "merge", run: merge },
    step("undo", ["append", "--user", "Never mind."], ["undo"]),
    step("pop, taken back", ["pop"], ["undo"]),
    step("switch with a summary", ["switch", "label:here", "--summarize"]),
    step("switch to the start", ["switch", "root"]),
  ],
  writing: [
    step("append", ["append", "--user", "One more thing.", "--name", "a name"]),
    step("append a note", ["append", "--custom-message", "note", "--text", "By the way."]),
    step("edit", ["edit", "@^{user}", "--replace", "Asked in another way."]),
    step("edit, taken back", ["edit", "@^{user}", "--replace", "Wrong."], ["undo"]),
    step("edit --omit", ["edit", "@^{user}", "@^{assistant}", "--omit"]),
    step("edit --restore", ["edit", "@^{user}", "--replace", "Wrong."], ["edit", "@^{user}", "--restore"]),
    { name: "pick", run: pick },
    step("compact, taken back", ["compact", "--keep-recent-tokens", "1"], ["undo"]),
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
    ...["v1", "v2"].map((name) => copyOf(name, "migrate")),
    { name: "join", run: joinCopy },
    { name: "fork --for omp, and back", run: thereAndBack },
  ],
  importing: [...IMPORTED.map((name) => copyOf(name, "import")), step("a turn below an import")],
};

/** The same for oh-my-pi, which has no edits, and whose older formats no agent here writes. */
const OMP_CASES = {
  omp: [
    step("label", ["label", "@", "here"]),
    step("switch", ["switch", "@^{user}^"]),
    step("pop", ["pop"]),
    step("summarize", ["summarize", "label:here"]),
    { name: "merge", run: merge },
    step("undo", ["append", "--user", "Never mind."], ["undo"]),
    { name: "pick", run: pick },
    step("compact", ["compact", "--keep-recent-tokens", "1"]),
    step("prune --compacted", ["prune", "--compacted", "--force"]),
    step("prune --restore", ["prune", "--restore", "--force"]),
    { name: "fork", run: (session) => copied(session, "fork", session.file) },
    ...["claude/tree", "codex/rollback"].map((name) => copyOf(name, "import", "--for", "omp")),
    copyOf("tour", "fork", "--for", "omp"),
  ],
};

/** Returns a step that continues a copy of a fixture, made by a command. */
function copyOf(name, command, ...options) {
  const run = async (session) => {
    const copy = await copied(session, command, join(fixtures, `${name}.jsonl`), ...options);
    moveTo(session.project, copy);
    return copy;
  };
  return { name: `${command} of ${name}`, run };
}

/** Returns a step that runs commands, given without the session. */
function step(name, ...commands) {
  return {
    name,
    run: async (session) => {
      for (const [command, ...args] of commands) await session.pisess(command, session.file, ...args);
    },
  };
}

const MODEL = {
  id: "scripted",
  name: "scripted",
  reasoning: true,
  input: ["text", "image"],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 1_000_000,
  maxTokens: 16_000,
};

/** How an agent is run: its settings, its arguments, the sessions of a case, and what is compared of its requests. */
const AGENTS = {
  pi: {
    cases: PI_CASES,
    sessions: ["one", "two"],
    settingsPath: ".pi/agent/models.json",
    // pisess omits what not every model supports.
    provider: { models: [MODEL], compat: { supportsEagerToolInputStreaming: false, supportsStrictTools: false } },
    // pi writes its system prompt and its tools into the session.
    isWhole: true,
    args: (provider, file, folder) => ["--offline", "--provider", provider, "--model", "scripted", ...(file ? ["--session", file] : ["--session-dir", folder])],
  },
  omp: {
    cases: OMP_CASES,
    sessions: ["one"],
    settingsPath: ".omp/agent/models.yml",
    provider: { models: [MODEL] },
    isWhole: false,
    args: (provider, file, folder) => ["--model", `${provider}/scripted`, "--no-title", "--no-lsp", ...(file ? ["--resume", file] : ["--session-dir", folder])],
  },
};

/** Lets the agents that `commands` start, by name, work. Calls `report(name, found)` for each turn. */
export async function compareLive({ pisess, folder }, commands, report) {
  const model = await scriptedModel();
  try {
    for (const [name, command] of Object.entries(commands)) {
      const agent = AGENTS[name];
      for (const [caseName, steps] of Object.entries(agent.cases)) {
        const desk = makeDesk(caseName, { pisess, folder, agent, command, model });
        const sessions = agent.sessions.map((own) => new LiveSession(`${caseName}-${own}`, desk));
        await Promise.all(sessions.map((session) => session.work(steps, report)));
      }
    }
  } finally {
    model.close();
  }
}

/** Makes a home directory for a case, with a model for each of its sessions, and a project. */
function makeDesk(name, { pisess, folder, agent, command, model }) {
  const home = join(folder, `live-${name}`);
  const project = join(home, "project");
  mkdirSync(dirname(join(home, agent.settingsPath)), { recursive: true });
  mkdirSync(project);
  const providers = {};
  for (const own of agent.sessions) {
    const baseUrl = model.url(`${name}-${own}`);
    providers[`${name}-${own}`] = { baseUrl, api: "anthropic-messages", apiKey: "scripted", ...agent.provider };
  }
  // JSON is YAML, too.
  writeFileSync(join(home, agent.settingsPath), JSON.stringify({ providers }));
  const env = { HOME: home, PATH: process.env.PATH, TZ: "UTC", LANG: "C.UTF-8" };
  return { runner: pisess, agent, command, model, project, env };
}

class LiveSession {
  constructor(name, desk) {
    Object.assign(this, desk, { name, questions: 0, folder: join(desk.env.HOME, name) });
    mkdirSync(this.folder);
  }

  /** Has the agent begin the session, then runs the steps. */
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

  /** Returns how what the agent sends differs from what pisess printed before. */
  async goesOn(name) {
    const printed = await this.printed();
    this.questions++;
    const question = this.questions % 3 === 0 ? `run: echo ${this.questions}` : `Go on after "${name}".`;
    const [first] = await this.turn(question);
    const asked = { role: "user", content: question };
    const messages = [...(printed?.messages ?? []), asked];
    // At the start, and below what another agent wrote, there is no system prompt, and pi writes it again.
    const isPrompted = this.agent.isWhole && printed?.system !== undefined;
    const { system, tools } = isPrompted ? printed : first;
    return difference(comparable(first), comparable({ model: first.model, system, tools, messages }));
  }

  /** Returns the body that pisess prints, null at the start of the conversation. */
  async printed() {
    const { code, stdout, stderr } = await this.runner.run(["context", this.file, "--as", "anthropic", "--model", `${this.name}/scripted`]);
    if (code === 1 && stderr.includes("the context has no message to send")) return null;
    if (code !== 0) throw new Error(`pisess context: exit ${code}: ${stderr}`);
    return JSON.parse(stdout);
  }

  /** Has the agent ask a question, and returns the bodies that it sent. */
  async turn(question) {
    const args = [...this.command.slice(1), ...this.agent.args(this.name, this.file, this.folder), "--thinking", "low", "-p", question];
    const failure = await new Promise((done) => {
      const child = execFile(this.command[0], args, { cwd: this.project, env: this.env, timeout: PATIENCE }, (error, _stdout, stderr) => done(error && `${error.message}\n${stderr}`));
      child.stdin.end();
    });
    if (failure) throw new Error(`the agent: ${failure}`);
    const sent = this.model.sent(this.name);
    if (sent.length === 0) throw new Error("the agent sent no request");
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

/** Adds the entries of a diverged copy. */
async function joinCopy(session) {
  const copy = join(session.folder, "diverged.jsonl");
  copyFileSync(session.file, copy);
  await session.pisess("append", copy, "--user", "Only in the copy.");
  await session.pisess("append", session.file, "--user", "Only in the original.");
  await session.pisess("join", session.file, copy);
}

/** Sets the directory of a session to one that exists. */
function moveTo(project, file) {
  const lines = readFileSync(file, "utf8").split("\n");
  // A session of oh-my-pi begins with its title.
  const at = lines.findIndex((line) => line.startsWith('{"type":"session"'));
  lines[at] = JSON.stringify({ ...JSON.parse(lines[at]), cwd: project });
  writeFileSync(file, lines.join("\n"));
}

/** Converts the session for oh-my-pi, and back. */
async function thereAndBack(session) {
  const there = await copied(session, "fork", session.file, "--branches", "--for", "omp");
  return copied(session, "fork", there, "--branches", "--for", "pi");
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

/**
 * Returns the compared part of a body: without settings of the cache, with a text alone as a string, without the
 * reminder that oh-my-pi adds to the first message, and with the names of tools that oh-my-pi's own have in its sessions.
 */
function comparable({ model, system, messages, tools }) {
  const uncached = JSON.parse(JSON.stringify({ model, system, messages, tools }), (key, value) => {
    if (key === "cache_control") return undefined;
    if (key === "text" || key === "content") return typeof value === "string" ? value.replace(REMINDER, "") : value;
    return key === "name" && typeof value === "string" ? value.replace(/^_/, "") : value;
  });
  uncached.system = textAlone(uncached.system);
  for (const message of uncached.messages) {
    if (Array.isArray(message.content)) message.content = message.content.map(withTextAlone);
    message.content = textAlone(message.content);
  }
  return uncached;
}

/** Returns the block of a result with a text alone as a string. */
function withTextAlone(block) {
  return block.type === "tool_result" ? { ...block, content: textAlone(block.content) } : block;
}

/** Returns a text alone as a string, and all other content without empty texts. */
function textAlone(content) {
  if (!Array.isArray(content)) return content;
  const blocks = content.filter(({ text }) => text !== "");
  return blocks.length === 1 && blocks[0].type === "text" ? blocks[0].text : blocks;
}

/** oh-my-pi tells the model the date and the directory in the first message of each request. */
const REMINDER = /^<system-reminder>\nToday: [^\n]*\n<\/system-reminder>\n?/;
