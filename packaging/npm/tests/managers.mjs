// Installs pisess with each package manager, and runs it as its users do.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { check, checkEqual, run } from "./checks.mjs";
import { newUser } from "./registry.mjs";

/** Each `install` returns how to run pisess: a command, its directory and its environment. */
export const INSTALLS = [
  { name: "npm install -g", install: npmGlobal },
  { name: "npm exec", install: npmExec },
  { name: "pnpm add -g", install: pnpmGlobal },
  { name: "pnpm dlx", install: pnpmDlx },
  { name: "Yarn 1", install: yarnClassic },
  { name: "Yarn 4", install: yarnBerry },
  { name: "Bun", install: bunGlobal },
];

function npmGlobal({ registry }) {
  const env = newUser(registry, "npm-global");
  const prefix = join(env.HOME, "prefix");
  run(["npm", "install", "--global", "--ignore-scripts", "--prefix", prefix, "pisess"], { env });
  for (const page of ["pisess.1", "pisess-tree.1"]) {
    check(`the manual page ${page} is installed`, existsSync(join(prefix, "share/man/man1", page)));
  }
  const completions = join(prefix, "lib/node_modules/pisess/completions");
  for (const file of ["_pisess", "pisess.bash", "pisess.fish"]) {
    check(`the completions ${file} are installed`, existsSync(join(completions, file)));
  }
  return { command: [join(prefix, "bin/pisess")], env, cwd: env.HOME };
}

function npmExec({ registry }) {
  const env = newUser(registry, "npm-exec");
  return { command: ["npm", "exec", "--yes", "--", "pisess"], env, cwd: env.HOME };
}

function pnpmGlobal({ registry, tools }) {
  const env = newUser(registry, "pnpm");
  env.PATH = `${env.PNPM_HOME}:${env.PATH}`;
  run([process.execPath, tools.pnpm, "add", "--global", "pisess"], { env, cwd: env.HOME });
  return { command: [join(env.PNPM_HOME, "pisess")], env, cwd: env.HOME };
}

function pnpmDlx({ registry, tools }) {
  const env = newUser(registry, "pnpm-dlx");
  return { command: [process.execPath, tools.pnpm, "dlx", "pisess"], env, cwd: env.HOME };
}

function yarnClassic({ registry, tools }) {
  const env = newUser(registry, "yarn-1");
  const folders = ["--prefix", env.HOME, "--global-folder", env.YARN_GLOBAL_FOLDER, "--cache-folder", env.YARN_CACHE_FOLDER];
  run([process.execPath, tools.yarnClassic, "global", "add", "pisess", "--ignore-scripts", ...folders], { env, cwd: env.HOME });
  return { command: [join(env.HOME, "bin/pisess")], env, cwd: env.HOME };
}

/** Yarn 4 with Plug'n'Play, which keeps packages in archives. */
function yarnBerry({ registry, tools }) {
  const env = newUser(registry, "yarn-4");
  const project = join(env.HOME, "project");
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), '{"name":"project"}');
  writeFileSync(join(project, "yarn.lock"), "");
  run([process.execPath, tools.yarnBerry, "add", "pisess"], { env, cwd: project });
  check("Yarn 4 uses Plug'n'Play", existsSync(join(project, ".pnp.cjs")));
  return { command: [process.execPath, tools.yarnBerry, "run", "pisess"], env, cwd: project };
}

function bunGlobal({ registry, tools }) {
  const env = newUser(registry, "bun");
  run([tools.bun, "add", "--global", "pisess"], { env, cwd: env.HOME });
  return { command: [join(env.BUN_INSTALL, "bin/pisess")], env, cwd: env.HOME };
}

/** Runs pisess as it was installed, twice: the first run may replace the launcher. */
export function checkRuns(manager, { binary, session }, { command, env, cwd }) {
  const version = run([binary, "--version"], { env, cwd }).stdout;
  const tree = run([binary, "tree", session], { env, cwd }).stdout;
  for (const turn of ["first", "second"]) {
    checkEqual(`${manager}, ${turn} run: the version`, version, run([...command, "--version"], { env, cwd }).stdout);
    checkEqual(`${manager}, ${turn} run: a tree`, tree, run([...command, "tree", session], { env, cwd }).stdout);
  }
}

/** Checks the one line with which someone who has Node and sessions, but no pisess, draws the last one. */
export function checkStranger({ registry, binary, session }) {
  const env = newUser(registry, "stranger");
  const project = join(env.HOME, "project");
  mkdirSync(project);
  const store = join(env.HOME, ".pi/agent/sessions", `-${project.replaceAll("/", "-")}--`);
  mkdirSync(store, { recursive: true });
  const recorded = readFileSync(session, "utf8").replaceAll("/home/u/code/ferry", project);
  writeFileSync(join(store, "2026-03-14T09-26-45-589Z_019ceb84-1405-7a3e-9c1d-5b2f6e8a4d70.jsonl"), recorded);

  const options = { env, cwd: project };
  const start = Date.now();
  const { stdout } = run(["npx", "--yes", "pisess", "tree", "last"], options);
  const seconds = (Date.now() - start) / 1000;
  checkEqual("npx pisess tree last", run([binary, "tree", "last"], options).stdout, stdout);
  check("npx draws a tree", stdout.split("\n").length > 10, stdout);
  console.log(`npx pisess tree last, from nothing: ${seconds.toFixed(1)} s`);
}
