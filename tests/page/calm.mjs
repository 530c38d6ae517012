// What a reader sees first: the prose, with the work as quiet lines.

import { readFileSync } from "node:fs";
import { exported, findings, line, open, session, tour } from "./browser.mjs";
import { chosen, clean, holds, same, test, waitFor } from "./check.mjs";
import { calls, chain, result, says, user } from "./make.mjs";
import { proseShare, runs } from "./prose.mjs";

await test("runs of tools are lines, which open to previews, and those to the full output", async () => {
  const page = await open(exported(runs()), { calm: true });
  const shown = () => page.evaluate(() => [...document.querySelectorAll("article")].slice(0, 3).map((article) => article.className.replace(" chosen", "")));
  same(await shown(), ["entry u", "entry a work closed", "entry a follows"], "a prompt, a line, an answer");
  same(await page.locator(".workline .who").first().textContent(), "Read", "the first verb");
  same(await page.locator(".workline .says").first().textContent(), "make · Ran make ✗ · Edited make", "what was done");
  same(await page.locator(".workline .mark.bad").first().textContent(), "1 failed", "how many failed");
  same(await page.locator("article.work header").count(), 0, "no heading over a line");
  await page.locator(".workline").first().click();
  await page.waitForFunction(() => document.querySelectorAll("article.t .block").length === 3);
  same(await page.locator(".workline").first().getAttribute("aria-expanded"), "true", "it is open");
  const height = () => page.locator("article.t .block").first().evaluate((block) => block.getBoundingClientRect().height);
  holds(await height() < 125, `a preview: ${await height()}`);
  await page.locator(".unfold").first().click();
  holds(await height() > 300, `the full output: ${await height()}`);
  await page.locator(".workline").first().click();
  same(await shown(), ["entry u", "entry a work closed", "entry a follows"], "closed again");
  await page.selectOption("#level", "previews");
  await page.waitForFunction(() => document.querySelectorAll("article.t .block").length > 5);
  holds(await height() < 125, "previews of all");
  await page.selectOption("#level", "all");
  await page.waitForFunction(() => !document.querySelector(".workline"));
  holds(await height() > 300, "all of it");
  await page.keyboard.press("e");
  await page.waitForSelector(".workline");
  same(await page.evaluate(() => JSON.parse(localStorage.getItem("pisess")).level), "lines", "and is remembered");
  await clean(page);
});

await test("a link to an entry within a run opens the run, and one to a setting shows it", async () => {
  const file = session("asides", [...chain({ type: "model_change", provider: "a", modelId: "b" }, user("go"), calls("c", "bash", { command: "ls" }), result("c", "bash", "x"), calls("d", "bash", { command: "ls" }), result("d", "bash", "y"), { type: "thinking_level_change", thinkingLevel: "high" }, says("done"), { type: "label", targetId: "e1", label: "start" })]);
  const page = await open(exported(file), { calm: true, hash: "#e5" });
  await waitFor(page, "e5");
  holds((await page.locator("article.chosen").innerText()).includes("y"), "it is open");
  same(await page.locator(".chip").allTextContents(), ["start", "one", "thinking: high"], "labels, models and settings are chips");
  same(await page.locator("article.n, article.l").count(), 0, "and no entries");
  await page.locator(".chip").last().click();
  await waitFor(page, "e6");
  await page.click("#aside");
  await page.waitForSelector('article[data-id="e8"]');
  same(await page.locator("article.n, article.l").count(), 3, "on request they are");
  await clean(page);
});

await test("j goes through what is shown, and search opens what it finds", async () => {
  const page = await open(exported(runs()), { calm: true });
  for (let n = 1; n < 36; n++) {
    await page.keyboard.press("j");
    await page.waitForFunction((place) => {
      const chosen = document.querySelector("article.chosen");
      return chosen?.ariaPosInSet === `${place}` && chosen.ariaSetSize === "36";
    }, n + 1, { timeout: 3000 });
    same(await page.textContent("#where"), `Turn ${Math.floor(n / 3) + 1} of 12`, `at ${n}`);
  }
  await page.fill("#words", "line of output");
  await page.waitForFunction(() => document.body.dataset.searched === "line of output");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /a line of output/.test(document.querySelector("article.chosen")?.innerText));
  await clean(page);
});

