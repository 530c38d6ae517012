// How long an export takes, how large it is and how soon its page is there, beside pi's own export of the
// same file. Started as: tests/page/run --bench SESSION...; prints a table and asserts nothing.
// pi's export is measured where tests/interop/run has installed it.

import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { browser, folder, nodes } from "./browser.mjs";

const modules = join(dirname(fileURLToPath(import.meta.url)), "../interop/node_modules");
const node = join(modules, `node-${process.platform}-${process.arch}`, "bin", "node");
const pi = join(modules, "@earendil-works/pi-coding-agent/dist/core/export-html/index.js");

/** Runs a program; seconds, and its peak memory in MB. */
function timed(program, args) {
  const start = process.hrtime.bigint();
  const child = spawnSync("/bin/sh", ["-c", 'exec "$@"', "sh", program, ...args], { stdio: ["ignore", "ignore", "pipe"] });
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  return { seconds, ok: child.status === 0, why: String(child.stderr).slice(0, 120) };
}

/** Opens a page; milliseconds until rows are drawn. */
async function opened(path, rows, limit) {
  const page = await (await browser.newContext({ viewport: { width: 1300, height: 900 } })).newPage();
  const start = Date.now();
  let shown = null;
  try {
    await page.goto(pathToFileURL(path).href, { waitUntil: "commit", timeout: limit });
    await page.waitForSelector(rows, { state: "attached", timeout: limit });
    shown = Date.now() - start;
  } catch {
    // It never comes.
  }
  return { page, shown };
}

/** The longest time that a jump to an entry keeps the page busy. */
const jumps = (page) => page.evaluate(async () => {
  let longest = 0;
  new PerformanceObserver((list) => { for (const entry of list.getEntries()) longest = Math.max(longest, entry.duration); }).observe({ type: "longtask" });
  const text = document.getElementById("text");
  for (let at = 1; at <= 20; at++) {
    text.scrollTop = (text.scrollHeight * ((at * 7) % 20)) / 20;
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
  return Math.round(longest);
});

export async function bench(files) {
  for (const file of files) {
    const size = statSync(file).size, mb = (bytes) => `${(bytes / 1e6).toFixed(2)} MB`;
    const ours = join(folder, "ours.html"), theirs = join(folder, "theirs.html"), packed = join(folder, "packed.gz");
    const gzip = timed("sh", ["-c", 'gzip -6 -c "$1" > "$2"', "sh", file, packed]);
    const made = timed(process.env.PISESS, ["export", "-q", file, "--force", "-o", ours]);
    const base64 = (statSync(packed).size * 4) / 3;
    console.log(`\n${file}: ${mb(size)}; gzip -6 ${gzip.seconds.toFixed(2)} s, ${mb(base64)} as base64`);
    console.log(`pisess: ${made.seconds.toFixed(2)} s (${(made.seconds / gzip.seconds).toFixed(2)} of gzip), ${mb(statSync(ours).size)} (${(statSync(ours).size / size).toFixed(3)} of the session, ${(statSync(ours).size / base64).toFixed(2)} of base64)`);
    const { page, shown } = await opened(ours, ".row", 120_000);
    await page.waitForSelector("html[data-ready]", { timeout: 120_000 });
    console.log(`  rows after ${shown} ms, ${await nodes(page)} nodes, longest task while jumping ${await jumps(page)} ms, then ${await nodes(page)} nodes`);
    await page.context().close();
    if (!existsSync(pi)) continue;
    const script = `import(${JSON.stringify(pathToFileURL(pi).href)}).then((m) => m.exportFromFile(${JSON.stringify(file)}, ${JSON.stringify(theirs)})).catch((e) => { console.error(e.message); process.exit(1); })`;
    const other = timed(node, ["--max-old-space-size=8192", "--input-type=module", "-e", script]);
    if (!other.ok) {
      console.log(`pi: fails after ${other.seconds.toFixed(2)} s: ${other.why}`);
      continue;
    }
    console.log(`pi: ${other.seconds.toFixed(2)} s, ${mb(statSync(theirs).size)}`);
    const peer = await opened(theirs, ".tree-node, .message, .user-message", 90_000);
    console.log(peer.shown === null ? "  its page shows nothing within 90 s" : `  rows after ${peer.shown} ms, ${await nodes(peer.page)} nodes`);
    await peer.page.context().close();
  }
  await browser.close();
}
