// Imported sessions of Claude Code and Codex. Both agents open each, find in it what pisess finds, and continue it. On
// sources without branches and compactions, the content is that of the messages which oh-my-pi's own importers make, as
// far as they keep it. They make a message of each line, and pisess one of each response.

import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { continued } from "./handed.mjs";
import { difference } from "./json.mjs";
import { one } from "./repaired.mjs";
import { World } from "./world.mjs";

/** The fixtures that are straight: those in which every line follows the one before it. */
const STRAIGHT = ["claude/plain", "claude/damaged", "codex/plain", "codex/damaged", "codex/encrypted"];

/** Compares all fixtures below a directory. Calls `report(name, found, commands)`; `found` is the difference, or null. */
export async function compareImported({ pisess, peers, folder }, fixtures, report) {
  for (const source of ["claude", "codex"]) {
    for (const file of readdirSync(join(fixtures, source)).sort()) {
      const name = `${source}/${basename(file, ".jsonl")}`;
      const path = join(fixtures, source, file);
      for (const agent of ["pi", "omp"]) {
        const out = join(folder, `imported-${agent}-${name.replace("/", "-")}.jsonl`);
        const command = ["import", "-q", path, "--for", agent, "-o", out];
        const { code, stderr } = await pisess.run(command);
        if (code !== 0) {
          report(`${name} for ${agent}`, { pointer: "(import)", expected: 0, actual: `${code}: ${stderr}` }, [command]);
          continue;
        }
        for (const [key, peer] of Object.entries(peers).filter(([key]) => key.startsWith(agent))) {
          const world = Object.assign(new World(), { pisess, peer, folder, file: out, peerFile: out, commands: [command] });
          report(`${name} in ${peer.name}`, await one(world, key === agent, false), world.commands);
          report(`${name}, continued by ${peer.name}`, await continued(world), world.commands);
        }
        if (!STRAIGHT.includes(name)) continue;
        const theirs = await peers.omp.request({ op: "imported", source, path });
        report(`${name} for ${agent} as oh-my-pi imports it`, await compared(pisess, out, theirs), [command]);
      }
    }
  }
}

/** Compares the messages of a session with those of oh-my-pi's importer. */
async function compared(pisess, file, theirs) {
  const { stdout } = await pisess.run(["path", file, "--json"]);
  const entries = stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  const ours = entries.flatMap(messageOf);
  if (theirs.length === 0) return { pointer: "(their importer)", expected: "messages", actual: "none" };
  return difference(theirs.flatMap(partsOf), ours.flatMap(partsOf));
}

/** Returns the message of an entry. Their importer takes what Codex says in the name of the user for the user's words. */
function messageOf({ type, customType, content, message, timestamp }) {
  if (type === "message") return [message];
  if (customType !== "codex.context") return [];
  return [{ role: "user", content, timestamp: Date.parse(timestamp) }];
}

/** Returns the blocks of a message, each with what the message says about it. */
function partsOf({ role, api, provider, model, toolCallId, toolName, isError, content }) {
  const blocks = Array.isArray(content) ? content : [{ type: "text", text: content }];
  return blocks.map((block) => ({ role, api, provider, model, toolCallId, toolName, isError, block }));
}
