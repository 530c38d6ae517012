// The requests of an agent, compared with what `context` prints of the imported session.

import { compare, turnsOf } from "./said.mjs";

/** The number of answers of a case whose requests are compared, at most. */
const COMPARED_COUNT = 40;

/**
 * Checks that `context` before each answer is what the agent sent for it. A fork can have the answer without what was
 * before it; then the session that was forked must have it.
 */
export async function checkRequests(agent, place, answers) {
  const byExchange = new Map();
  for (const answer of answers) {
    const copies = byExchange.get(answer.exchange) ?? [];
    byExchange.set(answer.exchange, [...copies, answer]);
  }
  const step = Math.ceil(byExchange.size / COMPARED_COUNT);
  for (const [index, [exchange, copies]] of [...byExchange].entries()) {
    if (index % step === 0 || index === byExchange.size - 1) await checkRequest(agent, place, exchange, copies);
  }
}

/** Checks that the context before at least one of the copies of an answer is what the agent sent for it. */
async function checkRequest(agent, place, exchange, copies) {
  const differences = [];
  for (const { session, entry } of copies) {
    const difference = await findDifference(agent, place, { exchange, session, entry });
    if (difference === null) return;
    differences.push(difference);
  }
  throw new Error(`request ${exchange.number}: ${differences.join("\n")}`);
}

/** Returns how the context before an answer differs from the request, or null. */
async function findDifference(agent, place, { exchange, session, entry }) {
  const model = agent.modelOf(exchange.body);
  const asked = ["--as", agent.api, ...(model ? ["--model", model] : [])];
  const printed = await place.pisess("context", "-q", ...asked, session.path, `id:${entry.parentId}`);
  const added = textsOfTypes(session, agent.recorded.withoutTypes);
  const own = withoutSummary(agent.messagesOf(JSON.parse(printed)), summaryOfPi, {
    ...agent.recorded,
    textOf: (text) => (added.has(text) ? "" : agent.recorded.textOf(text)),
  });
  const isSummary = (text) => (text.trim() === own.summary?.trim() ? text : null);
  const sent = withoutSummary(agent.messagesOf(exchange.body), isSummary, agent.recorded);
  try {
    compare(own.turns, sent.turns);
    compare([sent.summary?.trim()], [own.summary?.trim()]);
    return null;
  } catch (error) {
    return error.message;
  }
}

/** Returns the texts of the custom messages of some types. */
function textsOfTypes({ entries }, types) {
  const messages = entries.filter(({ type, customType }) => type === "custom_message" && types.includes(customType));
  return new Set(messages.flatMap(({ content }) => (typeof content === "string" ? content : content.map(({ text }) => text))));
}

/** Returns the summary in the text with which pi begins a context after a compaction. */
function summaryOfPi(text) {
  const frame = /^The conversation history before this point was compacted into the following summary:\n\n<summary>\n([^]*)\n<\/summary>$/;
  return frame.exec(text)?.[1] ?? null;
}

/**
 * Returns turns without the summary of a compaction, and the summary: the agents put it at different places of a
 * request. `summaryOf(text)` returns the summary that a text is, or null.
 */
function withoutSummary(messages, summaryOf, how) {
  let summary;
  const textOf = (text) => {
    const found = summaryOf(text);
    if (found === null) return how.textOf(text);
    summary = found;
    return "";
  };
  return { turns: turnsOf(messages, { ...how, textOf }), summary };
}
