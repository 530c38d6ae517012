// How entries are shown on the right, and what a user can do with them.

import { exported, line, open, pisess, session, tour } from "./browser.mjs";
import { clean, holds, same, style, test, waitFor } from "./check.mjs";
import { at, calls, chain, result, says, usage, user } from "./make.mjs";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const inner = (page, id) => page.locator(`article[data-id="${id}"]`).innerText();

await test("images are data of known types, decoded in view", async () => {
  const image = (mimeType, data = PIXEL) => ({ type: "image", mimeType, data });
  const many = Array.from({ length: 80 }, () => user([{ type: "text", text: "see\n\n".repeat(20) }, image("image/png")]));
  const page = await open(exported(session("images", chain(
    user([{ type: "text", text: "look" }, image("image/png"), image("image/svg+xml", "PHN2Zz4="), image("image/png", "not base64!")]),
    calls("c", "read", { path: "a.png" }), { message: { ...result("c", "read", "read it").message, content: [image("image/jpeg"), { type: "text", text: "a.png" }] } },
    user("![far](https://example.org/a.png)"), ...many,
  ))), { hash: "#e0" });
  await waitFor(page, "e0");
  await page.waitForFunction(() => [...document.querySelectorAll('article[data-id="e0"] img')].some((image) => image.naturalWidth === 1));
  same(await page.locator('article[data-id="e0"] img').count(), 1, "images of the first entry");
  holds((await page.locator('article[data-id="e0"] img').getAttribute("alt")).length > 3, "it has a text for who cannot see it");
  holds(/image\/svg\+xml/.test(await inner(page, "e0")), "what is not shown is named");
  same(await page.locator('article[data-id="e2"] figure').count(), 1, "the image of a tool");
  same(await page.locator('article[data-id="e3"] a[href="https://example.org/a.png"]').count(), 1, "a remote image is a link");
  holds(await page.locator("img").count() < 40, "others are not decoded");
  await clean(page);
});

await test("tools are shown as what they are", async () => {
  const page = await open(exported(session("tools", chain(
    user("go"),
    calls("c1", "bash", { command: "cargo test\necho done" }), result("c1", "bash", "one\n\u001b[31mtwo\u001b[0m\n\nCommand exited with code 7", { isError: true }),
    calls("c2", "read", { path: "/home/u/code/src/a.rs", offset: 41 }), result("c2", "read", "fn a() {}\nfn b() {}"),
    calls("c3", "edit", { path: "src/a.rs", oldText: "fn a() {}", newText: "fn c() {}" }), result("c3", "edit", "Successfully replaced"),
    calls("c4", "deploy", { to: "moon", count: 3 }), result("c4", "deploy", "gone"),
    { message: { role: "bashExecution", command: "ls", output: "a b", exitCode: 2, cancelled: false, truncated: false, timestamp: 1 } },
    calls("c5", "bash", { command: "sleep" }),
  ))), { hash: "#e0" });
  await waitFor(page, "e0");
  const facts = await page.evaluate(() => {
    const all = (id, selector) => [...document.querySelectorAll(`article[data-id="${id}"] ${selector}`)].map((found) => found.textContent);
    return {
      exit: all("e2", ".mark.bad"), command: all("e2", ".block:not(.output) code")[0], output: all("e2", ".output")[0], failed: document.querySelectorAll('article[data-id="e2"] .tool.failed').length,
      file: all("e4", ".subject"), gutter: all("e4", ".gutter"), gone: all("e6", "del").concat(all("e6", "ins")), other: all("e8", "summary"), user: all("e9", ".mark.bad"), open: all("e10", ".mark"),
      colours: CSS.highlights.get("w-1")?.size ?? 0, keywords: CSS.highlights.get("w-k")?.size ?? 0,
    };
  });
  same(facts.exit, ["exit 7"], "the exit code");
  holds(facts.command === "cargo test\necho done", `the command: ${facts.command}`);
  holds(/one\ntwo\n/.test(facts.output) && facts.failed === 1, `the output: ${facts.output}`);
  same(facts.file, ["src/a.rs:41"], "the file and its lines");
  same(facts.gutter, ["41\n42"], "numbers of its lines");
  same(facts.gone.map((text) => text.trim()), ["-fn a() {}", "+fn c() {}"], "the diff");
  same(facts.other, ["arguments"], "arguments of others are folded");
  same(facts.user, ["exit 2"], "a command of the user");
  same(facts.open, ["no result"], "a call without a result");
  holds(facts.colours === 1 && facts.keywords >= 2, `colours: ${facts.colours}, ${facts.keywords}`);
  holds(await page.locator(".row .mark.bad").count() >= 2, "failed rows are marked");
  await clean(page);
});

