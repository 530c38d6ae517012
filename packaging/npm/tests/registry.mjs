// Serves the packages from a registry on this machine, and gives each user an empty home directory that knows it.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { run } from "./checks.mjs";

const PLATFORMS = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64", "win32-x64", "win32-arm64"];

/** Starts verdaccio with Node 22 or newer on a free port. It has only what is published to it. */
export async function startRegistry(node, verdaccio, work) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const config = join(work, "verdaccio.yaml");
  writeFileSync(
    config,
    `storage: ${work}/storage
packages:
  '**': { access: $all, publish: $all }
max_body_size: 100mb
log: { type: stdout, level: fatal }
`,
  );
  const child = spawn(node, ["--no-warnings", verdaccio, "--config", config, "--listen", `127.0.0.1:${port}`], {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, HOME: work },
  });
  for (let tries = 0; ; tries++) {
    if (tries === 600 || child.exitCode !== null) throw new Error("the registry does not start");
    try {
      await fetch(`${url}-/ping`);
      return { url, process: child, work };
    } catch {
      await new Promise((wait) => setTimeout(wait, 100));
    }
  }
}

function freePort() {
  return new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

/**
 * Packs and publishes the launcher and the package of this platform with the binary. With `forAll`, also the packages
 * of the other platforms, with a file in the place of the binary.
 */
export function publish(registry, { packaging, binary, forAll }) {
  const placeholder = join(registry.work, "placeholder");
  writeFileSync(placeholder, "not for this platform\n");
  const binaries = [];
  for (const platform of PLATFORMS) {
    if (platform === `${process.platform}-${process.arch}`) binaries.push(`${platform}=${binary}`);
    else if (forAll) binaries.push(`${platform}=${placeholder}`);
  }
  const out = join(registry.work, "packages");
  run([join(packaging, "npm/pack"), out, ...binaries], { env: process.env });
  run([join(packaging, "npm/publish"), out], { env: newUser(registry, "publisher") });
}

/** Returns the environment of a user with an empty home directory, without pisess and the settings of this machine. */
export function newUser(registry, name) {
  const home = join(registry.work, name);
  if (!existsSync(home)) {
    mkdirSync(home, { recursive: true });
    const { host } = new URL(registry.url);
    writeFileSync(join(home, ".npmrc"), `registry=${registry.url}\n//${host}/:_authToken=none\n`);
  }
  return {
    HOME: home,
    PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
    LANG: "C.UTF-8",
    TZ: "UTC",
    npm_config_registry: registry.url,
    npm_config_update_notifier: "false",
    // Yarn 1 keeps the files of root in a directory of the system.
    YARN_CACHE_FOLDER: join(home, "yarn-cache"),
    YARN_GLOBAL_FOLDER: join(home, "yarn-global"),
    YARN_NPM_REGISTRY_SERVER: registry.url,
    YARN_UNSAFE_HTTP_WHITELIST: "127.0.0.1",
    YARN_ENABLE_TELEMETRY: "0",
    // Yarn 4 waits for some days with what was just published.
    YARN_NPM_MINIMAL_AGE_GATE: "0",
    YARN_ENABLE_GLOBAL_CACHE: "0",
    YARN_ENABLE_IMMUTABLE_INSTALLS: "0",
    BUN_INSTALL: join(home, ".bun"),
    PNPM_HOME: join(home, "pnpm"),
  };
}
