// Archived sessions: no agent lists or opens them, and after they were restored, each agent opens them as before, with the
// payloads that oh-my-pi keeps outside of its sessions, and continues them.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { continued } from "./handed.mjs";
import { difference } from "./json.mjs";
import { PIXEL } from "./pieces.mjs";
import { World } from "./world.mjs";

const OLD = 1_700_000_000;

/** Archives and restores each session. Calls `report(name, found, commands)`; `found` is the difference, or null. */
export async function compareArchived({ pisess, peers, folder }, sessions, report) {
  // oh-my-pi finds blobs in its own directory only.
  const agents = { pi: join(folder, "archived", "agent"), omp: await peers.omp.request({ op: "agent" }) };
  for (const { name, lines, dialect } of sessions) {
    const agent = agents[dialect];
    const run = (args) => pisess.run(args, "", { env: { PI_CODING_AGENT_DIR: agent } });
    const project = join(folder, "archived", name);
    mkdirSync(project, { recursive: true });
    const file = join(agent, "sessions", folderName(dialect, project), `${name}.jsonl`);
    const blob = dialect === "omp" ? image(lines, agent) : undefined;
    const text = `${[...lines, ...(blob ? [blob.line] : [])].join("\n")}\n`.replace(/"cwd":"[^"]*"/, `"cwd":${JSON.stringify(project)}`);
    for (const [path, content] of [[file, text], ...(blob ? [[blob.path, blob.content]] : [])]) {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
      utimesSync(path, OLD, OLD);
    }
    const own = Object.entries(peers).filter(([key]) => key.startsWith(dialect)).map(([, peer]) => peer);
    const worlds = own.map((peer) => Object.assign(new World(), { pisess, peer, folder, file, peerFile: file, commands: [] }));
    const before = await Promise.all(worlds.map(opened));
    const listed = await Promise.all(own.map((peer) => list(peer, file, project)));
    const archive = ["archive", "-q", file];
    const { code, stdout, stderr } = await run(archive);
    const is = (expected, actual) => difference({ expected }, { expected: actual });
    report(`${name} archived`, is({ code: 0, is: false }, { code: code || stderr || code, is: existsSync(file) }), [archive]);
    for (const peer of own) {
      report(`${name} archived, as ${peer.name} lists it`, is([], await list(peer, file, project)), [archive]);
    }
    // What no session refers to, the agent removes.
    if (blob) rmSync(blob.path);
    const restore = ["archive", "-q", "--restore", stdout.trim()];
    const restored = await run(restore);
    const facts = existsSync(file) ? { text: readFileSync(file, "utf8"), time: statSync(file).mtimeMs } : restored.stderr;
    report(`${name} restored`, is({ text, time: OLD * 1000 }, facts), [restore]);
    if (blob) report(`${name} restored, its blob`, is(true, existsSync(blob.path) && readFileSync(blob.path).equals(blob.content)), [restore]);
    for (const [at, world] of worlds.entries()) {
      const after = await opened(world);
      report(`${name} restored, in ${world.peer.name}`, difference(before[at], after), [restore]);
      if (blob) report(`${name} restored, its blob in ${world.peer.name}`, is(true, JSON.stringify(after).includes(PIXEL)), [restore]);
      report(`${name} restored, as ${world.peer.name} lists it`, is(listed[at], await list(world.peer, file, project)), [restore]);
      // Where the agent has the image, pisess prints the reference to it.
      if (blob) rmSync(blob.path, { force: true });
      report(`${name} restored, continued by ${world.peer.name}`, await continued(world), [restore]);
    }
    for (const path of [file, ...(blob ? [blob.path] : [])]) rmSync(path, { force: true });
  }
}

/** Returns what the agent finds in a session. */
async function opened(world) {
  try {
    const [leaf, entries] = await world.ask([{ kind: "leaf" }, { kind: "entries" }]);
    const [context] = leaf ? await world.ask([{ kind: "context", id: leaf }]) : [];
    return { leaf, entries, context };
  } catch (error) {
    return { problem: error.message };
  }
}

/** Returns the name of an agent's directory for a project. */
function folderName(dialect, project) {
  const name = project.replace(/^\//, "").replaceAll("/", "-");
  return dialect === "pi" ? `--${name}--` : `-${name}`;
}

/** Returns the sessions that an agent lists in its project. */
async function list(peer, file, project) {
  const sessions = await peer.request({ op: "list", agent: dirname(dirname(dirname(file))), cwd: project, dir: dirname(file) });
  return sessions.map(({ path }) => path);
}

/** Returns a message with an image that is kept outside of the session, and where it is kept. */
function image(lines, agent) {
  const content = Buffer.from(PIXEL, "base64");
  const hash = createHash("sha256").update(content).digest("hex");
  const last = lines.map((line) => JSON.parse(line)).findLast(({ id, type }) => id && type !== "session");
  const message = { role: "user", content: [{ type: "image", data: `blob:sha256:${hash}`, mimeType: "image/png" }], timestamp: OLD * 1000 };
  const line = JSON.stringify({ type: "message", id: "b10bb10b", parentId: last?.id ?? null, timestamp: new Date(OLD * 1000).toISOString(), message });
  return { line, content, path: join(agent, "blobs", hash) };
}
