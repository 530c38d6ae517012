// Runs programs, and counts the checks that hold. A check that fails ends the test.

import { spawn, spawnSync } from "node:child_process";

/** Each program must end within this time, in milliseconds. */
const PATIENCE = 180_000;

export let checked = 0;

export function check(what, holds, found) {
  if (!holds) throw new Error(`${what}: ${found ?? "does not hold"}`);
  checked++;
}

export function checkEqual(what, expected, found) {
  const [wanted, actual] = [JSON.stringify(expected), JSON.stringify(found)];
  check(what, wanted === actual, `expected ${wanted}, found ${actual}`);
}

/** Runs a program, which must succeed. */
export function run(command, options) {
  const done = runAny(command, options);
  if (done.status !== 0) throw new Error(`${command.join(" ")}: exit ${done.status}\n${done.stdout}${done.stderr}`);
  return done;
}

/** Runs a program, and returns its exit code or signal, and what it printed. */
export function runAny([program, ...args], { env, cwd, input }) {
  const options = { env, cwd, input, encoding: "utf8", timeout: PATIENCE, maxBuffer: 1 << 28 };
  const { error, status, signal, stdout, stderr } = spawnSync(program, args, options);
  if (error) throw new Error(`${program} ${args.join(" ")}: ${error.message}`);
  return { status, signal, stdout, stderr };
}

/**
 * Starts a program in a process group of its own, sends a signal as soon as it prints, and returns how it ended. With
 * `toGroup`, the whole group gets the signal, as by Ctrl-C at a terminal. Waits until no process has the output open.
 */
export function endBySignal([program, ...args], signal, { env, cwd, toGroup }) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, cwd, detached: true, stdio: ["ignore", "pipe", "inherit"] });
    const late = setTimeout(() => {
      process.kill(-child.pid, "SIGKILL");
      reject(new Error(`${program} ${args.join(" ")}: does not end by ${signal}`));
    }, PATIENCE);
    child.on("error", reject);
    child.stdout.once("data", () => process.kill(toGroup ? -child.pid : child.pid, signal));
    child.stdout.resume();
    child.on("close", (code, by) => {
      clearTimeout(late);
      resolve({ code, signal: by });
    });
  });
}
