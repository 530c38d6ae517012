// Runs the steps of the release workflow for this platform, each job in a clone of its own, as the forge would run them:
// workflow.mjs MODULES WORK BINARY. Names each step that does not run here, with the reason.

import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const [modules, work, binary] = process.argv.slice(2).map((path) => resolve(path));
const { parse } = createRequire(join(modules, "x.js"))("yaml");
const root = fileURLToPath(new URL("../..", import.meta.url));
const nightly = readFileSync(join(root, ".ci/nightly"), "utf8");
const version = /^version = "(.*)"$/m.exec(readFileSync(join(root, "Cargo.toml"), "utf8"))[1];
const target = /\((\S+?)[,)]/.exec(execFileSync(binary, ["--version"], { encoding: "utf8" }))[1];

/** The steps that do not run here. A step of .ci/nightly must call the same script. */
const ELSEWHERE = {
  "Standard library": "the binary is given",
  "Static binary": ".ci/nightly",
  "Test the static binary": ".ci/nightly",
  "Test the Debian package": ".ci/nightly",
  "Test the crates": ".ci/nightly",
  Audit: ".ci/nightly",
  SBOM: ".ci/nightly",
  Maturin: "it is installed",
  "Test the packages for npm": ".ci/nightly",
  "Test the packages for PyPI": ".ci/nightly",
  "Test what is published on crates.io": ".ci/nightly",
  "Publish the crates": "it uploads; the step before tries it",
};

const clone = join(work, "clone");
const artifacts = join(work, "artifacts");
const log = join(work, "gh.log");
const left = new Set(Object.keys(ELSEWHERE));
const counts = { run: 0, elsewhere: 0 };

main();

function main() {
  execFileSync("git", ["clone", "--quiet", root, clone]);
  mkdirSync(artifacts);
  writeFileSync(log, "");
  writeGh();
  const { jobs } = parse(readFileSync(join(root, ".github/workflows/release.yml"), "utf8"));
  for (const [name, job] of Object.entries(jobs)) {
    for (const row of job.strategy?.matrix.include ?? [{}]) {
      if (row.target && row.target !== target) imitateArtifacts(row);
      else runJob(name, job, row);
    }
  }
  if (left.size > 0) fail(`the workflow has no step ${[...left].join(", ")}`);
  checkPublished(jobs);
  console.log(`workflow: ${counts.run} steps of the release run, ${counts.elsewhere} elsewhere`);
}

function runJob(name, job, row) {
  const folder = join(work, name);
  cpSync(clone, folder, { recursive: true });
  const binaries = join(folder, "target", target, "dist");
  mkdirSync(binaries, { recursive: true });
  cpSync(binary, join(binaries, "pisess"));
  const outputs = {};
  for (const step of job.steps) {
    if (step.if && !holds(step.if, row)) continue;
    if (step.uses) use(step, row, folder, outputs);
    else if (step.name in ELSEWHERE) passOver(step, folder);
    else runStep(name, job, step, row, folder, outputs);
  }
}

/** Whether a condition holds: `matrix.NAME`, or its negation. */
function holds(condition, row) {
  const [, not, key] = /^(?:\$\{\{ (!)?)?matrix\.(\w+)(?: \}\})?$/.exec(condition) ?? fail(`cannot evaluate ${condition}`);
  return not ? !row[key] : row[key];
}

function fill(text, row, outputs) {
  return String(text).replace(/\$\{\{ ([\w.]+) \}\}/g, (_, path) => {
    const [first, ...keys] = path.split(".");
    const known = { matrix: row, github: { token: "token" }, steps: outputs };
    return keys.reduce((value, key) => value?.[key], known[first]) ?? fail(`there is no ${path}`);
  });
}

function runStep(name, job, step, row, folder, outputs) {
  const env = { ...process.env, GITHUB_REF_NAME: `v${version}`, PATH: `${join(work, "bin")}:${process.env.PATH}` };
  for (const [key, value] of Object.entries({ ...job.env, ...step.env })) env[key] = fill(value, row, outputs);
  // Nothing leaves this machine.
  if (name === "publish") env.npm_config_dry_run = "true";
  const { status, stdout, stderr } = spawnSync("bash", ["-eo", "pipefail", "-c", fill(step.run, row, outputs)], { cwd: folder, env, encoding: "utf8", timeout: 600_000 });
  if (status !== 0) fail(`${name}: ${step.name}: exit ${status}\n${stdout}${stderr}`);
  counts.run++;
}

/** Counts a step that does not run here, and writes what the next ones need. */
function passOver({ name, run }, folder) {
  left.delete(name);
  counts.elsewhere++;
  const [, script] = /packaging\/(?:tests\/)?(\S+)/.exec(run) ?? [];
  const tested = new RegExp(`packaging/(?:tests/)?${script}\\b`);
  if (ELSEWHERE[name] === ".ci/nightly" && !tested.test(nightly)) fail(`${name}: .ci/nightly does not call ${script}`);
  if (name !== "SBOM") return;
  mkdirSync(join(folder, "dist"), { recursive: true });
  writeFileSync(join(folder, `dist/pisess-${version}.cdx.json`), "{}");
}

