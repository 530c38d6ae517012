// Chromium, and pages in it that must neither complain nor ask for anything.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];

export const folder = mkdtempSync(join(tmpdir(), "pisess-page-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

export const pisess = (...args) => execFileSync(process.env.PISESS, args, { encoding: "utf8", maxBuffer: 1 << 28, cwd: folder });

/** The rows of a command's JSON lines. */
export const rows = (...args) => pisess(...args).split("\n").filter(Boolean).map((line) => JSON.parse(line));

/** Writes a session of these lines; its path. */
export function session(name, lines) {
  const path = join(folder, `${name}.jsonl`);
  const header = { type: "session", version: 3, id: `id-${name}`, timestamp: "2026-03-14T09:26:45.589Z", cwd: "/home/u/code" };
  writeFileSync(path, [header, ...lines].map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n") + "\n");
  return path;
}

/** Exports a session; the path of the page. */
export function exported(path, ...args) {
  const to = join(folder, `${Math.random().toString(36).slice(2)}.html`);
  pisess("export", path, "-o", to, ...args);
  return to;
}

export const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: FLAGS });

/** Opens a page and waits until it knows all of itself. */
export async function open(path, { width = 1300, height = 900, scheme = "light", hash = "", script = true, bypassCSP = false } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, timezoneId: "UTC", bypassCSP });
  const page = await context.newPage();
  page.complaints = [];
  page.requests = [];
  await page.addInitScript(() => { window.pwned = (what) => { window.caught = (window.caught ?? []).concat(what); }; });
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) page.complaints.push(message.text()); });
  page.on("pageerror", (error) => page.complaints.push(String(error.stack)));
  page.on("dialog", (dialog) => { page.complaints.push(`a dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => { if (!/^(file|blob|data):/.test(request.url())) page.requests.push(request.url()); });
  await page.goto(pathToFileURL(path).href + hash);
  if (script) await page.waitForSelector("html[data-ready]", { timeout: 120_000 });
  return page;
}

/** What axe finds that is serious. */
export async function serious(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return violations.filter(({ impact }) => ["serious", "critical"].includes(impact)).map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 160)}`);
}

/** Nodes of the document, of every kind. */
export const nodes = (page) => page.evaluate(() => {
  const walker = document.createTreeWalker(document, NodeFilter.SHOW_ALL);
  let count = 0;
  while (walker.nextNode()) count++;
  return count;
});
