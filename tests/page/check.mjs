// Runs tests, and reads pages for them.

import { closeBrowser, isGone } from "./browser.mjs";

const only = process.argv[2];
let passed = 0, failed = 0;

/** Runs a test. If its browser ended, it is run once more. */
export async function test(name, run) {
  if (only && !name.includes(only)) return;
  for (let again = false; ; again = true) {
    try {
      await run();
      passed++;
      console.log(`ok ${name}`);
    } catch (error) {
      if (isGone() && !again) {
        console.log(`again ${name}: the browser went away`);
        continue;
      }
      failed++;
      console.log(`FAIL ${name}\n  ${String(error.stack).split("\n").slice(0, 6).join("\n  ")}`);
    }
    return;
  }
}

export async function finish() {
  await closeBrowser();
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed || !passed ? 1 : 0);
}

export function same(found, wanted, what) {
  const [a, b] = [found, wanted].map((value) => JSON.stringify(value));
  if (a !== b) throw new Error(`${what}:\n  found  ${a.slice(0, 700)}\n  wanted ${b.slice(0, 700)}`);
}

export const holds = (fact, what) => { if (!fact) throw new Error(what); };

export async function clean(page) {
  same(page.complaints, [], "complaints");
  same(page.requests, [], "requests");
  await page.context().close();
}

/** Returns the entries of all rows, after unfolding runs of tools. */
export async function rowIds(page) {
  for (let fold; (fold = page.locator(".row.branch .twist, .row.run .twist").first()), await fold.count(); ) await fold.click();
  return page.evaluate(async () => {
    const view = document.getElementById("tree"), ids = new Map();
    for (let top = 0; ; top += 200) {
      view.scrollTop = top;
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      for (const row of view.querySelectorAll(".row")) ids.set(+row.id.slice(4), row.dataset.id);
      if (top > view.scrollHeight) break;
    }
    return [...ids].sort(([a], [b]) => a - b).map(([, id]) => id);
  });
}

/** Returns all entries of the path that is shown. */
export async function pathIds(page) {
  await page.evaluate(() => {
    window.print = () => { window.printed = [...document.querySelectorAll("article")].map((article) => article.dataset.id); };
    document.getElementById("print").click();
  });
  await page.waitForFunction(() => window.printed);
  return page.evaluate(() => {
    const { printed } = window;
    window.printed = null;
    window.dispatchEvent(new Event("afterprint"));
    return printed;
  });
}

/** Returns a computed style of the first element that matches, or of a part of it such as `::after`. */
export const style = (page, selector, name, part) => page.evaluate(
  ([selector, name, part]) => getComputedStyle(document.querySelector(selector), part)[name], [selector, name, part],
);

/** Returns the chosen entry. */
export const chosen = (page) => page.evaluate(() => document.querySelector("article.chosen")?.dataset.id ?? null);

/** Waits until an entry is chosen and drawn. */
export const waitFor = (page, id) => page.waitForFunction((id) => {
  const article = document.querySelector("article.chosen");
  return article?.dataset.id === id && !article.querySelector(".wait");
}, id);