/** Does what an action does, as far as the other steps depend on it. */
function use(step, row, folder, outputs) {
  const [action] = step.uses.split("@");
  const options = Object.fromEntries(Object.entries(step.with ?? {}).map(([key, value]) => [key, fill(value, row, outputs)]));
  switch (action) {
    case "actions/checkout":
    case "actions/setup-node":
    case "actions/setup-python":
      return;
    case "actions/upload-artifact":
      return cpSync(join(folder, options.path), join(artifacts, options.name), { recursive: true });
    case "actions/download-artifact": {
      const pattern = new RegExp(`^${options.pattern.replaceAll("*", ".*")}$`);
      const found = readdirSync(artifacts).filter((name) => pattern.test(name));
      if (found.length === 0) fail(`there are no artifacts ${options.pattern}`);
      for (const name of found) cpSync(join(artifacts, name), join(folder, options.path), { recursive: true });
      return;
    }
    case "actions/attest-build-provenance":
      for (const pattern of options["subject-path"].trim().split("\n")) {
        if (list(folder, pattern).length === 0) fail(`nothing to attest: ${pattern}`);
      }
      return;
    case "rust-lang/crates-io-auth-action":
      outputs[step.id] = { outputs: { token: "token" } };
      return;
    case "pypa/gh-action-pypi-publish":
      if (list(folder, `${options["packages-dir"]}/*`).length !== 7) fail("not six wheels and a source distribution for PyPI");
      return;
    default:
      fail(`unknown action ${action}`);
  }
}

function list(folder, pattern) {
  return execFileSync("bash", ["-c", `shopt -s nullglob; printf '%s\\n' ${pattern}`], { cwd: folder, encoding: "utf8" }).split("\n").filter(Boolean);
}

/** Writes what a job for another platform would: an archive with the binary of this one under its name, and a package. */
function imitateArtifacts(row) {
  const own = join(artifacts, `release-${target}`);
  if (!existsSync(own)) fail(`the job for ${target} is not the first`);
  const folder = join(artifacts, `release-${row.target}`);
  mkdirSync(folder);
  const [archive] = readdirSync(own).filter((name) => name.endsWith(".tar.gz"));
  execFileSync("tar", ["-xzf", join(own, archive), "-C", work]);
  const name = `pisess-${version}-${row.target}`;
  renameSync(join(work, basename(archive, ".tar.gz")), join(work, name));
  if (row.target.includes("windows")) renameSync(join(work, name, "pisess"), join(work, name, "pisess.exe"));
  execFileSync("tar", ["-C", work, "-czf", join(folder, `${name}.tar.gz`), name]);
  rmSync(join(work, name), { recursive: true });
  if (row.static) writeFileSync(join(folder, `pisess_${version}_arm64.deb`), "");
}

/** Writes a `gh` that notes how it is called. There is no release yet. */
function writeGh() {
  const gh = join(work, "bin/gh");
  mkdirSync(dirname(gh));
  writeFileSync(gh, `#!/bin/sh\necho "$*" >>${log}\n[ "$2" != view ]\n`);
  chmodSync(gh, 0o755);
}

/** Checks what the release has, and that it needs all parts. */
function checkPublished(jobs) {
  const others = Object.keys(jobs).filter((name) => name !== "publish");
  if (others.join() !== jobs.publish.needs.join()) fail(`publish needs ${jobs.publish.needs}, not ${others}`);
  const called = readFileSync(log, "utf8").trim().split("\n");
  const verbs = called.map((line) => line.split(" ").slice(0, 2).join(" ")).join();
  if (verbs !== "release view,release create,release upload,release edit") fail(`gh: ${verbs}`);
  for (const name of ["SHA256SUMS", "pisess.rb", `pisess-${version}.crate`, `pisess-${version}.cdx.json`, `pisess_${version}_amd64.deb`]) {
    if (!called[2].split(/[ /]/).includes(name)) fail(`the release has no ${name}`);
  }

  // Without one of the parts, nothing is published.
  const folder = join(work, "publish");
  for (const name of ["SHA256SUMS", "pisess.rb"]) rmSync(join(folder, "dist", name));
  const again = () => spawnSync("packaging/release-files", ["dist"], { cwd: folder, encoding: "utf8" });
  if (again().status !== 0) fail(`a complete release is refused: ${again().stderr}`);
  for (const name of ["SHA256SUMS", "pisess.rb"]) rmSync(join(folder, "dist", name));
  rmSync(join(folder, `dist/npm/pisess-darwin-arm64-${version}.tgz`));
  if (again().status !== 1) fail("an incomplete release is accepted");
}

function fail(reason) {
  console.error(`packaging/tests/workflow: ${reason}`);
  process.exit(1);
}
