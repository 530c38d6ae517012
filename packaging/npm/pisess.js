#!/usr/bin/env node
// Runs the pisess binary that was installed for this platform, with the same arguments and streams.
//
// The binary is in a package of its own, of which npm installs the one whose `os` and `cpu` fit. Nothing is downloaded
// or built, so it works without installation scripts, offline, and from Yarn's archives.
//
// Starting Node takes longer than most commands of pisess. So on Unix the first run puts the binary in the place of
// this file, where that is possible: see replaceLauncher.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const { optionalDependencies } = require("../package.json");

/** Exit code of a failure, as in pisess itself. */
const FAILURE = 2;
/** The time in which a signal ends a process, in milliseconds. */
const PATIENCE = 200;

const binary = findBinary();
replaceLauncher();
runBinary();

/** Returns the path of the binary, or ends the process with the reason why there is none. */
function findBinary() {
  const platform = `${process.platform}-${process.arch}`;
  const name = `@pisess/${platform}`;
  if (!(name in optionalDependencies)) {
    fail(`there is no binary for ${platform}`, "`cargo install pisess` builds one with Rust; other ways: https://github.com/pisess/pisess#install");
  }
  try {
    const folder = path.dirname(require.resolve(`${name}/package.json`));
    return path.join(folder, process.platform === "win32" ? "pisess.exe" : "pisess");
  } catch {
    fail(`the package ${name} is not installed`, "install pisess again, with optional dependencies");
  }
}

function fail(reason, hint) {
  process.stderr.write(`pisess: ${reason} (hint: ${hint})\n`);
  process.exit(FAILURE);
}

/**
 * Puts a hard link to the binary in the place of this file, so that the next run starts the binary itself.
 *
 * Only if this file was called by a symbolic link, as npm, Bun and Yarn 1 make it. A wrapper script, as pnpm makes it,
 * and the command files of Windows start Node with this file, which must then stay JavaScript. A failure, as in a
 * directory of another user, changes nothing.
 */
function replaceLauncher() {
  const called = process.argv[1];
  try {
    if (process.platform === "win32" || !fs.lstatSync(called).isSymbolicLink()) return;
    if (fs.realpathSync(called) !== __filename) return;
    const link = `${__filename}.${process.pid}`;
    fs.linkSync(binary, link);
    try {
      fs.renameSync(link, __filename);
    } catch {
      fs.unlinkSync(link);
    }
  } catch {
    // The launcher stays.
  }
}

/** Runs the binary in place of this process if Node can, and else as a child, and ends as it ends. */
function runBinary() {
  const args = process.argv.slice(2);
  try {
    fs.accessSync(binary, fs.constants.X_OK);
  } catch (error) {
    fail(`cannot run ${binary}: ${error.code}`, "install pisess again");
  }
  // If it fails, Node aborts.
  if (typeof process.execve === "function") process.execve(binary, [binary, ...args], process.env);
  runChild(args);
}

function runChild(args) {
  // Loading these takes time, which the other way saves.
  const { spawn } = require("node:child_process");
  const os = require("node:os");

  // A signal that is sent to this process alone is passed on. Ctrl-C at a terminal reaches the child, too, which then
  // has the time to end by itself. On Windows, where passing it on would end the child at once, nothing else sends it.
  let child;
  process.on("SIGTERM", () => child?.kill("SIGTERM"));
  process.on("SIGHUP", () => child?.kill("SIGHUP"));
  process.on("SIGINT", () => {
    if (process.platform !== "win32") setTimeout(() => child?.kill("SIGINT"), PATIENCE);
  });

  child = spawn(binary, args, { stdio: "inherit" });
  child.on("error", (error) => fail(`cannot run ${binary}: ${error.message}`, "install pisess again"));
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    // Ends by the same signal, so that a shell sees it.
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    // If the signal does not end Node, the exit code is the one that a shell would report.
    setTimeout(() => process.exit(128 + os.constants.signals[signal]), PATIENCE);
  });
}
