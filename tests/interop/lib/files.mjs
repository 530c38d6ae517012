// pi's own tools write, edit and read files, by calls that are recorded as pi records them. What `show --file` prints
// for the session must be what is on disk, after each call.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { difference } from "./json.mjs";
import { random } from "./random.mjs";

/** The number of sessions for each version of pi, and of calls in each. */
const SESSIONS = 12;
const CALLS = 14;

/** Lines with what pi's edit treats specially: white space at the end, quotes, dashes, spaces, wide characters. */
const LINES = ["fn main() {", "  let a = 1;  ", "\tx\u00a0= \u201cquoted\u201d", "a \u2014 b", "}", "", "\u{1f600} smile", "e\u0301", "last \u2019one\u2019"];
const ENDS = ["\n", "\r\n", "\r"];

/** pi before 1.6 makes all line ends of an edited file alike, so it gets only files in which they are. */
const keepsMixedEnds = (name) => name === "pi";
const PATHS = ["a.txt", "./a.txt", "dir/b.rs", "dir/../dir/b.rs", "@a.txt"];

/** Works on files with each version of pi. Calls `report(name, found, commands)`; `found` is the difference, or null. */
export async function compareFiles({ pisess, peers, folder }, seed, report) {
  for (const [name, peer] of Object.entries(peers)) {
    if (name === "omp") continue;
    for (let number = 0; number < SESSIONS; number++) {
      const own = `${name.replace(/\W+/g, "-")}-${number}`;
      const desk = { pisess, peer, cwd: join(folder, `files-${own}`), random: random(`files ${seed} ${own}`), mixes: keepsMixedEnds(name) };
      mkdirSync(desk.cwd, { recursive: true });
      const found = await work(desk);
      report(`files ${own}`, found.difference, found.commands);
    }
  }
}

/** Makes calls one after another, and compares the files after each. */
async function work(desk) {
  const session = new Recording(desk.cwd);
  for (let count = 0; count < CALLS; count++) {
    const call = nextCall(desk);
    const result = await desk.peer.request({ op: "tool", cwd: desk.cwd, ...call });
    session.add(call, result);
    for (const path of ["a.txt", "dir/b.rs"]) {
      const onDisk = read(join(desk.cwd, path));
      if (onDisk === null) continue;
      const args = ["show", "--file", path, session.file];
      const { code, stdout, stderr } = await desk.pisess.run(args, undefined, { cwd: desk.cwd });
      // A file is known as soon as something succeeded on it: the first call always writes all of it.
      const found = difference({ code: 0, text: onDisk, stderr: "" }, { code, text: stdout, stderr });
      if (found) return { difference: found, commands: [args] };
    }
  }
  const args = ["show", "--files", "--json", session.file];
  const { stdout } = await desk.pisess.run(args);
  const known = stdout.trim().split("\n").map((row) => JSON.parse(row).known);
  return { difference: difference(known.map(() => "whole"), known), commands: [args] };
}

/** Returns the next call. On a file that does not exist, it is a write. */
function nextCall({ cwd, random, mixes }) {
  const path = random.pick(PATHS);
  const text = read(join(cwd, path.replace(/^@/, "")));
  if (text === null || random.chance(0.15)) return { name: "write", args: { path, content: newText(random, mixes) } };
  if (random.chance(0.2)) return { name: "read", args: { path } };
  if (random.chance(0.1)) return { name: "read", args: { path, offset: 2, limit: 2 } };
  if (random.chance(0.15)) return { name: "edit", args: { path, edits: [{ oldText: "not there", newText: "x" }] } };
  const edits = someEdits(text, random);
  const spelled = random.weighted([
    [6, { edits }],
    [1, { edits: JSON.stringify(edits) }],
    [1, { edits: edits[0] }],
    [1, { oldText: edits[0].oldText, newText: edits[0].newText }],
  ]);
  return { name: "edit", args: { path, ...spelled } };
}

function newText(random, mixes) {
  const end = random.pick(mixes ? ENDS : ENDS.slice(0, 2));
  const mixed = mixes && random.chance(0.2);
  const mark = random.chance(0.2) ? "\ufeff" : "";
  const lines = Array.from({ length: random.between(1, 9) }, (_, n) => `${n} ${random.pick(LINES)}`);
  const joined = lines.map((line) => line + (mixed ? random.pick(ENDS) : end)).join("");
  return mark + (random.chance(0.3) ? joined.trimEnd() : joined);
}

/** Returns edits of one or two places, sometimes with an old text that only resembles the file's. */
function someEdits(text, random) {
  const lines = text.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n").split("\n");
  const count = Math.min(lines.length, random.between(1, 2));
  const chosen = random.some([...lines.keys()], count).sort((a, b) => a - b);
  return chosen.map((index) => {
    const old = lines[index];
    const resembling = old.trimEnd().replace(/[\u201c\u201d]/g, '"').replace(/[\u2018\u2019]/g, "'").replace(/\u2014/g, "-");
    const oldText = random.chance(0.3) ? resembling : old;
    const newText = random.pick([`${old}!`, `${old}\nand ${random.below(1000)}`, `new ${random.below(1000)}\r\nline`, ""]);
    return { oldText, newText };
  });
}

function read(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

/** A session as pi records it: for each call a reply, and its result. */
class Recording {
  constructor(cwd) {
    this.file = join(cwd, "session.jsonl");
    this.parentId = null;
    this.count = 0;
    this.lines = [{ type: "session", version: 3, id: "0199d3c2-0000-7000-8000-000000000001", timestamp: "2026-01-01T00:00:00.000Z", cwd }];
  }

  add({ name, args }, { content, details, isError }) {
    const toolCallId = `call_${this.count}`;
    this.push({ role: "assistant", content: [{ type: "toolCall", id: toolCallId, name, arguments: args }], stopReason: "toolUse" });
    this.push({ role: "toolResult", toolCallId, toolName: name, content, details, isError });
    writeFileSync(this.file, this.lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  }

  push(message) {
    const id = (++this.count).toString(16).padStart(8, "0");
    this.lines.push({ type: "message", id, parentId: this.parentId, timestamp: "2026-01-01T00:00:01.000Z", message });
    this.parentId = id;
  }
}
