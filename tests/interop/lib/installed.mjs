// What users install into the agents: the skill in `skills/`, which both agents must find, and the extension in
// `extensions/`, whose commands run in a real pi after `pi install` of this checkout. The session has two
// branches; after each command, pi must be at the last entry of its file, with the context that pisess prints.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { difference } from "./json.mjs";
import { Rpc } from "./rpc.mjs";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** The entries of the fixture: the leaf, the end of the other branch, and an answer on it. */
const [LEAF, OTHER, ANSWER] = ["2f5dc03e", "5c07d14b", "a6d84170"];

/** An extension whose command moves pi's position in memory only, as /tree does. */
const MOVER = `export default (pi) =>
  pi.registerCommand("go", { description: "", handler: async (id, ctx) => void (await ctx.navigateTree(id)) });
`;

/** Checks that both agents find and parse the skill and report nothing. Calls `report(name, found)`. */
export async function compareSkill({ peers, folder }, report) {
  const home = join(folder, "skill-home");
  cpSync(join(root, "skills"), join(home, ".agents/skills"), { recursive: true });
  const description = readFileSync(join(root, "skills/pisess/SKILL.md"), "utf8").match(/^description: (.*)$/m)[1];
  const path = join(home, ".agents/skills/pisess/SKILL.md");
  for (const peer of Object.values(peers)) {
    const found = await peer.request({ op: "skills", home });
    report(`skill in ${peer.name}`, difference({ skills: [{ name: "pisess", description, path }], warnings: [] }, found));
  }
}

/** Checks the commands of the extension in a pi that `command` starts. Calls `report(name, found)`. */
export async function compareExtension({ pisess, folder }, name, command, report) {
  const project = join(folder, `extension-${name}`);
  mkdirSync(join(project, "home"), { recursive: true });
  const file = join(project, "session.jsonl");
  const tour = readFileSync(join(root, "fixtures/tour.jsonl"), "utf8");
  writeFileSync(file, tour.replaceAll("/home/u/code/ferry", project));
  writeFileSync(join(project, "mover.ts"), MOVER);
  const env = { ...pisess.env, HOME: join(project, "home"), PISESS: pisess.binary, TZ: "UTC", LANG: "C.UTF-8" };
  execFileSync(command[0], [...command.slice(1), "install", root], { cwd: project, env, stdio: "pipe" });
  const start = (env) => new Rpc([...command, "--mode", "rpc", "--offline", "--session", file, "-e", "mover.ts"], { cwd: project, env });
  const rpc = start(env);
  const run = async (...args) => (await pisess.run(args)).stdout;
  const desk = { rpc, run, file, check: (what, expected, actual) => report(`${name} ${what}`, difference(expected, actual)) };
  try {
    await commandsAreThere(desk);
    await listing(desk);
    await switching(desk);
    await popping(desk);
    await picking(desk);
    await refusing(desk);
    await movedInMemory(desk);
    await goingOn(desk);
  } finally {
    rpc.close();
  }
  const without = start({ ...env, PISESS: join(project, "missing") });
  const { error } = await without.command("/branches").finally(() => without.close());
  desk.check("without pisess", `cannot run ${join(project, "missing")} (hint: install pisess, or set PISESS to its path)`, error);
}

async function commandsAreThere({ rpc, check }) {
  const { commands } = await rpc.request("get_commands");
  const named = (source) => commands.filter((command) => command.source === source).map(({ name }) => name);
  check("commands", ["branches", "pick", "pop", "switch", "undo"], named("extension").filter((name) => !["go", "llama", "mcp"].includes(name)).sort());
  check("skill", ["skill:pisess"], named("skill"));
}

async function listing({ rpc, run, file, check }) {
  const { notify, error } = await rpc.command("/branches");
  check("/branches", { notify: (await run("branches", file)).trimEnd(), error: null }, { notify, error });
}

