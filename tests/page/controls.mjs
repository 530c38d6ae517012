// What a reader can set: how much is shown, the width of the tree, the size of images.

import { exported, findings, open, session } from "./browser.mjs";
import { clean, holds, same, test, waitFor } from "./check.mjs";
import { calls, chain, result, says, usage, user } from "./make.mjs";

const BARS = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const file = session("controls", chain(
  user([{ type: "text", text: "Look at this" }, { type: "image", mimeType: "image/png", data: BARS }]),
  says([{ type: "thinking", thinking: "deep thoughts" }, { type: "toolCall", id: "c", name: "bash", arguments: { command: "ls" } }], { stopReason: "toolUse" }),
  result("c", "bash", Array.from({ length: 60 }, (_, n) => `line ${n}`).join("\n")),
  { type: "custom_message", customType: "nudge", content: "a hidden nudge", display: false },
  { type: "compaction", summary: "what was done", firstKeptEntryId: "e1", tokensBefore: 9 },
  says("done", { usage: { ...usage(0.25), input: 1200, output: 340, cacheRead: 56, cacheWrite: 7 } }),
));

await test("expand all shows the work, thinking and folds, and collapse all hides them", async () => {
  const page = await open(exported(file), { calm: true });
  const shown = () => page.evaluate(() => document.getElementById("list").innerText);
  holds(!/deep thoughts|line 59|what was done/.test(await shown()), "closed at first");
  await page.click("#unfold");
  await page.waitForFunction(() => /deep thoughts[^]*line 59[^]*what was done/.test(document.getElementById("list").innerText));
  same(await page.textContent("#unfold"), "Collapse all", "the way back");
  await page.keyboard.press("x");
  await page.waitForFunction(() => !/deep thoughts|line 59|what was done/.test(document.getElementById("list").innerText));
  await page.keyboard.press("h");
  await page.waitForSelector("#thinking[aria-pressed=true]");
  await clean(page);
});

await test("a run opens to previews, and each to the full output", async () => {
  const page = await open(exported(file), { calm: true });
  await page.click(".workline");
  await page.waitForSelector(".unfold");
  same(await page.locator("article.t .more:visible").count(), 0, "a preview has one button");
  await page.click(".unfold");
  holds(/line 59/.test(await page.locator("article.t .output").innerText()), "the full output");
  await page.click(".unfold");
  holds((await page.locator("article.t .output").boundingBox()).height < 125, "and back");
  await clean(page);
});

await test("no text of the page uses the words of the file", async () => {
  const path = session("wordsofthefile", chain(user("a"), says("b"), { type: "leaf", targetId: "e0" }, calls("c", "bash", { command: "ls" }), result("c", "bash", "d"),
    { type: "label", targetId: "e0", label: "L" }, { type: "compaction", summary: "s", firstKeptEntryId: "e0", tokensBefore: 9 }, user("e"), { type: "custom", customType: "f", data: {} },
    { type: "message", id: "other", parentId: "e1", timestamp: "2026-03-14T09:26:45.589Z", ...user("g") }));
  for (const calm of [true, false]) {
    const page = await open(exported(path), { calm, hash: "#e7" });
    await waitFor(page, "e7");
    await page.selectOption("#filter", "all");
    await page.click("#help");
    const words = await page.evaluate(() => document.body.innerText + [...document.querySelectorAll("[aria-label], [title], [placeholder]")].map((found) => `\n${found.ariaLabel} ${found.title} ${found.placeholder}`).join(""));
    const found = /.{0,30}\b(lea(f|ves)|rows?|paths?)\b.{0,20}/i.exec(words);
    holds(!found, found?.[0]);
    await clean(page);
  }
});

await test("what the agent hides is shown on request", async () => {
  const page = await open(exported(file), { calm: true });
  same(await page.locator('article[data-id="e3"]').count(), 0, "hidden");
  await page.click("#aside");
  await page.waitForSelector('article[data-id="e3"]');
  holds(/a hidden nudge/.test(await page.locator('article[data-id="e3"]').innerText()), "shown");
  await clean(page);
});

