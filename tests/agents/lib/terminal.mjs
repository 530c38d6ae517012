// A program in a terminal, which tmux provides.

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { signalGroup, waitUntil } from "./place.mjs";

/** The time that programs get to notice a key, in milliseconds. Faster keys count as pasted text. */
const KEY_PAUSE = 400;

export class Terminal {
  /** Starts an agent in the project of a place, with nothing of the environment but PATH. */
  constructor(agent, place, command, variables) {
    this.socket = join(place.home, "tmux");
    this.exchanges = place.exchanges;
    this.isAside = agent.isAside;
    place.atEnd(() => this.end());
    const named = Object.entries({ PATH: process.env.PATH, HOME: place.home, TERM: "xterm-256color", ...variables });
    const settings = named.map(([name, value]) => `${name}=${value}`);
    this.tmux("new-session", "-d", "-x", "160", "-y", "50", "-c", place.project, "env", "-i", ...settings, ...command);
    this.pid = Number(this.tmux("display-message", "-p", "#{pane_pid}"));
  }

  tmux(...args) {
    return execFileSync("tmux", ["-S", this.socket, "-f", "/dev/null", ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  }

  screen() {
    return this.tmux("capture-pane", "-p");
  }

  /** Waits until the screen shows a text. */
  async shows(text) {
    try {
      await waitUntil(`"${text}" on the screen`, () => this.screen().includes(text));
    } catch (error) {
      throw new Error(`${error.message}:\n${this.screen().trim()}`);
    }
    await sleep(KEY_PAUSE);
  }

  /** Types a text and sends it. */
  async type(text) {
    this.tmux("send-keys", "-l", "--", text);
    await sleep(KEY_PAUSE);
    await this.press("Enter");
  }

  /** Presses keys, by the names that tmux gives them. */
  async press(...keys) {
    for (const key of keys) {
      await sleep(KEY_PAUSE);
      this.tmux("send-keys", key);
    }
  }

  /** Waits until the model has ended a number of further answers while `act` runs, or after it. */
  async answers(count, act) {
    const wanted = this.endedCount() + count;
    await act();
    try {
      await waitUntil(`answer ${wanted}`, () => this.endedCount() >= wanted);
    } catch (error) {
      throw new Error(`${error.message}:\n${this.screen().trim()}`);
    }
    // The agent still has to show and record the answer.
    await sleep(1000);
  }

  endedCount() {
    const ended = this.exchanges.filter(({ outcome }) => outcome === "answered" || outcome === "cut");
    return ended.filter((exchange) => !this.isAside(exchange)).length;
  }

  end() {
    // Hung up on, the agent would still write for a while.
    signalGroup({ pid: this.pid }, "SIGKILL");
    try {
      this.tmux("kill-server");
    } catch {
      // It has ended by itself.
    }
  }
}