await test("compactions and summaries open; models and cost are shown where they change", async () => {
  const page = await open(exported(session("marks", chain(
    user("go"), says("a", { usage: usage(0.25) }), says("b"), says("c", { model: "two" }),
    { type: "compaction", summary: "## Goal\n\nAll of *it*", firstKeptEntryId: "e2", tokensBefore: 123456 },
    { type: "branch_summary", summary: "What was tried", fromId: "e1" },
    says("d", { stopReason: "aborted", errorMessage: "Request was aborted" }), says("e", { stopReason: "error", errorMessage: "overloaded" }),
  ))), { hash: "#e0" });
  await waitFor(page, "e0");
  const models = await page.evaluate(() => [...document.querySelectorAll("article .model")].map((model) => [model.closest("article").dataset.id, model.textContent]));
  same(models, [["e1", "one"], ["e3", "two"], ["e6", "one"]], "models");
  same(await page.locator("article .cost").allTextContents(), ["$0.25 · 1 in · 1 out", "1 in · 1 out", "1 in · 1 out", "1 in · 1 out", "1 in · 1 out"], "usage");
  holds(/Compacted at 123,456 tokens/.test(await inner(page, "e4")), "the compaction");
  holds(!/All of it/.test(await inner(page, "e4")), "closed");
  await page.click('article[data-id="e4"] summary');
  await page.waitForFunction(() => /All of it/.test(document.querySelector('article[data-id="e4"]').innerText));
  await page.click('article[data-id="e5"] summary');
  await page.waitForFunction(() => /What was tried/.test(document.querySelector('article[data-id="e5"]').innerText));
  holds(/aborted/.test(await inner(page, "e6")) && /overloaded/.test(await inner(page, "e7")), "how turns ended");
  same(await page.locator("article time[datetime]").count(), 8, "times");
  same(await style(page, ".row.c", "borderTopStyle", "::after"), "solid", "a compaction is a rule");
  await clean(page);
});

await test("edits and omissions are shown as the model sees them", async () => {
  const edit = (targetId, replacement) => ({ type: "context_edit", targetId, replacement });
  const file = session("edits", [
    ...chain(user("the first words"), says("a long answer"), user("go on"), edit("e0", { content: "other words" }), edit("e1", null), says("yes")),
    { type: "message", id: "b0", parentId: "e2", ...at(9), ...says("another branch") },
    { type: "label", id: "b1", parentId: "e5", ...at(10), targetId: "e0", label: "x" },
  ]);
  const page = await open(exported(file), { hash: "#e5" });
  await waitFor(page, "e5");
  holds(/other words/.test(await inner(page, "e0")) && !/the first words/.test(await inner(page, "e0")), "the replacement");
  await page.click('article[data-id="e0"] summary');
  await page.waitForFunction(() => /the first words/.test(document.querySelector('article[data-id="e0"]').innerText));
  holds(/No longer sent to the model/.test(await inner(page, "e1")) && /a long answer/.test(await inner(page, "e1")), "what is omitted");
  same(await page.locator(".row .mark").allTextContents(), ["edited", "omitted"], "marks in the tree");
  await page.evaluate(() => { location.hash = "b0"; });
  await waitFor(page, "b0");
  holds(/the first words/.test(await inner(page, "e0")) && !/No longer/.test(await inner(page, "e1")), "another branch has no edits");
  const markdown = pisess("export", file, "e5", "--as", "markdown", "-o", "-");
  holds(/an edit further down omits it/.test(markdown) && /other words/.test(markdown), "and so does Markdown");
  await clean(page);
});

await test("labels in effect are shown, in the tree and in the text", async () => {
  const label = (targetId, label) => ({ type: "label", targetId, label });
  const page = await open(exported(session("labels", chain(user("a"), user("b"), user("c"), label("e0", "first"), label("e1", "gone"), label("e0", "second"), label("e1", undefined), label("e2", "x".repeat(400))))), { hash: "#e0" });
  await waitFor(page, "e0");
  same(await page.locator("article .label").allTextContents().then((all) => all.map((text) => text.slice(0, 6))), ["second", "xxxxxx"], "in the text");
  same(await page.locator(".row .label").allTextContents().then((all) => all.map((text) => text.slice(0, 6))), ["second", "xxxxxx"], "in the tree");
  await page.fill("#words", "second");
  await page.waitForFunction(() => document.body.dataset.searched === "second");
  holds(await page.locator('.row[data-id="e0"]').count() === 1, "labels are found");
  await clean(page);
});

