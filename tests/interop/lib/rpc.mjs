// A running pi or oh-my-pi in its RPC mode, driven as an editor would drive it.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** The number of milliseconds after which an agent without an answer counts as hanging. */
const PATIENCE = 60_000;

export class Rpc {
  /**
   * `command` is the program with its arguments; `choose` selects one of the options that pi offers. oh-my-pi answers a
   * command before it ran, and reports its end later: `reportsEnd`.
   */
  constructor(command, { cwd, env, choose = (options) => options[0], reportsEnd = false }) {
    this.waiting = new Map();
    this.reportsEnd = reportsEnd;
    this.ended = () => {};
    this.answered = () => {};
    this.shown = [];
    this.choose = choose;
    this.errors = "";
    this.child = spawn(command[0], command.slice(1), { cwd, env, stdio: ["pipe", "pipe", "pipe"] });
    this.child.stderr.on("data", (data) => (this.errors = (this.errors + data).slice(-4000)));
    this.child.stdin.on("error", () => {});
    this.child.on("error", (error) => this.fail(error.message));
    this.child.on("exit", (code, signal) => this.fail(`ended (${signal ?? code})`));
    createInterface({ input: this.child.stdout }).on("line", (line) => this.hear(JSON.parse(line)));
  }

  hear(heard) {
    if (heard.type === "response") this.waiting.get(heard.id)?.resolve(heard);
    if (heard.type === "prompt_result") this.ended();
    if (heard.type === "agent_end") this.answered();
    if (heard.type === "extension_error") this.shown.push({ method: "notify", notifyType: "error", message: heard.error });
    if (heard.type !== "extension_ui_request") return;
    this.shown.push(heard);
    if (heard.method === "select") this.send({ type: "extension_ui_response", id: heard.id, value: this.choose(heard.options) });
  }

  fail(why) {
    this.dead = new Error(`pi ${why}\n${this.errors}`);
    for (const { reject } of this.waiting.values()) reject(this.dead);
  }

  send(message) {
    this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** Returns the data of the answer to a request; throws if there is none. */
  async request(type, rest = {}) {
    if (this.dead) throw this.dead;
    const id = String(this.waiting.size);
    const answer = new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
    this.send({ id, type, ...rest });
    const { success, data, error } = await this.inTime(answer, type);
    if (!success) throw new Error(`pi: ${type}: ${error}`);
    return data;
  }

  /** Waits for what is promised, but not forever. */
  async inTime(promise, what) {
    let late;
    const limit = new Promise((_, reject) => {
      late = setTimeout(() => reject(new Error(`pi does not answer ${what}\n${this.errors}`)), PATIENCE);
    });
    return Promise.race([promise, limit]).finally(() => clearTimeout(late));
  }

  /** Returns what a command shows: the last `{notify, error, select, editor}`, each of them or null. */
  async command(message) {
    this.shown.length = 0;
    const end = new Promise((resolve) => (this.ended = resolve));
    await this.request("prompt", { message });
    if (this.reportsEnd) await this.inTime(end, message);
    const last = (wanted) => this.shown.findLast(wanted);
    return {
      notify: last(({ method, notifyType }) => method === "notify" && notifyType !== "error")?.message ?? null,
      error: last(({ method, notifyType }) => method === "notify" && notifyType === "error")?.message ?? null,
      select: last(({ method }) => method === "select")?.options ?? null,
      editor: last(({ method }) => method === "set_editor_text")?.text ?? null,
    };
  }

  /** Has a model answer a message. */
  async turn(message) {
    const answer = new Promise((resolve) => (this.answered = resolve));
    await this.request("prompt", { message });
    await this.inTime(answer, message);
  }

  close() {
    this.child.stdin.end();
    this.child.kill();
  }
}
