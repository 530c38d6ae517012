// Redacted copies, and copies for the other agent. The agent opens each copy, and finds in it the entries, the
// leaf, the path, the context and the labels that pisess finds. Then it appends a question and an answer: pisess
// must find the agent's context in the result, and no new problem.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { wholeContext } from "./checks.mjs";
import { difference } from "./json.mjs";
import { one } from "./repaired.mjs";
import { World } from "./world.mjs";

/**
 * Compares the copies of each session. Calls `report(name, found, commands)` for each; `found` is the difference,
 * or null.
 */
export async function compareHanded({ pisess, peers, folder }, sessions, report) {
  for (const { name, lines, dialect } of sessions) {
    const file = join(folder, `handed-${name}.jsonl`);
    writeFileSync(file, `${lines.join("\n")}\n`);
    const other = dialect === "pi" ? "omp" : "pi";
    const copies = [
      ["redacted", dialect, ["redact", "-q", file, "--paths"]],
      ["converted", other, ["fork", "-q", file, "--branches", "--for", other]],
    ];
    for (const [what, agent, args] of copies) {
      const out = join(folder, `handed-${name}-${what}.jsonl`);
      const command = [...args, "-o", out];
      const { code, stderr } = await pisess.run(command);
      if (code !== 0) {
        report(`${name} ${what}`, { pointer: "(copy)", expected: "a copy", actual: `${code}: ${stderr}` }, [command]);
        continue;
      }
      for (const [key, peer] of Object.entries(peers).filter(([key]) => key.startsWith(agent))) {
        const world = Object.assign(new World(), { pisess, peer, folder, file: out, peerFile: out, commands: [command] });
        // Of the versions of pi, the newest is the reference.
        const found = await one(world, key === agent, false);
        report(`${name} ${what} in ${peer.name}`, found, world.commands);
        report(`${name} ${what}, continued by ${peer.name}`, await continued(world), world.commands);
      }
    }
  }
}

/** Compares the agent's context with that of pisess after the agent has continued a copy. */
export async function continued(world) {
  const out = world.scratch();
  let answer;
  try {
    [answer] = await world.ask([{ kind: "reopen", out }]);
  } catch (error) {
    return { pointer: "(the agent has no answer)", expected: "an answer", actual: error.message };
  }
  const added = answer.continued.messages.length - answer.context.messages.length;
  if (added !== 2) return { pointer: "(messages added)", expected: 2, actual: added };
  const context = await world.json(["context", out, "--json"]);
  const found = context.problem ?? difference(wholeContext(answer.continued), wholeContext(context.value));
  if (found) return found;
  const [before, after] = [await problems(world, world.file), await problems(world, out)];
  // A problem can go: the roots of a file are no warning once most of its entries have a parent.
  const grown = Object.entries(after).filter(([kind, n]) => n !== before[kind] && !(n < before[kind]));
  return difference({}, Object.fromEntries(grown));
}

/** Returns the number of problems that pisess finds, by kind. */
async function problems(world, file) {
  const { code, stdout, stderr } = await world.run(["check", file, "--json"]);
  if (code > 1) return { code, stderr };
  const kinds = {};
  for (const line of stdout.split("\n").filter(Boolean)) {
    const { kind, severity } = JSON.parse(line);
    // A note is not a problem: for example, oh-my-pi keeps images elsewhere.
    if (severity === "note") continue;
    kinds[kind] = (kinds[kind] ?? 0) + 1;
  }
  return kinds;
}
