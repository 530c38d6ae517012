// Generates sessions, compares, and reports. `../run` installs the agents and starts this.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { agree } from "./agents.mjs";
import { Peer } from "./peer.mjs";
import { checks, conversation, session } from "./plan.mjs";
import { Pisess, commandLine, findBinary } from "./pisess.mjs";
import { compareArchived } from "./archived.mjs";
import { compareFiles } from "./files.mjs";
import { compareHanded } from "./handed.mjs";
import { compareImported } from "./imported.mjs";
import { compareExtension, compareSkill } from "./installed.mjs";
import { compareListed } from "./listed.mjs";
import { compareLive } from "./live.mjs";
import { compareRepaired } from "./repaired.mjs";
import { shrink } from "./shrink.mjs";
import { HOME } from "./words.mjs";
import { World } from "./world.mjs";

const HELP = `usage: run [options]
  --seed TEXT      seed of the sessions (default: 1)
  --sessions N     number of sessions (default: 600)
  --session N      only the N-th session
  --only KIND,...  only these kinds of checks
  --keep           also keep sessions whose failure resembles an earlier one
  --oracles-only   do not run pisess; compare pi 0.87.1 with pi 1.6.0`;

const here = fileURLToPath(new URL("..", import.meta.url));
const options = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    sessions: { type: "string", default: "600" },
    session: { type: "string" },
    only: { type: "string" },
    keep: { type: "boolean" },
    "oracles-only": { type: "boolean" },
    help: { type: "boolean" },
  },
}).values;
if (options.help) {
  console.log(HELP);
  process.exit(0);
}

/** The package of the newest pi, in `node_modules`. */
const PI = "@earendil-works/pi-coding-agent";

