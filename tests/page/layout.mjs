// Where things are on the page, and how wide they are.

import { exported, findings, line, open, session, tour } from "./browser.mjs";
import { clean, holds, same, style, test, waitFor } from "./check.mjs";
import { calls, chain, result, says, usage, user } from "./make.mjs";

const code = `\`\`\`js\nconst a = "${"long ".repeat(60)}";\n\`\`\``;
const answer = says(`${"The service day ends at four. ".repeat(20)}\n\n${code}\n\nAnd so on.`);
const columns = session("columns", chain(user("go"), answer, calls("c", "bash", { command: "ls" }), result("c", "bash", "x ".repeat(400)), user("stop")));

/** Returns the left edge, the width and the center of an element. */
const boxOf = (page, selector) => page.evaluate((selector) => {
  const box = document.querySelector(selector).getBoundingClientRect();
  return { left: box.left, width: box.width, center: box.left + box.width / 2 };
}, selector);

for (const width of [1000, 1280, 2560]) {
  await test(`prose is in the middle, and code may be wider (${width})`, async () => {
    const page = await open(exported(columns), { width, calm: true });
    const text = await boxOf(page, "#text"), prose = await boxOf(page, ".a .prose p"), block = await boxOf(page, ".a .prose .block");
    const zero = await page.evaluate(() => {
      const probe = document.querySelector(".a .prose p").appendChild(document.createElement("span"));
      probe.textContent = "0".repeat(10);
      return probe.getBoundingClientRect().width / 10;
    });
    holds(prose.width <= 68 * zero, `${prose.width / zero} ch`);
    holds(Math.abs(prose.center - text.center) < 30, `prose at ${prose.center}, view at ${text.center}`);
    holds(Math.abs(block.center - text.center) < 10 && block.left >= text.left, `code at ${block.center}`);
    holds(block.width >= Math.min(820, text.width - 50), `code is ${block.width} wide`);
    same(await page.evaluate(() => document.getElementById("text").scrollWidth <= document.getElementById("text").clientWidth), true, "nothing is beyond the view");
    await clean(page);
  });
}

await test("the tree is from 240 to 420 pixels wide, and the facts are beside the heading", async () => {
  for (const [width, wanted] of [[770, 240], [1300, 390], [2560, 420]]) {
    const page = await open(exported(tour), { width, calm: true });
    same((await boxOf(page, "#side")).width, wanted, `at ${width}`);
    if (width >= 1300) {
      const facts = await page.locator("#facts").boundingBox(), heading = await page.locator("#title").boundingBox();
      holds(facts.y < heading.y + heading.height && facts.x > heading.x + heading.width, "beside the heading");
    }
    await clean(page);
  }
});

const lines = (count) => Array.from({ length: count }, (_, n) => `line ${n}`).join("\n");
const previews = session("previews", chain(
  user("go"), calls("c", "bash", { command: "ls" }), result("c", "bash", lines(100)),
  calls("d", "read", { path: "a.js" }), result("d", "read", lines(7)), calls("e", "bash", { command: "ls" }), result("e", "bash", lines(6)),
  calls("f", "bash", { command: "ls" }), result("f", "bash", "word ".repeat(400)), calls("g", "read", { path: "b.js" }), result("g", "read", lines(6000)),
));

await test("a preview ends with a whole line, and its button has the number of the others", async () => {
  const page = await open(exported(previews), { calm: true });
  await page.selectOption("#level", "previews");
  await page.waitForSelector('article[data-id="e10"] .unfold');
  const buttons = await page.evaluate(() => [...document.querySelectorAll("article.t")].map((article) => article.querySelector(".unfold")?.textContent ?? ""));
  same(buttons, ["Show 94 more lines", "Show 1 more line", "", "Show 1 more line", "Show 5,994 more lines"], "labels");
  const ends = await page.evaluate(() => [...document.querySelectorAll(".block.cut")].map((block) => {
    const style = getComputedStyle(block);
    return (block.clientHeight - parseFloat(style.paddingTop)) / parseFloat(style.lineHeight);
  }));
  holds(ends.length === 4 && ends.every((count) => Math.abs(count - 6) < 0.05), `lines: ${ends}`);
  same(await page.evaluate(() => getComputedStyle(document.querySelector('article[data-id="e6"] .block'), "::after").content), "none", "no fade where nothing is cut");
  await page.click('article[data-id="e2"] .unfold');
  holds(await page.getByText("line 99").first().isVisible(), "all lines");
  same(await page.textContent('article[data-id="e2"] .unfold'), "Show less", "and back");
  await page.selectOption("#level", "all");
  await page.waitForSelector(".all");
  await page.evaluate(() => { location.hash = "e10"; });
  await page.waitForSelector('article[data-id="e10"].chosen');
  holds(/^Show \d+ of [\d,]+ more lines$|^Show [\d,]+ more lines$/.test(await page.textContent('article[data-id="e10"] .block > .more:last-of-type')), "later sections have their numbers, too");
  await clean(page);
});

