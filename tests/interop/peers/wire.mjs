// The protocol between the comparer and a peer: one JSON request per line in, one JSON answer per line out, in
// order.

import { writeSync } from "node:fs";
import { createInterface } from "node:readline";

/** Answers requests until stdin ends, each with the result of `handlers[request.op](request)`. */
export async function serve(handlers) {
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    const answer = await attempt(() => handlers[request.op](request));
    writeAll(`${JSON.stringify(answer)}\n`);
  }
}

/** Returns the result of `ask`, or why it failed; a peer that throws must not end the run. */
export async function attempt(ask) {
  try {
    return { ok: (await ask()) ?? null };
  } catch (error) {
    return { error: `${error?.message ?? error}`, stack: error?.stack };
  }
}

/** Like `attempt`, for synchronous functions. */
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