await test("the top is the first prompt and facts; another branch has a banner", async () => {
  const page = await open(exported(tour), { calm: true });
  holds((await page.textContent("#title")).startsWith("The 00:10 ferry shows up"), "the first prompt");
  holds((await page.textContent("#about")).includes("2026"), "the date");
  const facts = await page.textContent("#facts");
  for (const fact of ["min of work", "prompts", "tools", "tokens", "$"]) holds(facts.includes(fact), `${fact}: ${facts}`);
  holds(await page.isHidden("#banner"), "no banner");
  // The first click opens the branch.
  await page.click('.row[data-id="3ac9d7e4"]');
  await page.click('.row[data-id="3ac9d7e4"]');
  await waitFor(page, "3ac9d7e4");
  holds(await page.isVisible("#banner"), "a banner");
  await page.click("#final");
  await page.waitForFunction(() => document.getElementById("banner").hidden);
  const words = await page.evaluate(() => document.body.innerText + [...document.querySelectorAll("[aria-label], [title]")].map((e) => `${e.getAttribute("aria-label")} ${e.title}`).join(" "));
  holds(!/\b(leaf|rows?|path)\b/i.test(words.replace(/[^\n]*\bferry\b[^\n]*/g, "")), `words: ${/.{30}\b(leaf|rows?|path)\b.{20}/i.exec(words)?.[0]}`);
  await clean(page);
});

await test("prose has most of the height, in lines of 72 characters", async () => {
  const page = await open(exported(runs()), { calm: true });
  const share = await proseShare(page);
  holds(share >= 0.6, `prose has ${share}`);
  const lines = await page.evaluate(() => [...document.querySelectorAll(".a .prose p")].flatMap((paragraph) => {
    const range = document.createRange(), [leaf] = paragraph.childNodes, lengths = new Map();
    for (let at = 0; at < leaf.data.length; at++) {
      range.setStart(leaf, at);
      range.setEnd(leaf, at + 1);
      const { top } = range.getBoundingClientRect();
      lengths.set(top, (lengths.get(top) ?? 0) + 1);
    }
    return [...lengths.values()];
  }));
  holds(Math.max(...lines) <= 72 && Math.max(...lines) > 60, `${lines}`);
  const sizes = await page.evaluate(() => [...new Set([...document.querySelectorAll("body *")].filter((e) => e.checkVisibility() && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())).map((e) => getComputedStyle(e).fontSize))]);
  holds(sizes.length <= 4, `${sizes}`);
  await clean(page);
});

for (const [scheme, width] of [["light", 1400], ["dark", 400]]) {
  await test(`calm: axe finds nothing (${scheme}, ${width})`, async () => {
    const page = await open(exported(runs()), { scheme, width, bypassCSP: true, calm: true });
    await page.locator(".workline").first().click();
    await page.waitForSelector(".unfold");
    same(await findings(page), [], "findings");
    await page.context().close();
  });
}

await test("keys of a single letter can be turned off", async () => {
  const page = await open(exported(session("keysoff", [line(0, -1, "a"), line(1, 0, "b")])), { calm: true });
  await page.keyboard.press("?");
  await page.uncheck("#single");
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  same(await chosen(page), "n0", "j does nothing");
  await page.click("#help");
  await page.check("#single");
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await waitFor(page, "n1");
  await clean(page);
});

await test("what is left out is said, and an attached session is saved to the byte", async () => {
  const short = await open(exported(runs(), "--no-tools", "--max-lines", "3"));
  holds((await short.locator("#facts").textContent()).endsWith("Left out: tool calls."), "what is left out");
  holds(await short.locator("#save").isHidden(), "nothing to save");
  same(await short.locator("article.t, .workline").count(), 0, "no tools");
  await clean(short);
  const path = session("attached", chain(user("größer"), says("ja ✓")));
  const page = await open(exported(path, "--attach"));
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#save").click()]);
  holds(readFileSync(await download.path()).equals(readFileSync(path)), "the bytes of the session");
  await clean(page);
});
