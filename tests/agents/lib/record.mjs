// A real agent records sessions with the model; pisess imports them and reads them in place. The log of the model is
// the truth: everything that was said must be in the import once, and where it was said.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { linesOf } from "./place.mjs";
import { checkRequests } from "./requests.mjs";
import { compare } from "./said.mjs";

const NO_TOKENS = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

/** Has an agent record the sessions of a case, and checks what pisess makes of them. */
export async function checkRecording(agent, place, { run, expects = {}, store = agent.store }) {
  agent.setUp(place);
  const desk = new agent.Desk(agent, place);
  await run(desk);
  const exchanges = place.exchanges.filter((exchange) => !agent.isAside(exchange));

  const sessions = await importAll(`${place.home}/${store}`, place);
  await checkShape(place, exchanges, sessions, expects);
  checkPrompts(sessions, desk.prompts);
  const answers = checkAnswers(exchanges, sessions);
  checkResults(agent, exchanges, sessions);
  await checkRequests(agent, place, answers);
  await checkLeaves(place, answers);
  await checkUsage(agent, place, { exchanges, sessions, answers });
  await checkReadingInPlace(agent, place, sessions);
}

/** Imports all that the agent recorded in a directory, and returns the sessions: `{source, path, entries}`. */
async function importAll(store, place) {
  const printed = await place.pisess("import", "--json", store);
  const sessions = [];
  for (const line of printed.split("\n").filter((line) => line !== "")) {
    const { path, to, action } = JSON.parse(line);
    if (action !== "create") throw new Error(`the import of ${path}: ${action}`);
    sessions.push({ source: path, path: to, entries: linesOf(to).map((entry) => JSON.parse(entry)) });
  }
  if (sessions.length === 0) throw new Error("nothing was recorded");

  const paths = sessions.map(({ path }) => path);
  await place.pisess("check", "-q", ...paths);
  const before = paths.map(digest);
  const again = await place.pisess("import", "-q", store);
  compare([again, ...paths.map(digest)], ["", ...before]);
  return sessions;
}

