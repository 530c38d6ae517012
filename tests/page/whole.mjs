// The browser's own search and selection, which reach all of a path of up to 2,000 entries.

import { exported, line, nodes, open, session } from "./browser.mjs";
import { clean, holds, same, test } from "./check.mjs";
import { calls, chain, result, says, user } from "./make.mjs";

/** A session of 4 entries for each question; the output of each tool has a word at its end. */
const questions = (count) => session(`questions${count}`, chain(...Array.from({ length: count }, (_, n) => [
  user(`Question ${n}`), calls(`c${n}`, "bash", { command: "ls" }), result(`c${n}`, "bash", `${"line\n".repeat(40)}needle${n}end`),
  says([{ type: "thinking", thinking: `thought${n}thing` }, { type: "text", text: `Answer ${n} is here. ${"It has some words. ".repeat(20)}` }]),
]).flat()));

const filled = (page, count) => page.waitForFunction((count) => document.querySelectorAll("article").length === count, count);
/** Whether the browser finds text; what it finds in a hidden part is shown, as `beforematch` does. */
const finds = (page, words) => page.evaluate((words) => { getSelection().removeAllRanges(); return window.find(words); }, words);

await test("find and select all reach a whole path", async () => {
  const page = await open(exported(questions(100)), { calm: true });
  await filled(page, 300);
  for (const words of ["Question 3", "Question 99", "Answer 51 is here", "needle70end", "thought98thing"]) {
    holds(await finds(page, words), words);
  }
  holds(!(await finds(page, "needle100end")), "nothing else is found");
  await page.evaluate(() => getSelection().removeAllRanges());
  await page.keyboard.press("Control+a");
  const selected = await page.evaluate(() => getSelection().toString());
  for (let n = 0; n < 100; n++) holds(selected.includes(`Question ${n}\n`) && selected.includes(`Answer ${n} is here`), `${n} is selected`);
  for (const words of ["needle", "Copy", "To the end"]) holds(!selected.includes(words), `${words} is not`);
  holds(await nodes(page) < 7000, `${await nodes(page)} nodes`);
  await page.keyboard.press("Control+f");
  holds(await page.evaluate(() => document.activeElement.id !== "words"), "the browser's own search opens");
  await clean(page);
});

await test("what the search finds is shown, and stays when its fold opens", async () => {
  const page = await open(exported(questions(3)), { calm: true });
  await filled(page, 9);
  await page.waitForSelector("article.closed .plain", { state: "attached" });
  // As a browser does it.
  const reveal = (selector) => page.evaluate((selector) => {
    const found = document.querySelector(selector);
    found.dispatchEvent(new Event("beforematch", { bubbles: true }));
    found.removeAttribute("hidden");
    const fold = found.closest("details");
    if (fold) fold.open = true;
  }, selector);
  await reveal("article.closed .plain:nth-child(2)");
  holds(await page.getByText("needle0end").isVisible(), "the output of a closed run");
  await reveal(".fold.thinking > .plain");
  await page.waitForTimeout(100);
  same(await page.getByText("thought0thing").count(), 1, "thinking is there once");
  await page.click("#thinking");
  await page.waitForSelector(".fold.thinking[open] p");
  await clean(page);
});

await test("nothing moves while the rest of a path is drawn", async () => {
  const page = await open(exported(questions(200)), { calm: true, hash: "#e400" });
  const top = () => page.evaluate(() => document.querySelector('article[data-id="e400"]').getBoundingClientRect().top);
  const before = await top();
  await filled(page, 600);
  holds(Math.abs(await top() - before) < 3, `${before} ${await top()}`);
  for (let at = 0; at < 30; at++) {
    await page.mouse.move(900, 500);
    const [was, id] = await page.evaluate(() => { const found = document.elementFromPoint(800, 500).closest("article"); return [found.getBoundingClientRect().top, found.dataset.id]; });
    await page.mouse.wheel(0, -200);
    await page.waitForFunction(([id, was]) => document.querySelector(`article[data-id="${id}"]`).getBoundingClientRect().top - was > 100, [id, was]);
    await page.waitForTimeout(40);
    const is = await page.evaluate((id) => document.querySelector(`article[data-id="${id}"]`).getBoundingClientRect().top, id);
    holds(Math.abs(is - was - 200) < 4, `step ${at}: ${was} ${is}`);
  }
  await clean(page);
});

await test("a longer path is drawn in part, and the page's own search opens", async () => {
  const page = await open(exported(session("longer", Array.from({ length: 2100 }, (_, n) => line(n, n - 1, `entry ${n}`)))));
  await page.waitForTimeout(300);
  holds(await page.locator("article").count() < 80, "few are drawn");
  await page.keyboard.press("Control+f");
  same(await page.evaluate(() => document.activeElement.id), "words", "the page's own search");
  await clean(page);
});

await test("much text out of view is not drawn, and the page's own search opens", async () => {
  const page = await open(exported(session("heavy", chain(...Array.from({ length: 80 }, (_, n) => [user(`go ${n}`), calls(`c${n}`, "bash", { command: "ls" }), result(`c${n}`, "bash", "all work and no play\n".repeat(60_000))]).flat()))), { calm: true });
  await page.waitForTimeout(3000);
  const length = await page.evaluate(() => document.getElementById("list").textContent.length);
  holds(length < 70e6, `${length} characters`);
  await page.keyboard.press("Control+f");
  same(await page.evaluate(() => document.activeElement.id), "words", "the page's own search");
  await clean(page);
});