await test("an entry, a code block and a link are copied", async () => {
  const long = Array.from({ length: 1000 }, (_, n) => `line ${n}`).join("\n");
  const source = "two **words**\n\n3. and\n4. a list\n\n```js\nconst a = \"<b>\";\nlet b;\n```\n\n| a | b |\n| --- | --- |\n| 1 | 2 |";
  const page = await open(exported(session("copies", chain(
    user(source), calls("c", "read", { path: "a.txt" }), result("c", "read", long),
  ))), { hash: "#e0" });
  await waitFor(page, "e0");
  const copied = async (selector) => {
    await page.evaluate(() => { window.copied = null; });
    await page.locator(selector).first().click({ force: true });
    await page.waitForFunction(() => window.copied !== null);
    return page.evaluate(() => window.copied);
  };
  same(await copied('article[data-id="e0"] .acts button'), source, "an entry is copied as it was typed");
  same(await copied('article[data-id="e0"] .block .copy'), 'const a = "<b>";\nlet b;', "a block");
  same(await copied('article[data-id="e2"] .block .copy'), long, "all of a long one");
  const link = await copied('article[data-id="e2"] .acts button:last-child');
  same(link, `${page.url().replace(/#.*/, "")}#e2`, "a link");
  await page.goto("about:blank");
  await page.goto(link);
  await waitFor(page, "e2");
  await page.keyboard.press("y");
  same(await page.evaluate(() => window.copied), link, "by a key");
  await page.keyboard.press("c");
  await page.waitForFunction(() => /line 999/.test(window.copied));
  // If the browser refuses, the text is copied from a text area.
  await page.evaluate(() => {
    navigator.clipboard.writeText = async () => { throw new Error("refused"); };
    document.execCommand = () => { window.copied = document.activeElement.value; };
  });
  same(await copied('article[data-id="e2"] .acts button:last-child'), link, "without a clipboard");
  await clean(page);
});

await test("print has all of the path as it is open, and the screen comes back", async () => {
  const long = Array.from({ length: 3000 }, (_, n) => `output line ${n}`).join("\n");
  const page = await open(exported(session("print", chain(
    user("go"), says([{ type: "thinking", thinking: "deep thoughts" }, { type: "text", text: "done" }]), calls("c", "bash", { command: "ls" }), result("c", "bash", long),
    { type: "compaction", summary: "the summary", firstKeptEntryId: "e1", tokensBefore: 5 }, ...Array.from({ length: 100 }, (_, n) => user(`question ${n}`)),
  ))));
  await page.evaluate(() => { window.print = () => { window.printed = document.getElementById("list").innerText; }; document.getElementById("print").click(); });
  await page.waitForFunction(() => window.printed);
  for (const words of ["done", "output line 0", "question 99"]) holds(await page.evaluate((words) => window.printed.includes(words), words), words);
  for (const words of ["deep thoughts", "the summary", "output line 2999"]) holds(!(await page.evaluate((words) => window.printed.includes(words), words)), `${words} is folded`);
  await page.emulateMedia({ media: "print" });
  for (const id of ["side", "bar", "tools", "print-note"]) holds(!(await page.isVisible(`#${id}`)), `${id} is not printed`);
  holds(await page.evaluate(() => document.getElementById("text").scrollHeight <= document.getElementById("text").clientHeight + 1), "nothing scrolls");
  await page.emulateMedia({ media: "screen" });
  await page.evaluate(() => { dispatchEvent(new Event("afterprint")); });
  await page.waitForFunction(() => document.querySelectorAll("article").length < 80);
  holds(await page.isVisible("#side"), "the screen is back");
  await page.emulateMedia({ media: "print" });
  holds(await page.isVisible("#print-note"), "the browser's own print notes that it has a part");
  await clean(page);
});

await test("branches are stepped through in the text", async () => {
  const file = session("steps", [line(0, -1, "root"), line(1, 0, "one"), line(2, 0, "two"), line(3, 0, "three"), line(4, 2, "below two"), line(5, 3, "below three"), line(6, 5, "end")]);
  const page = await open(exported(file));
  const shown = () => page.evaluate(() => [...document.querySelectorAll("article")].map((article) => article.dataset.id));
  same(await shown(), ["n0", "n3", "n5", "n6"], "the path to the leaf");
  const box = page.locator('article[data-id="n3"] .branches');
  same(await box.locator("summary").textContent(), "Branch 3 of 3, continued", "where it is");
  await box.locator('button[aria-label="Previous branch"]').click();
  await waitFor(page, "n2");
  same(await shown(), ["n0", "n2", "n4"], "the branch before, to its newest leaf");
  await page.keyboard.press("[");
  await waitFor(page, "n1");
  holds(await page.isDisabled('article[data-id="n1"] button[aria-label="Previous branch"]'), "there is none before");
  await page.keyboard.press("]");
  await waitFor(page, "n2");
  await page.click('article[data-id="n2"] .branches summary');
  await page.waitForFunction(() => {
    const items = [...document.querySelectorAll('article[data-id="n2"] .branches li')];
    return items.length > 0 && items.every((item) => /message/.test(item.textContent));
  });
  same(await page.locator('article[data-id="n2"] .branches li').count(), 3, "all are listed");
  await page.click('article[data-id="n2"] .branches li:last-child a');
  await waitFor(page, "n3");
  same(await shown(), ["n0", "n3", "n5", "n6"], "from the list");
  await clean(page);
});

await test("a page without scripts is whole", async () => {
  const page = await open(exported(tour, "--static"), { script: false });
  const shown = await page.locator("article h2").count();
  holds(shown > 15, `${shown} entries`);
  holds((await page.locator("ins").count()) > 0 && (await page.locator("details").count()) > 0, "diffs and folds");
  await clean(page);
});

