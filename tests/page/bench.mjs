// Measures exports and their pages, and pi's own export of the same session if tests/interop/run has installed pi.
// Started as: tests/page/run --bench [SESSION...]; prints a table and asserts nothing. Without a session, it makes one of
// 1,000 entries, whose work takes more room than its prose.
//
// Rounds are interleaved and the best of each counts, so that ratios hold on a busy machine. A page is interactive
// once its rows and its text are drawn and its thread is idle; the page itself takes the time, from the start of
// its navigation. The other figures are taken in the first round.

import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { closeBrowser, folder, newContext, nodes, violations } from "./browser.mjs";
import { proseShare, runs } from "./prose.mjs";

const modules = join(dirname(fileURLToPath(import.meta.url)), "../interop/node_modules");
const node = join(modules, `node-${process.platform}-${process.arch}`, "bin", "node");

/** Sessions above this many bytes are measured once. */
const LARGE = 50e6;
const ROUNDS = 5;
/** The maximum time for a page, in milliseconds. */
const LIMIT = 90_000;

/** Returns the path of the newest pi's program. */
function peer() {
  const programs = ["bundle/cli.js", "cli.js"].map((name) => join(modules, "@earendil-works/pi-coding-agent/dist", name));
  return programs.find(existsSync);
}

/** Runs a program. Returns the seconds, and its peak memory in MB if Python can measure it. */
function timed(program, args) {
  const measure = "import resource,subprocess,sys;c=subprocess.call(sys.argv[1:],stdout=subprocess.DEVNULL);"
    + "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss,file=sys.stderr);sys.exit(c)";
  const python = spawnSync("python3", ["--version"]).status === 0 ? ["python3", "-c", measure] : [];
  const [first, ...rest] = [...python, program, ...args];
  const start = process.hrtime.bigint();
  const child = spawnSync(first, rest, { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, HOME: folder } });
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  const said = String(child.stderr).trim().split("\n");
  const peak = python.length ? Number(said.pop()) / 1024 : NaN;
  return { seconds, peak, ok: child.status === 0, why: said.join(" ").slice(0, 120) };
}

/** Whether a page of each kind has drawn its rows and its text. */
const DRAWN = {
  ours: () => {
    const who = document.querySelector(".row .who"), body = document.querySelector("article .body > :not(.wait)");
    return who && body && who.textContent !== "…";
  },
  theirs: () => document.querySelector(".tree-node") && document.querySelector("#messages > *"),
};

/** Opens a page. Returns the milliseconds until it is interactive, or `null` if it never is. */
async function opened(path, kind) {
  // axe needs a page that allows other scripts.
  const page = await (await newContext({ viewport: { width: 1400, height: 900 }, bypassCSP: true })).newPage();
  await page.addInitScript(`(() => {
    window.longest = 0;
    const note = (list) => { for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration); };
    new PerformanceObserver(note).observe({ type: "longtask", buffered: true });
    const isDrawn = ${DRAWN[kind]};
    const look = () => {
      if (!isDrawn()) return setTimeout(look, 4);
      requestAnimationFrame(() => setTimeout(() => { window.interactive = performance.now(); }));
    };
    look();
  })()`);
  let shown = null;
  try {
    await page.goto(pathToFileURL(path).href, { waitUntil: "commit", timeout: LIMIT });
    await page.waitForFunction(() => window.interactive, null, { timeout: LIMIT });
    shown = await page.evaluate(() => window.interactive);
  } catch {
    // The page is never interactive.
  }
  return { page, shown };
}

/** Returns the longest task and the maximum number of nodes while jumping, scrolling and moving through the tree. */
const jumps = (page) => page.evaluate(async () => {
  let longest = 0, most = 0;
  new PerformanceObserver((list) => { for (const entry of list.getEntries()) longest = Math.max(longest, entry.duration); }).observe({ type: "longtask" });
  const [text, tree] = ["text", "tree"].map((id) => document.getElementById(id));
  const settle = async () => {
    await new Promise((resolve) => setTimeout(resolve, 150));
    most = Math.max(most, document.getElementsByTagName("*").length);
  };
  for (let at = 1; at <= 20; at++) {
    const part = ((at * 7) % 20) / 20;
    text.scrollTop = text.scrollHeight * part;
    tree.scrollTop = tree.scrollHeight * part;
    await settle();
    tree.querySelectorAll(".row")[8]?.click();
    await settle();
    text.scrollBy(0, 900);
    await settle();
  }
  return { longest: Math.round(longest), most };
});

/** Returns the share of the height of pi's page that prose takes: what the user and the model said. */
const theirProse = (page) => page.evaluate(() => {
  const height = (elements) => [...elements].reduce((sum, element) => sum + element.getBoundingClientRect().height, 0);
  return height(document.querySelectorAll("#messages .user-message, #messages .assistant-text")) / document.getElementById("messages").getBoundingClientRect().height;
});

