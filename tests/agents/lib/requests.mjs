// The requests of an agent, compared with what `context` prints of the imported session.

import { compare, turnsOf } from "./said.mjs";

/** The number of answers of a case whose requests are compared, at most. */
const COMPARED_COUNT = 40;

/** Checks that `context` before each answer is what the agent sent for it. */
export async function checkRequests(agent, place, answers) {
  const step = Math.ceil(answers.length / COMPARED_COUNT);
  for (const [index, answer] of answers.entries()) {
    if (index % step === 0 || index === answers.length - 1) await checkRequest(agent, place, answer);
  }
}

async function checkRequest(agent, place, { exchange, session, entry }) {
  const printed = await place.pisess("context", "-q", "--as", agent.api, session.path, `id:${entry.parentId}`);
  const added = textsOfTypes(session, agent.recorded.withoutTypes);
  const own = withoutSummary(agent.messagesOf(JSON.parse(printed)), summaryOfPi, {
    ...agent.recorded,
    textOf: (text) => (added.has(text) ? "" : agent.recorded.textOf(text)),
  });
  const isSummary = (text) => (text === own.summary ? text : null);
  const sent = withoutSummary(agent.messagesOf(exchange.body), isSummary, agent.recorded);
  try {
    compare(own.turns, sent.turns);
    compare([sent.summary], [own.summary]);
  } catch (error) {
    throw new Error(`request ${exchange.number}: ${error.message}`);
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
