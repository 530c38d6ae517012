// The binary under test.

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { HOME } from "./words.mjs";

export const NOW = "2026-11-21T12:34:56.789Z";

/** Returns `$PISESS`, or else a release build, or else a debug build. */
export function findBinary() {
  const root = fileURLToPath(new URL("../../..", import.meta.url));
  const candidates = process.env.PISESS
    ? [resolve(process.env.PISESS)]
    : ["target/release/pisess", "target/debug/pisess"].map((path) => resolve(root, path));
  const found = candidates.find(existsSync);
  if (!found) throw new Error(`no pisess at ${candidates.join(" or ")}; build it, or name it in $PISESS`);
  return found;
}

export class Pisess {
  constructor(binary) {
    this.binary = binary;
    this.env = { HOME, PATH: process.env.PATH, PISESS_NOW: NOW, PISESS_ID_SEED: "interop", NO_COLOR: "1" };
  }

  /** Returns `{code, stdout, stderr}`. A run of more than 30 seconds is killed; its code is then the signal. */
  run(args, input, { cwd, env } = {}) {
    return new Promise((done) => {
      const child = execFile(
        this.binary,
        args,
        { cwd, env: { ...this.env, ...env }, maxBuffer: 1 << 28, timeout: 30_000 },
        (error, stdout, stderr) => done({ args, code: error ? (error.signal ?? error.code) : 0, stdout, stderr }),
      );
      child.stdin.on("error", () => {});
      child.stdin.end(input);
    });
  }
}

/** Returns the command line as a user would type it. */
export const commandLine = (args) =>
  ["pisess", ...args].map((arg) => (/^[\w@%+=:,./-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`)).join(" ");
