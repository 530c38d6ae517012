// Repairs the broken files of the fixtures: every agent must open the result, and find in it the entries, the leaf
// and the path that pisess finds.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { difference } from "./json.mjs";
import { World } from "./world.mjs";

/** pi does not open a file with a title line, which is from oh-my-pi; a repair does not remove it. */
const refused = (name, peer) => name === "title-slot-too-short" && peer !== "omp";

/**
 * An older harness wrote `leaf` records. The agents make such a record the leaf, pisess the entry that it refers
 * to.
 */
const marksLeaf = (name) => name === "trailing-leaf-record";

/** Repairs and compares each file. Calls `tell(name, found, commands)`; `found` is the difference, or null. */
export async function compareRepaired({ pisess, peers, folder }, fixtures, tell) {
  for (const file of readdirSync(fixtures).sort()) {
    const name = file.replace(/\.jsonl$/, "");
    const out = join(folder, `repaired-${file}`);
    const repair = ["check", "--repair", "-q", "-o", out, join(fixtures, file)];
    const { code, stderr } = await pisess.run(repair);
    if (code !== 0 && code !== 1) {
      const wrong = existsSync(out) || code !== 2;
      tell(name, wrong ? { pointer: "(repair)", expected: "a repaired file, or none", actual: `${code}: ${stderr}` } : null, [repair]);
      continue;
    }
    for (const [peer, agent] of Object.entries(peers)) {
      const world = Object.assign(new World(), { pisess, peer: agent, folder, file: out, peerFile: out, commands: [repair] });
      const found = refused(name, peer) ? await refusal(world) : await one(world, isOwn(out, peer), marksLeaf(name));
      tell(`${name} in ${agent.name}`, found, world.commands);
    }
  }
}

const isOwn = (file, peer) => (readFileSync(file, "utf8").startsWith('{"type":"title"') ? "omp" : "pi") === peer;

async function refusal(world) {
  const answer = await world.ask([{ kind: "leaf" }]).catch((error) => error);
  const is = answer instanceof Error && /not a valid pi session/.test(answer.message);
  return is ? null : { pointer: "(opening)", expected: "a refusal", actual: answer };
}

/** Compares what an agent and pisess find in a file; with `own`, also context, labels and tree. */
export async function one(world, own, marksLeaf) {
  const { value: rows, problem } = await world.jsonLines(["tree", world.file, "--filter", "all", "--json"]);
  if (problem) return problem;
  const leaf = rows.find((row) => row.leaf)?.id ?? null;
  const { value: path } = await world.jsonLines(["path", world.file, "--json"]);
  const ids = (list) => list.map((entry) => entry.id);
  const inFile = ids(rows.toSorted((a, b) => a.line - b.line));
  const at = leaf ? [{ kind: "path", id: leaf }, { kind: "context", id: leaf }] : [];
  let answers;
  try {
    answers = await world.ask([{ kind: "leaf" }, { kind: "entries" }, ...at]);
  } catch (error) {
    return { pointer: "(the agent has no answer)", expected: "an answer", actual: error.message };
  }
  const [found, entries, branch = []] = answers;
  const theirs = { leaf: marksLeaf ? leaf : found, entries: ids(entries), path: ids(branch) };
  const differing = difference(theirs, { leaf, entries: inFile, path: ids(path) }, { order: true });
  if (differing || !own || !leaf || marksLeaf) return differing;
  const checks = [{ kind: "context", id: leaf }, { kind: "labels" }, { kind: "tree", filter: "default" }];
  return (await world.compare(checks)).find(({ found }) => found)?.found ?? null;
}