const BARS = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

await test("images are in one row, and open in their own size", async () => {
  const image = { type: "image", mimeType: "image/png", data: BARS };
  const page = await open(exported(session("rows", chain(user([{ type: "text", text: "look" }, image, image, image]), user([image])))), { calm: true, bypassCSP: true });
  await page.waitForFunction(() => document.querySelectorAll(".images img").length === 4);
  same(await page.evaluate(() => [...document.querySelectorAll(".images")].map((row) => row.children.length)), [3, 1], "a row for each message");
  const tops = await page.evaluate(() => [...document.querySelectorAll(".images")[0].children].map((figure) => figure.offsetTop));
  same(new Set(tops).size, 1, "side by side");
  same(await page.evaluate(() => getComputedStyle(document.querySelector(".images img")).maxHeight), "240px", "at most so high");
  await page.click(".enlarge");
  await page.click("#image .zoom");
  same(await page.getAttribute("#image .zoom", "aria-pressed"), "true", "its own size");
  same(await page.evaluate(() => document.querySelector("#image img").getBoundingClientRect().width), 1, "in pixels");
  same(await findings(page), [], "findings");
  await page.keyboard.press("Enter");
  same(await page.getAttribute("#image .zoom", "aria-pressed"), "false", "and back");
  await page.context().close();
});

await test("a page without scripts has images in one row, too", async () => {
  const image = { type: "image", mimeType: "image/png", data: BARS };
  const file = session("staticrows", chain(user([{ type: "text", text: "look" }, image, image, image]), calls("c", "read", { path: "a.png" }), { message: { ...result("c", "read", "x").message, content: [image, { type: "text", text: "a.png" }] } }));
  for (const width of [1280, 390]) {
    const page = await open(exported(file, "--static"), { script: false, width, bypassCSP: true });
    same(await page.evaluate(() => [...document.querySelectorAll(".images")].map((row) => row.children.length)), [3, 1], "rows");
    const tops = await page.evaluate(() => [...document.querySelectorAll(".images")[0].children].map((figure) => figure.offsetTop));
    same(new Set(tops).size, 1, "side by side");
    same(await style(page, ".images img", "maxHeight"), "240px", "at most so high");
    same(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, "nothing is wider than the screen");
    same(await findings(page), [], "findings");
    await page.context().close();
  }
});

await test("tasks have boxes and no bullets, and a session without messages says so", async () => {
  const page = await open(exported(session("tasks", chain(user("go"), says("- [ ] one\n- [x] two\n- three\n\nand\n\n- [ ] apart\n\n- [x] from each other")))));
  same(await page.evaluate(() => [...document.querySelectorAll(".prose li")].map((item) => getComputedStyle(item).listStyleType)), ["none", "none", "disc", "none", "none"], "bullets");
  await clean(page);
  const empty = await open(exported(session("empty", [])));
  same(await empty.textContent("#nothing"), "This session has no messages.", "it says so");
  holds(await empty.isVisible("#nothing"), "visibly");
  await clean(empty);
});

await test("the address follows the reader, and a sign beside each prompt leads to it", async () => {
  const file = session("address", Array.from({ length: 30 }, (_, n) => line(n, n - 1, `entry ${n}\n\n${"words ".repeat(300)}`)));
  const page = await open(exported(file), { calm: true });
  same(new URL(page.url()).hash, "", "at first there is none");
  await page.mouse.move(700, 500);
  for (let at = 0; at < 5; at++) await page.mouse.wheel(0, 700), await page.waitForTimeout(50);
  await page.waitForFunction(() => location.hash === `#${document.querySelector("article.chosen").dataset.id}` && location.hash !== "#n0");
  const length = await page.evaluate(() => history.length);
  await page.keyboard.press("j");
  await page.waitForFunction(() => location.hash === `#${document.querySelector("article.chosen").dataset.id}`);
  same(await page.evaluate(() => history.length), length, "the way back is as short as before");
  same(await page.locator("article.u .place").first().getAttribute("href"), "#n0", "the sign of a prompt");
  same(await page.evaluate(() => getComputedStyle(document.querySelector("article.u .place"), "::before").content), '"#" / ""', "the style draws it");
  same(await page.getByRole("link", { name: "Link to this prompt" }).first().getAttribute("href"), "#n0", "screen readers name the link");
  await page.evaluate(() => document.querySelector('article[data-id="n0"] .place').click());
  await waitFor(page, "n0");
  same(new URL(page.url()).hash, "#n0", "and where it leads");
  await clean(page);
});