await test("usage, id and buttons of a message appear when the pointer is on it", async () => {
  const page = await open(exported(file), { calm: true });
  const acts = page.locator('article[data-id="e5"] .acts');
  const opacity = () => acts.evaluate((found) => { for (let at = found, all = 1; ; at = at.parentElement) { all *= getComputedStyle(at).opacity; if (at.matches("article")) return all; } });
  same(await opacity(), 0, "not at first");
  await page.hover('article[data-id="e5"] .body');
  await page.waitForTimeout(300);
  same(await opacity(), 1, "on hover");
  same(await acts.locator(".cost").textContent(), "$0.25 · 1.3k in · 340 out", "usage");
  same(await acts.locator(".cost").getAttribute("title"), "Tokens: 1,200 sent, 56 read from the cache, 7 written to the cache, 340 received", "in full");
  same(await acts.locator("a").textContent(), "e5", "id");
  await clean(page);
});

await test("images open large, Escape closes them, and the focus returns", async () => {
  const page = await open(exported(file), { calm: true, bypassCSP: true });
  await page.locator(".enlarge").focus();
  await page.keyboard.press("Enter");
  await page.waitForSelector("#large[open] img");
  same(await page.evaluate(() => document.querySelector("#large img").naturalWidth), 1, "the image");
  same(await findings(page), [], "findings");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector("dialog[open]"));
  same(await page.evaluate(() => document.activeElement.className), "enlarge", "the focus");
  await page.click(".enlarge");
  await page.click("#large form button");
  holds(await page.isHidden("#large"), "closed by its button");
  await clean(page);
});

await test("the tree is resized by pointer and keys, and the width is not kept", async () => {
  const path = exported(file), page = await open(path, { calm: true });
  const width = () => page.evaluate(() => Math.round(document.getElementById("side").getBoundingClientRect().width));
  same(await width(), 390, "30 percent");
  const box = await page.locator("#edge").boundingBox();
  await page.mouse.move(box.x + 4, 400);
  await page.mouse.down();
  await page.mouse.move(320, 400, { steps: 4 });
  await page.mouse.up();
  same([await width(), await page.getAttribute("#edge", "aria-valuenow")], [320, "320"], "dragged");
  await page.focus("#edge");
  await page.keyboard.press("ArrowLeft");
  same(await width(), 300, "by a key");
  await page.keyboard.press("Home");
  same([await width(), await page.getAttribute("#edge", "aria-valuenow")], [240, "240"], "to its minimum");
  await page.keyboard.press("End");
  same([await width(), await page.getAttribute("#edge", "aria-valuenow")], [420, "420"], "to its maximum");
  await page.reload();
  await page.waitForSelector("html[data-ready]");
  same(await width(), 390, "as before");
  await clean(page);
});

await test("on a phone there is one button of 40 pixels, and rows are as high", async () => {
  const page = await open(exported(file), { calm: true, width: 400, touch: true });
  const sizes = await page.locator(".dots:visible").evaluateAll((all) => all.map((dots) => [dots.offsetWidth, dots.offsetHeight]));
  holds(sizes.length >= 3 && sizes.every(([width, height]) => width === 40 && height === 40), `${sizes}`);
  same(await page.locator(".acts:visible").count(), 0, "nothing else");
  await page.locator('article[data-id="e5"] .dots').click();
  holds(await page.locator('article[data-id="e5"] .acts').isVisible(), "it opens the others");
  holds(await page.evaluate(() => document.documentElement.scrollWidth <= 400), "nothing is wider than the screen");
  await page.click("#drawer");
  await page.waitForFunction(() => document.getElementById("side").getBoundingClientRect().left === 0);
  same(await page.locator(".row").first().evaluate((row) => row.offsetHeight), 40, "rows");
  await clean(page);
});
