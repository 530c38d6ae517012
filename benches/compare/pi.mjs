// pi's own loader: `pi.mjs <package folder> <session>...` opens each session and builds its tree.
// `pi.mjs <package folder> --list <folder>` lists the sessions of a folder.
// Prints its time in milliseconds without the start of Node, the number of entries, and the leaf of the last
// session.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, ...files] = process.argv.slice(2);
process.env.PI_CODING_AGENT_DIR = mkdtempSync(join(tmpdir(), "pisess-bench-"));
const { SessionManager } = await import(pathToFileURL(resolve(folder, "dist/core/session-manager.js")).href);

if (files[0] === "--list") {
  const begin = performance.now();
  const sessions = await SessionManager.listAll(files[1]);
  console.log(performance.now() - begin, sessions.length, sessions[0].id);
  process.exit(0);
}

const start = performance.now();
let entries = 0;
let leaf;
for (const file of files) {
  const session = SessionManager.open(file);
  if (session.getTree().length === 0) throw new Error(`${file}: no tree`);
  entries += session.getEntries().length;
  leaf = session.getLeafId();
}
console.log(performance.now() - start, entries, leaf);
