// Installs the npm packages from a registry on this machine: with npm, pnpm, Yarn 1, Yarn 4 and Bun, each in an empty
// home directory, and in pi and oh-my-pi. `../../tests/npm` starts this.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { checkAgents } from "./agents.mjs";
import { checked } from "./checks.mjs";
import { checkLauncher } from "./launcher.mjs";
import { checkRuns, checkStranger, INSTALLS } from "./managers.mjs";
import { publish, startRegistry } from "./registry.mjs";

/** The registry and the package managers. */
const TOOLS = { verdaccio: "6.10.4", pnpm: "10.20.0", yarn: "1.22.22", "@yarnpkg/cli-dist": "4.18.1", bun: "1.4.5" };

const root = fileURLToPath(new URL("../../..", import.meta.url)).replace(/\/$/, "");
const modules = join(root, "tests/interop/node_modules");
const platform = `${process.platform}-${process.arch}`;

const args = process.argv.slice(2);
const isShort = args[0] === "--short";
if (isShort) args.shift();
if (args.length !== 1) {
  console.error("usage: packaging/tests/npm [--short] BINARY");
  process.exit(2);
}

const work = mkdtempSync(join(tmpdir(), "pisess-npm-test-"));
let registry;
try {
  await main(resolve(args[0]));
  console.log(`npm: ${checked} checks hold`);
} catch (error) {
  console.error(`packaging/tests/npm: ${error.message}`);
  process.exitCode = 1;
} finally {
  registry?.process.kill();
  rmSync(work, { recursive: true, force: true });
}

async function main(binary) {
  execFileSync(join(root, "tests/interop/run"), ["--install"], { stdio: ["ignore", "ignore", "inherit"] });
  const newNode = join(modules, `node-${platform}/bin/node`);
  const tools = installTools();
  await timed("packing and publishing", async () => {
    registry = await startRegistry(newNode, tools.verdaccio, work);
    publish(registry, { packaging: join(root, "packaging"), binary, forAll: !isShort });
  });

  const session = join(root, "fixtures/tour.jsonl");
  const lab = { root, modules, tools, newNode, registry, binary, session };
  for (const { name, install } of isShort ? INSTALLS.slice(0, 1) : INSTALLS) {
    await timed(name, () => checkRuns(name, lab, install(lab)));
  }
  checkStranger(lab);
  await timed("the launcher", () => checkLauncher(lab));
  await timed("the agents", () => checkAgents(lab));
}

async function timed(name, work) {
  const start = Date.now();
  await work();
  console.log(`${name}: ${Math.round((Date.now() - start) / 1000)} s`);
}

/** Installs the tools below the target directory, once for each choice of versions. */
function installTools() {
  const folder = join(process.env.CARGO_TARGET_DIR ?? join(root, "target"), "npm-tools");
  const wanted = Object.entries(TOOLS).map(([name, version]) => `${name}@${version}`);
  const stamp = join(folder, ".installed");
  if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== wanted.join()) {
    mkdirSync(folder, { recursive: true });
    // verdaccio asks for a version of node-fetch by a tag that not every registry passes on.
    writeFileSync(join(folder, "package.json"), '{"overrides":{"node-fetch":"2.7.0"}}');
    const options = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    execFileSync("npm", ["install", ...options, ...wanted], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
    writeFileSync(stamp, wanted.join());
  }
  const installed = join(folder, "node_modules");
  return {
    verdaccio: join(installed, "verdaccio/bin/verdaccio"),
    pnpm: join(installed, "pnpm/bin/pnpm.cjs"),
    yarnClassic: join(installed, "yarn/bin/yarn.js"),
    yarnBerry: join(installed, "@yarnpkg/cli-dist/bin/yarn.js"),
    // A script of the package `bun`, which is not run, would link this binary.
    bun: join(installed, `@oven/bun-${platform}/bin/bun`),
  };
}
