// Where a case takes place: a home directory and a project that no other case has, an address of the model, and the
// programs that run there.

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";

/** The time limit of each run of a program, in milliseconds. */
const RUN_LIMIT = 300_000;

/** The time limit of each wait for something that a program does, in milliseconds. */
const WAIT_LIMIT = 60_000;

export class Place {
  /** `name` is the name of the place in the addresses of the model, and `pisess` the path of the program. */
  constructor(name, model, pisess) {
    this.home = realpathSync(mkdtempSync(join(tmpdir(), "pisess-agents-")));
    this.project = join(this.home, "project");
    mkdirSync(this.project);
    this.url = model.url(name);
    this.exchanges = model.log(name);
    this.pisessProgram = pisess;
    this.children = new Set();
    this.endings = [];
  }

  /** Has a function called before the directory is removed. */
  atEnd(act) {
    this.endings.push(act);
  }

  /** Ends what still runs. */
  end() {
    for (const act of this.endings) act();
    for (const child of this.children) signalGroup(child, "SIGKILL");
  }

  /** Ends what still runs, and removes the directory. */
  remove() {
    this.end();
    rmSync(this.home, { recursive: true, force: true, maxRetries: 15 });
  }

  pisess(...args) {
    return this.run([this.pisessProgram, ...args], {});
  }

  /**
   * Runs a program to its end in the project, with nothing of the environment but PATH, and returns what it printed.
   * `during(child)` is called once it runs. Fails if the program fails, unless `mayFail`.
   */
  async run([program, ...args], { variables = {}, during = () => {}, mayFail = false }) {
    const child = this.spawn(program, args, variables, "ignore");
    let printed = "";
    let errors = "";
    child.stdout.on("data", (chunk) => (printed += chunk));
    child.stderr.on("data", (chunk) => (errors += chunk));
    const ended = new Promise((resolve, reject) => {
      child.on("error", reject);
      child.on("close", (code, signal) => resolve(code ?? signal));
    });
    await during(child);
    const code = await ended;
    if (code === 0 || mayFail) return printed;
    throw new Error(`${basename(program)} ${args.join(" ")}: exit ${code}\n${errors}${printed}`);
  }

  /** Starts a program that reads and writes lines of JSON. */
  converse([program, ...args], variables) {
    return new Conversation(this.spawn(program, args, variables, "pipe"), basename(program));
  }

  spawn(program, args, variables, stdin) {
    const env = { PATH: process.env.PATH, HOME: this.home, ...variables };
    const stdio = [stdin, "pipe", "pipe"];
    const child = spawn(program, args, { cwd: this.project, env, stdio, detached: true });
    const late = setTimeout(() => signalGroup(child, "SIGKILL"), RUN_LIMIT);
    this.children.add(child);
    child.on("close", () => {
      clearTimeout(late);
      this.children.delete(child);
    });
    return child;
  }

  /** Returns the paths of the files below a directory of the home directory whose names have an ending, in order. */
  files(folder, ending) {
    let names = [];
    try {
      names = readdirSync(join(this.home, folder), { recursive: true });
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
    }
    const wanted = names.filter((name) => name.endsWith(ending)).sort();
    return wanted.map((name) => join(this.home, folder, name));
  }
}

/** A program that reads and writes lines of JSON. */
class Conversation {
  constructor(child, name) {
    Object.assign(this, { child, name, heard: [], waiting: new Set(), errors: "" });
    child.stderr.on("data", (chunk) => (this.errors = `${this.errors}${chunk}`.slice(-4000)));
    child.stdin.on("error", () => {});
    this.ended = new Promise((resolve) => child.on("close", resolve));
    createInterface({ input: child.stdout }).on("line", (line) => this.hear(line));
  }

  hear(line) {
    if (!line.startsWith("{")) return;
    this.heard.push(JSON.parse(line));
    for (const look of this.waiting) look();
  }

  send(message) {
    this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** Returns the first message after the first `from` messages for which `isWanted` holds. */
  async hearing(what, isWanted, from = 0) {
    const find = () => this.heard.slice(from).find(isWanted);
    let late;
    let look;
    const found = new Promise((resolve, reject) => {
      look = () => find() && resolve(find());
      late = setTimeout(() => reject(new Error(`${this.name}: no ${what}\n${this.errors}`)), WAIT_LIMIT);
      this.ended.then(() => reject(new Error(`${this.name} ended before ${what}\n${this.errors}`)));
    });
    this.waiting.add(look);
    look();
    try {
      return await found;
    } finally {
      clearTimeout(late);
      this.waiting.delete(look);
    }
  }

  /** Closes standard input, and waits for the end of the program. */
  async end() {
    this.child.stdin.end();
    await this.ended;
  }
}

/** Sends a signal to a program and its children, as a terminal does. */
export function signalGroup(child, signal) {
  // A program that could not be started has no id.
  if (!child.pid) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

/** Waits until `isSo()` holds. */
export async function waitUntil(what, isSo) {
  const end = Date.now() + WAIT_LIMIT;
  while (!isSo()) {
    if (Date.now() > end) throw new Error(`${what} did not happen`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export function linesOf(path) {
  return readFileSync(path, "utf8").split("\n").filter((line) => line !== "");
}
