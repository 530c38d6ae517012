// Chromium, with a record of the errors and requests of each page, of which there must be none.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// Containers have little shared memory. When it is used up, Chromium ends without a message.
const FLAGS = [
  "--headless", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];

export const fixtures = join(dirname(fileURLToPath(import.meta.url)), "../../fixtures");
export const tour = join(fixtures, "tour.jsonl");
export const folder = mkdtempSync(join(tmpdir(), "pisess-page-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

export const pisess = (...args) => execFileSync(process.env.PISESS, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 28, cwd: folder });

/** Returns the rows of a command's JSON lines. */
export const rows = (...args) => pisess(...args).split("\n").filter(Boolean).map((line) => JSON.parse(line));

/** Returns a user message with an id such as n7, made from its number; a parent of -1 means none. */
export const line = (n, up, text) => `{"type":"message","id":"n${n}","parentId":${up < 0 ? null : `"n${up}"`},"timestamp":"2026-03-14T09:26:45.589Z","message":{"role":"user","content":${JSON.stringify(text)}}}`;

/** Writes a session of these lines. Returns its path. */
export function session(name, lines) {
  const path = join(folder, `${name}.jsonl`);
  const header = { type: "session", version: 3, id: `id-${name}`, timestamp: "2026-03-14T09:26:45.589Z", cwd: "/home/u/code" };
  writeFileSync(path, [header, ...lines].map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n") + "\n");
  return path;
}

/** Exports a session. Returns the path of the page. */
export function exported(path, ...args) {
  const to = join(folder, `${Math.random().toString(36).slice(2)}.html`);
  pisess("export", path, "-o", to, ...args);
  return to;
}

let browser = null;

/** Whether the browser has ended by itself. */
export const isGone = () => browser !== null && !browser.isConnected();

/** Returns a new browser window; starts the browser if necessary. */
export async function newContext(options) {
  if (!browser?.isConnected()) browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: FLAGS });
  return browser.newContext(options);
}

export const closeBrowser = () => browser?.close();

/** Opens a page and waits until all of it is loaded. */
export async function open(path, { width = 1300, height = 900, scheme = "light", hash = "", script = true, javaScript = true, calm = false, touch = false, bypassCSP = false } = {}) {
  const context = await newContext({ viewport: { width, height }, colorScheme: scheme, timezoneId: "UTC", bypassCSP, javaScriptEnabled: javaScript, hasTouch: touch, isMobile: touch });
  const page = await context.newPage();
  page.complaints = [];
  page.requests = [];
  await page.addInitScript(() => {
    window.pwned = (what) => { window.caught = (window.caught ?? []).concat(what); };
    // Records what is copied.
    Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { window.copied = text; } } });
  });
  // Unless a test is about what a reader sees first, everything is shown.
  if (!calm) await page.addInitScript(() => { if (location.protocol === "file:") localStorage.setItem("pisess", '{"level":"all","aside":true}'); });
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) page.complaints.push(message.text()); });
  page.on("pageerror", (error) => page.complaints.push(String(error.stack)));
  page.on("dialog", (dialog) => { page.complaints.push(`a dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => { if (!/^(file|blob|data):/.test(request.url())) page.requests.push(request.url()); });
  await page.goto(pathToFileURL(path).href + hash);
  if (script) await page.waitForSelector("html[data-ready]", { timeout: 120_000 });
  return page;
}

/** Returns the violations that axe finds. */
export async function violations(page) {
  await page.evaluate(axe);
  return page.evaluate(async () => (await globalThis.axe.run(document, { resultTypes: ["violations"] })).violations);
}

/** Returns them as text. */
export async function findings(page) {
  return (await violations(page)).map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 160)}`);
}

/** Returns the number of nodes in the document. */
export const nodes = (page) => page.evaluate(() => {
  const walker = document.createTreeWalker(document, NodeFilter.SHOW_ALL);
  let count = 0;
  while (walker.nextNode()) count++;
  return count;
});
