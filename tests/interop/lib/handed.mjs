// Sessions that were handed on: redacted copies, and copies for the other agent. The agent that each copy is for
// opens it, and finds in it the entries, the leaf, the path, the context and the labels that pisess finds.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { one } from "./repaired.mjs";
import { World } from "./world.mjs";

/** Compares the copies of each session; calls `report(name, found, commands)` with what differs, or null. */
export async function compareHanded({ pisess, peers, folder }, sessions, report) {
  for (const { name, lines, dialect } of sessions) {
    const file = join(folder, `handed-${name}.jsonl`);
    writeFileSync(file, `${lines.join("\n")}\n`);
    const other = dialect === "pi" ? "omp" : "pi";
    const copies = [
      ["redacted", dialect, ["redact", "-q", file, "--paths"]],
      ["converted", other, ["fork", "-q", file, "--all", "--for", other]],
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
        // Of pi, the newest is the reference.
        const found = await one(world, key === agent, false);
        report(`${name} ${what} in ${peer.name}`, found, world.commands);
      }
    }
  }
}