/** The number of sessions per agent that are redacted, converted and archived: few, to keep the run short. */
const HANDED = 20;
const scratch = mkdtempSync(join(tmpdir(), "pisess-interop-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));
const failures = join(here, "failures");
const modules = join(here, "node_modules");
const totals = { passed: 0, failed: 0, sessions: 0, kinds: {} };
const seen = new Map();

try {
  process.exit((await main()) ? 0 : 1);
} catch (error) {
  console.error(`interop: ${error.stack}`);
  process.exit(2);
}

async function main() {
  console.log(`seed ${options.seed}`);
  const started = Date.now();
  const peers = await startPeers();
  const numbers = options.session ? [Number(options.session)] : Array.from({ length: Number(options.sessions) }, (_, n) => n);
  try {
    if (options["oracles-only"]) await agentsAlone(peers, numbers);
    else await compareAll(peers, numbers);
  } finally {
    for (const peer of Object.values(peers)) peer.close();
  }
  for (const [kind, { passed, failed }] of Object.entries(totals.kinds).sort()) {
    console.log(`  ${kind.padEnd(12)} ${passed} passed, ${failed} failed`);
  }
  console.log(`${totals.sessions} sessions in ${Math.round((Date.now() - started) / 1000)} s`);
  console.log(`${totals.passed} passed, ${totals.failed} failed`);
  return totals.failed === 0 && totals.passed > 0;
}

async function startPeers() {
  mkdirSync(HOME, { recursive: true });
  const env = { PATH: process.env.PATH, HOME, TMPDIR: scratch, TZ: "UTC", LANG: "C.UTF-8" };
  const pi = (name, folder) => new Peer(name, [process.execPath, join(here, "peers/pi.mjs"), join(modules, folder)], env);
  const peers = {
    pi: pi("pi 1.6.0", PI),
    "pi 0.87.1": pi("pi 0.87.1", "pi-0.87.1"),
    omp: new Peer(
      "oh-my-pi 18.2.3",
      [bunBinary(modules), join(here, "peers/omp.ts"), join(modules, "@oh-my-pi/pi-coding-agent")],
      env,
    ),
  };
  for (const [name, peer] of Object.entries(peers)) console.log(`${name}: ${JSON.stringify(await peer.request({ op: "hello" }))}`);
  return peers;
}

function bunBinary(modules) {
  const arch = process.arch === "arm64" ? "aarch64" : process.arch;
  return join(modules, "@oven", `bun-${process.platform}-${arch}`, "bin", "bun");
}

async function agentsAlone(peers, numbers) {
  const sessions = numbers.map((n) => session(options.seed, n)).filter(({ older }) => !older);
  totals.sessions = sessions.length;
  await agree(peers, scratch, sessions, options.seed, count);
}

async function compareAll(peers, numbers) {
  const tools = { pisess: new Pisess(findBinary()), peers, folder: scratch };
  const left = [...numbers];
  const worker = async () => {
    for (let n = left.shift(); n !== undefined; n = left.shift()) {
      await compareOne(tools, session(options.seed, n));
      if (isWanted({ kind: "body" }) && n % 4 === 0) await compareOne(tools, conversation(options.seed, n));
    }
  };
  await Promise.all([worker(), worker()]);
  if (!options.session && isWanted({ kind: "repaired" })) await repaired(tools);
  if (!options.session && isWanted({ kind: "handed" })) await handed(tools, numbers);
  if (!options.session && isWanted({ kind: "archived" })) await archived(tools, numbers);
  if (!options.session && isWanted({ kind: "imported" })) {
    await compareImported(tools, join(here, "../../fixtures"), report("imported"));
  }
  if (!options.session && isWanted({ kind: "files" })) await compareFiles(tools, options.seed, report("files"));
  if (!options.session && isWanted({ kind: "list" })) await listed(tools, numbers);
  if (!options.session && isWanted({ kind: "skill" })) await compareSkill(tools, report("skill"));
  if (!options.session && isWanted({ kind: "extension" })) await extension(tools);
  if (!options.session && isWanted({ kind: "live" })) await live(tools);
}

/** Runs the checks of the extension in the newest pi as published, and in the version before it. */
async function extension(tools) {
  const program = (path) => [process.execPath, join(modules, path)];
  await compareExtension(tools, "pi-1.6.0", program(`${PI}/dist/bundle/cli.js`), report("extension"));
  await compareExtension(tools, "pi-0.87.1", program("pi-0.87.1/dist/cli.js"), report("extension"));
}

/** Has the newest pi and oh-my-pi continue sessions that pisess changed. */
async function live(tools) {
  const pi = [process.execPath, join(modules, PI, "dist/bundle/cli.js")];
  const omp = [bunBinary(modules), join(modules, "@oh-my-pi/pi-coding-agent/src/cli.ts")];
  await compareLive(tools, { pi, omp }, report("live"));
}

/** Returns a function that counts a result, and prints it if the answers differ. */
function report(kind) {
  return (name, found, commands = []) => {
    count(kind, !found);
    if (!found) return;
    console.log(`FAIL ${name}`);
    console.log(`  at ${found.pointer}`);
    console.log(`  agent:  ${show(found.expected)}`);
    console.log(`  pisess: ${show(found.actual)}`);
    for (const args of commands.slice(0, 1)) console.log(`  ${commandLine(args)}`);
  };
}

async function repaired(tools) {
  await compareRepaired(tools, join(here, "../../fixtures/hazards"), (name, found, commands) => {
    count("repaired", !found);
    if (!found) return;
    console.log(`FAIL ${name} repaired`);
    console.log(`  at ${found.pointer}`);
    console.log(`  agent:  ${show(found.expected)}`);
    console.log(`  pisess: ${show(found.actual)}`);
    for (const args of commands.slice(0, 1)) console.log(`  ${commandLine(args)}`);
  });
}

async function handed(tools, numbers) {
  await compareHanded(tools, some(numbers), report("handed"));
}

async function archived(tools, numbers) {
  await compareArchived(tools, some(numbers), report("archived"));
}

/** Returns a few sessions of each agent. */
function some(numbers) {
  const made = numbers.map((n) => session(options.seed, n)).filter(({ older }) => !older);
  const of = (wanted) => made.filter(({ dialect }) => dialect === wanted).slice(0, HANDED);
  return [...of("pi"), ...of("omp")];
}

async function listed(tools, numbers) {
  const sessions = numbers.map((n) => session(options.seed, n)).filter(({ dialect }) => dialect === "pi");
  await compareListed(tools, sessions, report("list"));
}

async function compareOne(tools, made) {
  totals.sessions++;
  let world;
  try {
    world = await World.make(tools, made);
  } catch (error) {
    return fail(tools, made, { kind: "migrate" }, { pointer: "(migrate)", expected: "a session", actual: error.message }, []);
  }
  const wanted = checks(options.seed, made, await entriesOf(world)).filter(isWanted);
  for (const { check, found, commands } of await world.compare(wanted)) {
    if (!found) count(check.kind, true);
    else await fail(tools, made, check, found, commands);
  }
}

function isWanted({ kind }) {
  return !options.only || options.only.split(",").includes(kind);
}

/** Returns the agent's entries, in file order. */
async function entriesOf(world) {
  const [entries] = await world.ask([{ kind: "entries" }]);
  return entries;
}

function count(kind, passed) {
  const of = (totals.kinds[kind] ??= { passed: 0, failed: 0 });
  const which = passed ? "passed" : "failed";
  of[which]++;
  totals[which]++;
}

/** Reports a failure. The first of its kind is minimized and kept. */
async function fail(tools, made, check, found, commands) {
  count(check.kind, false);
  const look = `${made.shape} ${check.kind} ${found.pointer.replace(/\d+/g, "N")} ${found.pointer.startsWith("(e") ? found.actual : ""}`;
  const before = seen.get(look) ?? 0;
  seen.set(look, before + 1);
  if (before > 0 && !options.keep) return;
  const small = before === 0 && seen.size <= 40 ? await smaller(tools, made, check, found) : { lines: made.lines, found, commands };
  mkdirSync(failures, { recursive: true });
  const file = join(failures, `${made.name}-${check.kind}-${totals.failed}.jsonl`);
  writeFileSync(file, `${small.lines.join("\n")}\n`);
  const { kind, ...rest } = check;
  console.log(`FAIL ${made.name} ${kind} ${JSON.stringify(rest)}`);
  console.log(`  at ${small.found.pointer}`);
  console.log(`  agent:  ${show(small.found.expected)}`);
  console.log(`  pisess: ${show(small.found.actual)}`);
  for (const args of (small.commands ?? commands).slice(-2)) {
    const named = args.map((arg) => (arg.startsWith(scratch) && args.indexOf(arg) === 1 ? relative(process.cwd(), file) : arg));
    console.log(`  ${commandLine(named)}`);
  }
}

async function smaller(tools, made, check, found) {
  const alike = (other) => other?.pointer.replace(/\d+/g, "N") === found.pointer.replace(/\d+/g, "N");
  let last = { found };
  const lines = await shrink(made.lines, async (fewer) => {
    try {
      const world = await World.make(tools, { ...made, lines: fewer });
      const [result] = await world.compare([check]);
      if (!alike(result.found)) return false;
      last = result;
      return true;
    } catch {
      return false;
    }
  });
  return { lines, found: last.found, commands: last.commands };
}

function show(value) {
  const text = value === undefined ? "(absent)" : JSON.stringify(value);
  return text.length > 400 ? `${text.slice(0, 400)}…` : text;
}