function digest(path) {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

/** Checks that what the case wanted has happened; otherwise the other checks could mean nothing. */
async function checkShape(place, exchanges, sessions, expects) {
  const isOutcome = (wanted) => exchanges.filter(({ outcome }) => outcome === wanted).length;
  const folders = sessions.map(({ path }) => path.replace(/\.jsonl$/, ""));
  let tipCount = 0;
  for (const { path } of sessions) {
    const branches = await place.pisess("branches", "-q", "--json", path);
    tipCount += branches.trim().split("\n").length;
  }
  const counts = {
    sessions: sessions.length,
    subAgents: sessions.filter(({ path }) => folders.includes(dirname(path))).length,
    compactions: sessions.flatMap(({ entries }) => entries).filter(({ type }) => type === "compaction").length,
    tips: tipCount,
    cut: isOutcome("cut"),
    refused: isOutcome("refused"),
  };
  const usual = { sessions: 1, subAgents: 0, compactions: 0, cut: 0, refused: 0 };
  const expected = { ...usual, ...expects };
  expected.tips ??= expected.sessions;
  compare(Object.keys(counts).map((key) => `${key}: ${counts[key]}`), Object.keys(counts).map((key) => `${key}: ${expected[key]}`));
}

/** Returns the messages of a session with a role. */
function messagesWith(session, role) {
  return session.entries.filter(({ type, message }) => type === "message" && message.role === role);
}

function textsOf({ message: { content } }) {
  return typeof content === "string" ? [content] : content.filter(({ type }) => type === "text").map(({ text }) => text);
}

/** Checks that something is in at least one session, and in none twice. `countIn(session)` returns how often. */
function checkOnce(what, sessions, countIn) {
  const count = Math.max(...sessions.map(countIn));
  if (count !== 1) throw new Error(`${what} is ${count} times in one session`);
}

function checkPrompts(sessions, prompts) {
  for (const prompt of prompts) {
    const isPrompt = (entry) => textsOf(entry).some((text) => text.trim() === prompt);
    checkOnce(`the prompt "${prompt}"`, sessions, (session) => messagesWith(session, "user").filter(isPrompt).length);
  }
}

/**
 * Checks each block of each answer. Returns where the answers are, as far as they are messages: `{exchange, session,
 * entry}`, for each session with a copy. What was said before the agent closed the connection may be missing.
 */
function checkAnswers(exchanges, sessions) {
  const answers = [];
  for (const exchange of exchanges) {
    if (exchange.outcome === "refused" || isSummary(exchange, sessions)) continue;
    if (exchange.outcome === "answered") {
      for (const block of exchange.blocks) checkBlock(block, sessions);
    }
    for (const session of sessions) {
      const entry = messagesWith(session, "assistant").find(({ message }) => isAnswer(message, exchange));
      if (entry) answers.push({ exchange, session, entry });
    }
  }
  return answers;
}

function checkBlock(block, sessions) {
  const isBlock = (part) => isSameBlock(part, block);
  const countIn = (session) => messagesWith(session, "assistant").flatMap(({ message }) => message.content).filter(isBlock).length;
  checkOnce(`the block ${JSON.stringify(block)}`, sessions, countIn);
}

function isSameBlock(part, block) {
  // Gemini CLI puts the name of the tool before the id.
  if (block.call) return part.type === "toolCall" && part.id.endsWith(block.id) && part.name === block.call;
  if (block.thinking) return part.type === "thinking" && part.thinking === block.thinking;
  return part.type === "text" && part.text === block.text;
}

/** Whether a message has an answer. One that was cut has only its beginning, and the id of the response. */
function isAnswer(message, { blocks, id, outcome }) {
  if (outcome === "answered") return message.content.some((part) => isSameBlock(part, blocks.at(-1)));
  return message.responseId?.endsWith(id) && textsOf({ message }).every((text) => blocks.at(-1).text.startsWith(text));
}

/** Whether an answer became the summary of a compaction. */
function isSummary(exchange, sessions) {
  const { text } = exchange.blocks.at(-1);
  if (text === undefined) return false;
  const said = /A summary \(\d+\)\./.exec(text)?.[0] ?? text;
  const summaries = sessions.flatMap(({ entries }) => entries.filter(({ type }) => type === "compaction"));
  return summaries.some(({ summary }) => summary.includes(said));
}

function checkResults(agent, exchanges, sessions) {
  const ids = new Set();
  for (const { body } of exchanges) {
    const blocks = agent.messagesOf(body).flatMap(({ content }) => (typeof content === "string" ? [] : content));
    for (const { type, tool_use_id } of blocks) if (type === "tool_result") ids.add(tool_use_id);
  }
  for (const id of ids) {
    const countIn = (session) => messagesWith(session, "toolResult").filter(({ message }) => message.toolCallId.endsWith(id)).length;
    checkOnce(`the result of ${id}`, sessions, countIn);
  }
}

/** Checks that the last answer in each session is on the path to the leaf. */
async function checkLeaves(place, answers) {
  const lastAnswers = new Map();
  for (const { exchange, session, entry } of answers) {
    const last = lastAnswers.get(session);
    if (!last || exchange.number > last.exchange.number) lastAnswers.set(session, { exchange, entry });
  }
  for (const [{ path }, { exchange, entry }] of lastAnswers) {
    const ids = (await place.pisess("path", "-q", "--ids", path)).split("\n");
    if (!ids.includes(entry.id)) throw new Error(`answer ${exchange.number} is not on the path to the leaf`);
  }
}

/**
 * Checks the tokens of each answer, and their sum over the sessions. Claude Code writes zeros into a fork, for answers
 * that a compaction kept.
 */
async function checkUsage(agent, place, { exchanges, sessions, answers }) {
  const counted = new Map();
  for (const exchange of new Set(answers.map((answer) => answer.exchange))) {
    const expected = usageOf(exchange);
    const copies = answers.filter((answer) => answer.exchange === exchange);
    const found = copies.map(({ entry }) => JSON.stringify(tokens(entry.message.usage)));
    const others = found.filter((usage) => usage !== JSON.stringify(expected));
    const isComplete = others.length < copies.length && others.every((usage) => usage === JSON.stringify(NO_TOKENS));
    if (!isComplete) throw new Error(`usage of answer ${exchange.number}: ${found}, not ${JSON.stringify(expected)}`);
    counted.set(exchange, expected);
  }
  if (agent.recordsUsageOfSummaries) {
    for (const exchange of exchanges) if (isSummary(exchange, sessions)) counted.set(exchange, usageOf(exchange));
  }

  const sum = { ...NO_TOKENS };
  for (const usage of counted.values()) {
    for (const key of Object.keys(sum)) sum[key] += usage[key];
  }
  const printed = await place.pisess("stats", "-q", "--json", ...sessions.map(({ path }) => path));
  compare([`stats ${JSON.stringify(tokens(JSON.parse(printed).tokens))}`], [`stats ${JSON.stringify(sum)}`]);
}

/** Returns what the model reported until the end, or until the connection was closed. */
function usageOf({ usage, outcome }) {
  return outcome === "cut" ? { ...usage, output: 1 } : usage;
}

function tokens({ input, output, cacheRead, cacheWrite }) {
  return { input, output, cacheRead, cacheWrite };
}

/** Checks that a session is the same, read in place and read after its import. */
async function checkReadingInPlace(agent, place, sessions) {
  for (const { source, path } of sessions) {
    for (const [name, ...options] of [["tree", "--filter", "all"], ["context", "--as", agent.api], ["stats"]]) {
      const printed = await place.pisess(name, "-q", "--json", ...options, source);
      const imported = await place.pisess(name, "-q", "--json", ...options, path);
      compare(linesWithoutNumbers(printed), linesWithoutNumbers(imported));
    }
  }
}

/** Returns lines of JSON without the numbers of lines, which in place are those of the source. */
function linesWithoutNumbers(printed) {
  return printed.split("\n").map((line) => line.replace(/"line":\d+,/, ""));
}
