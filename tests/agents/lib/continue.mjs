// An agent continues a session that `pisess fork --for` wrote for it.

import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { linesOf } from "./place.mjs";
import { compare, turnsOf } from "./said.mjs";

/** What the agents are asked in each session. */
const PROMPT = "say it";

/**
 * Forks a session for an agent, which continues it. It must send what pisess says that pi sends. An import of the
 * result must have all entries of the original, and the new turn after them.
 */
export async function checkContinuing(agent, place, session) {
  const before = readFileSync(session, "utf8");
  const fork = ["fork", "-q", "--branches", "--for"];
  const [path] = (await place.pisess(...fork, agent.name, "--cwd", place.project, session)).split("\n");
  const original = await copyForPi(place, session, fork);
  const expected = agent.messagesOf(JSON.parse(await place.pisess("context", "-q", "--as", agent.api, original)));

  agent.setUp(place);
  const requestCount = place.exchanges.length;
  const command = [...agent.program, ...agent.resume(resumeName(path), PROMPT)];
  await place.run(command, { variables: agent.variables(place) });
  const bodies = place.exchanges.slice(requestCount).map(({ body }) => body);
  const request = bodies.find((body) => JSON.stringify(agent.messagesOf(body)).includes(PROMPT));
  if (!request) throw new Error(`${agent.title} sent no request with the prompt`);
  const found = turnsOf(agent.messagesOf(request), { textOf: agent.continued.textOf });
  if (!found.pop().endsWith(PROMPT)) throw new Error("the prompt is not the last message");
  compare(found, turnsOf(expected, agent.continued));
  if (readFileSync(session, "utf8") !== before) throw new Error("the original was changed");

  const back = join(place.home, "back.jsonl");
  await place.pisess("import", "-q", "-o", back, path);
  const entries = linesOf(back);
  // Without the header, which has another id.
  const own = linesOf(original).slice(1);
  compare(entries.slice(1, own.length + 1), own);
  if (!entries.some((line) => line.includes(PROMPT))) throw new Error("the import lacks the new turn");
}

/** Returns what names a session: its title, under which the agent lists it, or its id. */
function resumeName(path) {
  for (const line of linesOf(path).reverse()) {
    const { customTitle, payload } = JSON.parse(line);
    const title = customTitle ?? payload?.thread_name;
    if (title) return title;
  }
  return basename(path, ".jsonl").slice(-36);
}

/** Returns a copy of a session as a session of pi; one of another agent is imported. */
async function copyForPi(place, session, fork) {
  const copy = join(place.home, "original.jsonl");
  const isForeign = !linesOf(session).some((line) => line.startsWith('{"type":"session"'));
  if (isForeign) {
    await place.pisess("import", "-q", "-o", copy, session);
  } else {
    await place.pisess(...fork, "pi", session, "-o", copy);
  }
  return copy;
}

/** Returns a copy of a session whose leaf is an entry that others follow, with which an agent must not continue. */
export async function moveLeaf(place, original) {
  const session = join(place.home, "moved.jsonl");
  copyFileSync(original, session);
  await place.pisess("switch", "-q", session, "1a2b3c02");
  return session;
}

/**
 * Returns a session that the real pi has recorded through an API: text, thinking, one call, two calls, and one that
 * fails.
 */
export async function recordWithPi(place, { modules, node, api }) {
  const folder = join(place.home, ".pi", "agent");
  mkdirSync(folder, { recursive: true });
  const entry = { id: "claude-opus-4-5", name: "m", reasoning: true, input: ["text"], contextWindow: 100000, maxTokens: 4000 };
  const cost = { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1 };
  const provider = { baseUrl: place.url, api, apiKey: "x", models: [{ ...entry, cost }] };
  writeFileSync(join(folder, "models.json"), JSON.stringify({ providers: { anthropic: provider } }));

  const cli = join(modules, "@earendil-works", "pi-coding-agent", "dist", "bundle", "cli.js");
  const prompts = ["hello", "think: kites need wind", "run: echo one", "run: echo two; echo three", "run: exit 3"];
  for (const [index, prompt] of prompts.entries()) {
    const options = ["--provider", "anthropic", "--model", "claude-opus-4-5", "--thinking", "low"];
    await place.run([node, cli, ...options, ...(index > 0 ? ["-c"] : []), "-p", prompt], { variables: { PI_OFFLINE: "1" } });
  }
  return place.files(".pi/agent/sessions", ".jsonl")[0];
}