async function switching(desk) {
  const { rpc, check } = desk;
  const { error } = await rpc.command(`/switch ${OTHER}`);
  check("/switch REF", { parent: OTHER, error: null }, { parent: (await lastEntry(desk)).parentId, error });
  await isAtTheEnd("/switch REF", desk);
  const { select } = await rpc.command("/switch");
  check("/switch selects", [LEAF], select?.map((row) => row.split(" ")[0]) ?? null);
  check("/switch", LEAF, (await lastEntry(desk)).parentId);
  await isAtTheEnd("/switch", desk);
  const { notify } = await rpc.command(`/switch ${LEAF}`);
  check("/switch to here", true, Boolean(notify));
  await isAtTheEnd("/switch to here", desk);
}

async function popping(desk) {
  const { rpc, run, file, check } = desk;
  const planned = JSON.parse(await run("pop", "-n", "--json", file));
  const { editor, error } = await rpc.command("/pop");
  check("/pop", { editor: planned.editorText, type: "branch_summary", error: null }, { editor, type: (await lastEntry(desk)).type, error });
  await isAtTheEnd("/pop", desk);
  const undone = await rpc.command("/undo");
  check("/undo", { error: null, type: "custom" }, { error: undone.error, type: (await lastEntry(desk)).type });
  await isAtTheEnd("/undo", desk);
  const again = await rpc.command(`/pop ${LEAF}^^{user}`);
  check("/pop REF", null, again.error);
  await isAtTheEnd("/pop REF", desk);
}

async function picking(desk) {
  const { rpc, check } = desk;
  const { error } = await rpc.command(`/pick ${ANSWER} "cause found"`);
  const [before, last] = (await rpc.request("get_entries")).entries.slice(-2);
  const text = (entry) => entry.message.content.find(({ type }) => type === "text").text.slice(0, 12);
  check("/pick", ["`departs_in`", "Two tests fa"], [text(before), text(last)]);
  check("/pick error", null, error);
  await isAtTheEnd("/pick", desk);
}

/** Checks that errors are shown with their hint, and that nothing changes. */
async function refusing(desk) {
  const { rpc, run, file, check } = desk;
  const before = readFileSync(file, "utf8");
  const { error } = await rpc.command("/switch 2f5dc03f");
  const asked = await run("branches", "--json", file);
  check("/switch to nothing", true, Boolean(error?.includes("2f5dc03f") && error.includes("(hint: ")));
  check("/pick nothing", "/pick needs the ids or labels of entries", (await rpc.command("/pick")).error);
  check("refused", before, readFileSync(file, "utf8"));
  check("branches after a refusal", asked, await run("branches", "--json", file));
}

/** Checks that a command starts from where /tree moved, although only pi's memory has that position. */
async function movedInMemory(desk) {
  const { rpc, check, run, file } = desk;
  await rpc.command(`/go ${OTHER}`);
  check("moved", OTHER, (await rpc.request("get_entries")).leafId);
  await rpc.command("/pop");
  const { fromId, parentId } = await lastEntry(desk);
  const path = (await run("path", "--ids", file, OTHER)).split("\n");
  check("/pop after a move", { below: true, mark: OTHER }, { below: path.includes(parentId), mark: await parentOf(desk, fromId) });
  await isAtTheEnd("/pop after a move", desk);
}

/** Checks that what pi writes next continues from the new position. */
async function goingOn(desk) {
  const { rpc, check } = desk;
  const { id } = await lastEntry(desk);
  await rpc.request("set_session_name", { name: "ferries" });
  const { type, parentId } = await lastEntry(desk);
  check("continues", { type: "session_info", parentId: id }, { type, parentId });
}

async function isAtTheEnd(what, { rpc, run, file, check }) {
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  const { leafId, entries } = await rpc.request("get_entries");
  check(`${what}: leaf`, { leafId: JSON.parse(lines.at(-1)).id, entries: lines.length - 1 }, { leafId, entries: entries.length });
  const { messages } = await rpc.request("get_messages");
  check(`${what}: context`, JSON.parse(await run("context", file, "--json")).messages, messages);
}

async function lastEntry({ rpc }) {
  return (await rpc.request("get_entries")).entries.at(-1);
}

async function parentOf({ rpc }, wanted) {
  return (await rpc.request("get_entries")).entries.find(({ id }) => id === wanted)?.parentId;
}
