// The conversation between the comparer and a peer: one JSON request a line in,
// one JSON answer a line out, in order.

import { writeSync } from "node:fs";
import { createInterface } from "node:readline";

/** Answers requests until stdin ends. `handlers[request.op](request)` gives the answer. */
export async function serve(handlers) {
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    const answer = await attempt(() => handlers[request.op](request));
    writeAll(`${JSON.stringify(answer)}\n`);
  }
}

/** What `ask` gives, or why it could not; a peer that throws must not end the run. */
export async function attempt(ask) {
  try {
    return { ok: (await ask()) ?? null };
  } catch (error) {
    return { error: `${error?.message ?? error}`, stack: error?.stack };
  }
}

/** `attempt` for what needs no waiting. */
export function part(ask) {
  try {
    return { ok: ask() ?? null };
  } catch (error) {
    return { error: `${error?.message ?? error}`, stack: error?.stack };
  }
}

function writeAll(text) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
}