await test("keys for branches say why they lead nowhere", async () => {
  const page = await open(exported(session("nowhere", [line(0, -1, "root"), line(1, 0, "one"), line(2, 0, "two"), line(3, 2, "end")])));
  await page.keyboard.press("]");
  await page.waitForFunction(() => document.getElementById("toast")?.textContent === "The conversation does not branch above this message");
  await page.keyboard.press("End");
  await waitFor(page, "n3");
  await page.keyboard.press("]");
  await page.waitForFunction(() => document.getElementById("toast")?.textContent === "This is the last of 2 branches");
  await clean(page);
});

await test("what appears under the pointer takes no line of its own", async () => {
  const spent = { usage: { ...usage(0.0042), input: 98765, output: 4321 }, model: "a-model-with-a-rather-long-name" };
  const page = await open(exported(session("acts", chain(user("go"), says("one", spent), user("on"), says("two", spent)))), { width: 1300, calm: true });
  const heads = await page.evaluate(() => [...document.querySelectorAll(".a > header")].map((head) => [head.offsetHeight, head.scrollWidth <= head.clientWidth]));
  same(heads.length, 2, "answers");
  for (const [height, fits] of heads) holds(height < 30 && fits, `height ${height}, fits: ${fits}`);
  await clean(page);
});

for (const width of [1000, 1280, 2560]) {
  await test(`what appears under the pointer covers no words of an answer that goes on (${width})`, async () => {
    const spent = { usage: { ...usage(0.0042), input: 98765, output: 4321 } };
    const goesOn = chain(user("go"), says("one", spent), calls("c", "bash", { command: "ls" }), result("c", "bash", "x"), says("two ".repeat(200), spent));
    const page = await open(exported(session("goeson", goesOn)), { width, calm: true });
    await page.hover(".follows .prose");
    await page.waitForFunction(() => getComputedStyle(document.querySelector(".follows > header")).opacity === "1");
    const head = await page.locator(".follows > header").boundingBox(), words = await page.locator(".follows .prose p").boundingBox();
    const view = await page.locator("#text").boundingBox();
    holds(head.y + head.height <= words.y + 2 || head.x >= words.x + words.width, `the heading at ${JSON.stringify(head)}, the words at ${JSON.stringify(words)}`);
    holds(head.x + head.width <= view.x + view.width, `the heading ends at ${head.x + head.width}, the view at ${view.x + view.width}`);
    await clean(page);
  });
}

await test("what appears under the pointer does not cover a date", async () => {
  const later = { timestamp: "2026-03-15T09:26:45.589Z" };
  const page = await open(exported(session("dates", [...chain(user("go"), says("a")), { type: "compaction", id: "x", parentId: "e1", ...later, summary: "s", firstKeptEntryId: "e0", tokensBefore: 9 }])), { width: 800, calm: true });
  await page.hover('article[data-id="x"] .body');
  const date = await page.locator('article[data-id="x"] .day').boundingBox(), head = await page.locator('article[data-id="x"] > header').boundingBox();
  holds(head.y >= date.y + date.height - 2, `the date ends at ${date.y + date.height}, the heading begins at ${head.y}`);
  await clean(page);
});

await test("a diff has its counts, and the numbers of its lines are not copied", async () => {
  const diff = "   ...\n 41 let a = 1;\n-42 let b = read(file);\n+42 let b = write(file);\n 43 let c;";
  const edit = result("c", "edit", "Done.", { details: { diff } });
  const page = await open(exported(session("diffs", chain(user("go"), calls("c", "edit", { path: "a.js", oldText: "x", newText: "y" }), edit))), { hash: "#e2" });
  await waitFor(page, "e2");
  const block = page.locator('article[data-id="e2"] .diff');
  same(await block.getAttribute("data-counts"), "+1 −1", "the counts");
  same(await block.locator("code").textContent(), "   ...\n let a = 1;\n-let b = read(file);\n+let b = write(file);\n let c;\n", "the text");
  same(await block.locator(".number").evaluateAll((all) => all.map((number) => getComputedStyle(number, "::before").content)), ['"41"', '"42"', '"42"', '"43"'], "the numbers");
  same(await block.locator(".changed").allTextContents(), ["read", "write"], "the words that differ");
  holds(await page.evaluate(() => CSS.highlights.get("w-k")?.size) >= 4, "the colours");
  await block.locator(".copy").click({ force: true });
  await page.waitForFunction(() => window.copied);
  holds(!/4[123]/.test(await page.evaluate(() => window.copied)), "what is copied");
  await clean(page);
});