/** Returns how many pages a page has when it is printed, and in how many seconds. */
async function printed(page) {
  const start = performance.now(), path = join(folder, "printed.pdf");
  await page.pdf({ path, format: "A4" });
  const seconds = (performance.now() - start) / 1000;
  return { pages: readFileSync(path, "latin1").match(/\/Type\s*\/Page\b/g).length, seconds };
}

/** Returns what a reader meets in an open page: its size, its longest task, what axe finds; unless it is large, its prose and its print. */
async function quality(page, kind, large) {
  await page.waitForTimeout(1500);
  const count = await nodes(page), task = Math.round(await page.evaluate(() => window.longest)), found = await violations(page);
  const figures = { nodes: count, task: task || "below 50", axe: found.map(({ id, nodes }) => `${nodes.length} × ${id}`) };
  return large ? figures : { ...figures, prose: await (kind === "ours" ? proseShare : theirProse)(page), print: await printed(page) };
}

const mb = (bytes) => `${(bytes / 1e6).toFixed(2)} MB`;
const best = (times) => Math.min(...times.filter((time) => time !== null));

async function compare(file) {
  const size = statSync(file).size, rounds = size > LARGE ? 1 : ROUNDS;
  const [ours, theirs, packed] = ["ours.html", "theirs.html", "packed.gz"].map((name) => join(folder, name));
  const pi = peer();
  // Pi migrates the session that it exports.
  const copy = join(folder, "copy.jsonl");
  const gzip = [], made = [], other = [], shown = [], peers = [];
  let jumped = null, own = null, its = null;
  for (let round = 0; round < rounds; round++) {
    gzip.push(timed("sh", ["-c", 'gzip -6 -c "$1" > "$2"', "sh", file, packed]));
    made.push(timed(process.env.PISESS, ["export", "-q", file, "--force", "-o", ours]));
    if (!made.at(-1).ok) throw new Error(`export: ${made.at(-1).why}`);
    copyFileSync(file, copy);
    chmodSync(copy, 0o600);
    if (pi) other.push(timed(node, ["--max-old-space-size=8192", pi, "--export", copy, theirs]));
    const page = await opened(ours, "ours");
    shown.push(page.shown);
    if (round === 0) {
      await page.page.waitForSelector("html[data-ready]", { timeout: LIMIT });
      own = await quality(page.page, "ours", size > LARGE);
      jumped = await jumps(page.page);
    }
    await page.page.context().close();
    if (!pi || !other.at(-1).ok) continue;
    const peer = await opened(theirs, "theirs");
    peers.push(peer.shown);
    if (round === 0 && peer.shown !== null) its = await quality(peer.page, "theirs", size > LARGE);
    await peer.page.context().close();
  }
  const seconds = (runs) => Math.min(...runs.map((run) => run.seconds));
  const html = statSync(ours).size, base64 = (statSync(packed).size * 4) / 3, zipped = seconds(gzip);
  const time = (runs) => `${seconds(runs).toFixed(2)} s, peak ${Math.max(...runs.map((run) => run.peak)).toFixed(0)} MB`;
  const ok = other.length > 0 && other.every((run) => run.ok), drawn = ok && peers.some((time) => time !== null);
  const [mine, theirTime] = [best(shown), drawn ? best(peers) : null];
  console.log(`\n${file}: ${mb(size)}, best of ${rounds}; gzip -6 ${zipped.toFixed(2)} s, ${mb(base64)} as base64\n`);
  console.log("| | pisess | pi |\n| --- | --- | --- |");
  const row = (name, left, right) => console.log(`| ${name} | ${left} | ${right} |`);
  row("export", `${time(made)}, ${(seconds(made) / zipped).toFixed(2)} of gzip`, ok ? time(other) : other[0]?.why ?? "not installed");
  row("file", `${mb(html)}, ${(html / size).toFixed(3)} of the session, ${(html / base64).toFixed(2)} of base64`, ok ? mb(statSync(theirs).size) : "");
  row("interactive", `${mine.toFixed(0)} ms`, drawn ? `${theirTime.toFixed(0)} ms, ${(theirTime / mine).toFixed(1)} times as long` : ok ? `never within ${LIMIT / 1000} s` : "");
  const both = (name, of) => row(name, of(own), its ? of(its) : "");
  both("nodes", ({ nodes }) => nodes);
  both("longest task while opening", ({ task }) => `${task} ms`);
  both("violations that axe finds", ({ axe }) => axe.join(", ") || 0);
  if (own.print) {
    both("height that is prose", ({ prose }) => `${(prose * 100).toFixed(0)} %`);
    both("printed", ({ print }) => `${print.pages} pages in ${print.seconds.toFixed(1)} s`);
  }
  row("longest task while moving", `${jumped.longest || "below 50"} ms, ${jumped.most} elements at most`, "");
}

export async function bench(files) {
  for (const file of files.length ? files : [runs(54)]) await compare(file);
  await closeBrowser();
}
