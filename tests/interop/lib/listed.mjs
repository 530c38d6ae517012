// Lists directories of sessions: every field that pi lists must have the same value in pisess.

import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { difference } from "./json.mjs";

const FIELDS = ["path", "id", "cwd", "name", "parentSessionPath", "created", "modified", "messageCount", "firstMessage"];

/**
 * Makes a store of pi with the sessions of two projects, and a flat directory with the same sessions. Calls
 * `tell(name, found, commands)` for each session; `found` is the difference, or null.
 */
export async function compareListed({ pisess, peers, folder }, sessions, tell) {
  const agent = join(folder, "listed", "agent");
  const flat = join(folder, "listed", "flat");
  const project = join(folder, "listed", "project");
  const own = `--${project.replace(/^\//, "").replaceAll("/", "-")}--`;
  mkdirSync(project, { recursive: true });
  const files = sessions.map(({ name, lines }, at) => {
    const text = `${lines.join("\n")}\n`;
    const stored = join(agent, "sessions", at % 2 ? own : "--elsewhere--", `${name}.jsonl`);
    for (const file of [stored, join(flat, `${name}.jsonl`)]) {
      mkdirSync(join(file, ".."), { recursive: true });
      // The modification time is listed if a session's lines have no time.
      writeFileSync(file, text.replace(/"cwd":"\/tmp"/, `"cwd":${JSON.stringify(project)}`));
      utimesSync(file, 1_700_000_000 + at, 1_700_000_000 + at);
    }
    return { name, text, stored };
  });
  const lists = [
    { what: "list", request: { cwd: project }, args: ["list", "--json"], env: {} },
    { what: "listAll", request: { all: true }, args: ["list", "--json", "--all"], env: {} },
    { what: "list, flat", request: { cwd: project, dir: flat }, args: ["list", "--json"], env: { PI_CODING_AGENT_SESSION_DIR: flat } },
    { what: "listAll, flat", request: { all: true, dir: flat }, args: ["list", "--json", "--all"], env: { PI_CODING_AGENT_SESSION_DIR: flat } },
    { what: "the newest", request: { cwd: project, newest: true }, args: ["path", "last", "--json", "-q"], env: {}, newest: true },
  ];
  for (const peer of [peers.pi, peers["pi 0.87.1"]]) {
    for (const { what, request, args, env, newest } of lists) {
      const theirs = await peer.request({ op: "list", agent, ...request });
      const { code, stdout, stderr } = await pisess.run(args, "", { cwd: project, env: { PI_CODING_AGENT_DIR: agent, ...env } });
      const name = `${what} of ${peer.name}`;
      if (code !== 0) {
        tell(name, { pointer: "(exit code)", expected: 0, actual: `${code}: ${stderr}` }, [args]);
      } else if (newest) {
        const { stdout: listed } = await pisess.run(["list", "--json"], "", { cwd: project, env: { PI_CODING_AGENT_DIR: agent } });
        const last = listed.split("\n").filter(Boolean).map((line) => JSON.parse(line)).find((row) => row.last);
        tell(name, difference({ path: theirs }, { path: last?.path ?? null }, { order: true }), [args]);
      } else {
        compareRows(name, theirs, stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line)), files, args, tell);
      }
    }
  }
  await compareRelocated({ pisess, peers, folder }, { agent, project }, tell);
}

/** Moves the session that pi would continue, and checks that pi continues it in the new project. */
async function compareRelocated({ pisess, peers, folder }, { agent, project }, tell) {
  const moved = join(folder, "listed", "moved");
  mkdirSync(moved, { recursive: true });
  const last = await peers.pi.request({ op: "list", agent, cwd: project, newest: true });
  const args = ["relocate", "-q", last, moved];
  const { code, stdout, stderr } = await pisess.run(args, "", { env: { PI_CODING_AGENT_DIR: agent } });
  for (const peer of [peers.pi, peers["pi 0.87.1"]]) {
    const theirs = await peer.request({ op: "list", agent, cwd: moved, newest: true });
    const found = code === 0 ? difference({ path: theirs }, { path: stdout.trim() }, { order: true }) : { pointer: "(exit code)", expected: 0, actual: `${code}: ${stderr}` };
    tell(`relocate, then the newest of ${peer.name}`, found, [args]);
  }
}

function compareRows(name, theirs, rows, files, args, tell) {
  const mine = new Map(rows.map((row) => [row.path, row]));
  for (const session of theirs) {
    const row = mine.get(session.path);
    mine.delete(session.path);
    tell(`${name}: ${session.path}`, row ? difference(fields(session), fields(row), {}) : { pointer: "(row)", expected: "a row", actual: undefined }, [args]);
  }
  // pi omits a session with a message without content.
  for (const { path } of mine.values()) {
    const file = files.find(({ stored, name }) => path === stored || path.endsWith(`/${name}.jsonl`));
    const found = stumbles(file.text) ? null : { pointer: "(row)", expected: undefined, actual: path };
    tell(`${name}: ${path}`, found, [args]);
  }
  const times = rows.map(({ modified }) => Date.parse(modified));
  const sorted = times.every((time, at) => at === 0 || time <= times[at - 1]);
  tell(`${name}: order`, sorted ? null : { pointer: "(order)", expected: "newest first", actual: times }, [args]);
}

const fields = (session) => Object.fromEntries(FIELDS.map((field) => [field, session[field] ?? null]));

function stumbles(text) {
  const entries = text.split("\n").flatMap((line) => {
    try {
      return [JSON.parse(line)];
    } catch {
      return [];
    }
  });
  const fails = ({ message }) =>
    message === undefined ||
    message === null ||
    (["user", "assistant"].includes(message.role) && "content" in message && typeof message.content !== "string" &&
      (!Array.isArray(message.content) || message.content.some((block) => block === null || block === undefined)));
  return entries.some((entry) => entry?.type === "message" && fails(entry));
}
