// Tests the agents without pisess: each must answer every question about every session, and both versions of pi
// must give the same answers, except for known changes in the newer one.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { KINDS } from "./checks.mjs";
import { difference } from "./json.mjs";
import { checks } from "./plan.mjs";

/** Where the answers of 1.6.0 differ from those of 0.87.1, and why. */
const CHANGED = {
  text: { where: /^/, why: "thinking is left out" },
  summarize: { where: /^\/(readFiles|modifiedFiles)/, why: "nested calls count, and edits of the context" },
  prepare: { where: /^\/(fileOps|details)/, why: "nested calls count" },
  tree: { where: /\/text$/, why: "line ranges of reads, home folders" },
  fork: { where: /^\/(0\/(id|timestamp|parentSession)|\d+\/(id|parentId))$/, why: "ids and times are chance" },
};

export async function agree(peers, folder, sessions, seed, count) {
  const changed = {};
  for (const made of sessions) {
    const file = join(folder, "alone.jsonl");
    writeFileSync(file, `${made.lines.join("\n")}\n`);
    const [{ ok: entries }] = await peers[made.dialect].ask(file, [{ kind: "entries" }]);
    const questions = checks(seed, made, entries).flatMap((check) => KINDS[check.kind].questions(check)).filter(({ kind }) => kind !== "write");
    const newer = await peers[made.dialect].ask(file, questions);
    const older = made.dialect === "pi" ? await peers["pi 0.87.1"].ask(file, questions) : newer;
    for (const [at, { kind, ...rest }] of questions.entries()) {
      const silent = newer[at].error ?? older[at].error;
      const found = silent ? { pointer: "(no answer)", expected: silent } : difference(older[at].ok, newer[at].ok);
      const expected = !silent && found && CHANGED[kind]?.where.test(found.pointer);
      if (expected) changed[kind] = (changed[kind] ?? 0) + 1;
      count(kind, !found || expected);
      if (found && !expected) {
        console.log(`FAIL ${made.name} ${kind} ${JSON.stringify(rest)} at ${found.pointer}`);
        console.log(`  ${JSON.stringify(found.expected)?.slice(0, 300)}\n  ${JSON.stringify(found.actual)?.slice(0, 300)}`);
        if (silent) console.log((newer[at].stack ?? older[at].stack).split("\n").slice(0, 4).join("\n"));
      }
    }
  }
  for (const [kind, times] of Object.entries(changed)) console.log(`  ${kind}: ${times} times otherwise than in 0.87.1 (${CHANGED[kind].why})`);
}
