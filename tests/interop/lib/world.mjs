// A session on disk, with pisess and the agent.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { KINDS } from "./checks.mjs";

let made = 0;

export class World {
  /** Writes a session with these lines. If the format is older, the agent reads a copy that pisess migrated. */
  static async make({ pisess, peers, folder }, { dialect, older, lines }) {
    const world = new World();
    Object.assign(world, { pisess, dialect, lines, folder, peer: peers[dialect], commands: [] });
    world.file = world.scratch();
    writeFileSync(world.file, `${lines.join("\n")}\n`);
    world.peerFile = world.file;
    if (older) {
      const { code, stdout, stderr } = await world.run(["migrate", "-"], `${lines.join("\n")}\n`);
      if (code !== 0) throw new Error(`pisess migrate: exit ${code}: ${stderr.trim()}`);
      world.peerFile = world.scratch();
      writeFileSync(world.peerFile, stdout);
    }
    return world;
  }

  scratch() {
    return join(this.folder, `${++made}.jsonl`);
  }

  async run(args, input) {
    this.commands.push(args);
    return this.pisess.run(args, input);
  }

  /** Returns `{value}`, or `{problem}` if the exit code or the output is wrong. */
  async json(args, { code: expected = 0 } = {}) {
    const { code, stdout, stderr } = await this.run(args);
    if (code !== expected) return exit(expected, code, stderr);
    return parsed(() => JSON.parse(stdout || "null"));
  }

  async jsonLines(args, { empty = 0 } = {}) {
    const { code, stdout, stderr } = await this.run(args);
    if (code !== 0 && !(code === empty && stdout === "")) return exit(0, code, stderr);
    return parsed(() => stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line)));
  }

  /** Returns the agent's answers; throws if one is missing. */
  async ask(questions, file = this.peerFile) {
    const answers = await this.peer.ask(file, questions);
    return answers.map(({ ok, error, stack }, at) => {
      if (error !== undefined) throw new Error(`${this.peer.name} on ${JSON.stringify(questions[at])}: ${error}\n${stack}`);
      return ok;
    });
  }

  /** Returns the first difference for each check: `[{check, found, commands}]`; `found` is null if there is none. */
  async compare(checks) {
    const questions = checks.map((check) => KINDS[check.kind].questions(check));
    const answers = await this.peer.ask(this.peerFile, questions.flat());
    const results = [];
    for (const [at, check] of checks.entries()) {
      const mine = answers.splice(0, questions[at].length);
      this.commands = [];
      results.push({ check, found: await this.one(check, mine), commands: this.commands });
    }
    return results;
  }

  async one(check, answers) {
    const silent = answers.find(({ error }) => error !== undefined);
    if (silent) return { pointer: "(the agent has no answer)", expected: "an answer", actual: `${silent.error}\n${silent.stack}` };
    try {
      return await KINDS[check.kind].compare(this, check, answers.map(({ ok }) => ok));
    } catch (error) {
      return { pointer: "(comparing)", expected: "no error", actual: error.stack };
    }
  }
}

const exit = (expected, code, stderr) => ({
  problem: { pointer: "(exit code)", expected, actual: `${code}: ${stderr.trim().slice(0, 300)}` },
});

function parsed(read) {
  try {
    return { value: read() };
  } catch (error) {
    return { problem: { pointer: "(output)", expected: "JSON", actual: error.message } };
  }
}
