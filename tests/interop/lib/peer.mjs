// A running agent that answers requests over pipes.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

export class Peer {
  /** `command` is the program with its arguments; `env` is its whole environment. */
  constructor(name, command, env) {
    this.name = name;
    this.waiting = [];
    this.talk = "";
    this.child = spawn(command[0], command.slice(1), { env, stdio: ["pipe", "pipe", "pipe"] });
    this.child.stderr.on("data", (data) => (this.talk = (this.talk + data).slice(-4000)));
    this.child.on("error", (error) => this.fail(error.message));
    this.child.on("exit", (code, signal) => this.fail(`ended (${signal ?? code})`));
    createInterface({ input: this.child.stdout }).on("line", (line) => this.waiting.shift()?.resolve(JSON.parse(line)));
  }

  fail(why) {
    this.dead = `${this.name} ${why}\n${this.talk}`;
    for (const { reject } of this.waiting.splice(0)) reject(new Error(this.dead));
  }

  /** Returns the answer to one request; throws if there is none. */
  async request(request) {
    if (this.dead) throw new Error(this.dead);
    const answer = await new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject });
      this.child.stdin.write(`${JSON.stringify(request)}\n`);
    });
    if (answer.error) throw new Error(`${this.name}: ${answer.error}\n${answer.stack}`);
    return answer.ok;
  }

  /** Returns `{ok}` or `{error}` for each question. */
  ask(file, questions) {
    return this.request({ op: "ask", file, questions });
  }

  close() {
    this.child.stdin.end();
  }
}
