// Texts: Markdown as readers expect it, and what newer agents store.

import { exported, open, session } from "./browser.mjs";
import { clean, holds, same, style, test, waitFor } from "./check.mjs";
import { calls, chain, result, says, usage, user } from "./make.mjs";

const inner = (page, id) => page.locator(`article[data-id="${id}"]`).innerText();

await test("tables do not break within words", async () => {
  const cells = "| configuration | reproducible | incompatibility |\n| --- | ---: | :---: |\n| internationalization | 12 | straightforwardness |";
  const wide = `| ${Array.from({ length: 14 }, (_, n) => `characteristically${n}`).join(" | ")} |\n|${" --- |".repeat(14)}\n`;
  for (const width of [1400, 400]) {
    const page = await open(exported(session("tables", chain(user("go"), says(cells), says(wide)))), { width });
    await waitFor(page, "e0");
    const heights = await page.evaluate(() => [...document.querySelectorAll(".prose th, .prose td")].map((cell) => cell.getBoundingClientRect().height));
    holds(heights.length === 20 && heights.every((height) => height < 40), `${width}: ${heights}`);
    same(await page.evaluate(() => [...document.querySelectorAll(".prose tr:nth-child(2) td")].map((cell) => cell.className)), ["", "right", "center"], "alignment");
    holds(await page.evaluate(() => document.getElementById("text").scrollWidth <= document.getElementById("text").clientWidth), "wide tables scroll by themselves");
    await clean(page);
  }
});

await test("what looks like HTML keeps its lines, and what agents enclose is folded", async () => {
  const page = await open(exported(session("html", chain(
    user("<plan>\n1. read\n   2. fix\n</plan>\n\nand then"),
    user('<file name="/home/u/code/a.rs">\nfn a() {}\n\n# not a heading\n</file>\nwhat is it?'),
    user('<skill name="tidy" location="/s/tidy/SKILL.md">\nReferences are relative to /s/tidy.\n\nBe tidy.\n</skill>\n\nthe kitchen'),
    { type: "compaction", summary: "## Goal\n\nAll\n\n<read-files>\na.rs\nb.rs\n</read-files>\n\n<modified-files>\nc.rs\n</modified-files>", firstKeptEntryId: "e1", tokensBefore: 9 },
  ))), { hash: "#e0" });
  await waitFor(page, "e0");
  same((await page.locator('article[data-id="e0"] .prose p').first().innerText()).split("\n"), ["<plan>", "1. read", "   2. fix", "</plan>"], "lines");
  same(await page.locator('article[data-id="e1"] summary').allTextContents(), ["File /home/u/code/a.rs"], "a file is folded");
  holds(/what is it\?/.test(await inner(page, "e1")) && !/not a heading/.test(await inner(page, "e1")), "the question is not");
  await page.click('article[data-id="e1"] summary');
  await page.waitForSelector('article[data-id="e1"] details .block');
  holds(/fn a\(\) \{\}\n\n# not a heading/.test(await inner(page, "e1")), "and opens as it was");
  same(await page.locator('article[data-id="e2"] summary').allTextContents(), ["Skill tidy"], "a skill is folded");
  holds(!/location/.test(await inner(page, "e2")) && /\/skill:tidy the kitchen/.test(await inner(page, "e2")), "it is what was typed");
  same(await page.locator('.row[data-id="e2"] .says').textContent(), "/skill:tidy the kitchen", "in the tree, too");
  await page.click('article[data-id="e3"] summary');
  await page.waitForSelector('article[data-id="e3"] details details');
  same(await page.locator('article[data-id="e3"] details details > summary').allTextContents(), ["2 files read", "1 file changed"], "lists of files");
  await clean(page);
});

await test("what a person typed is as it was typed, and folded when it is long", async () => {
  const typed = "why is __proto__ *gone*?\n# no heading\n\nError: x\n    at run (a.js:3)";
  const long = Array.from({ length: 100 }, (_, n) => `line ${n + 1}`).join("\n");
  const page = await open(exported(session("typed", chain(user(typed), user(long)))), { hash: "#e0" });
  await waitFor(page, "e0");
  same(await page.locator('article[data-id="e0"] .prose p').innerText(), "why is __proto__ *gone*?\n# no heading", "words");
  same(await page.locator('article[data-id="e0"] .block code').innerText(), "Error: x\n    at run (a.js:3)", "a stack trace");
  same(await page.locator('article[data-id="e0"] :is(em, strong, h3)').count(), 0, "marks");
  holds(!/line 25/.test(await inner(page, "e1")), "what follows is folded");
  await page.click('article[data-id="e1"] summary');
  await page.waitForFunction(() => /line 100/.test(document.querySelector('article[data-id="e1"]').innerText));
  await clean(page);
});

await test("addresses are links, emphasis beside CJK, and texts from right to left", async () => {
  const page = await open(exported(session("links", chain(
    user("see https://example.org/a_b?c=1&d=2, or `https://example.org/code`"), says("**注意：**この"), user("שלום עולם, this is Hebrew"),
  ))), { hash: "#e0" });
  await waitFor(page, "e0");
  same(await page.evaluate(() => [...document.querySelectorAll(".prose a")].map((link) => link.getAttribute("href"))), ["https://example.org/a_b?c=1&d=2"], "links");
  same(await page.locator('article[data-id="e1"] strong').allTextContents(), ["注意："], "emphasis");
  same([await style(page, 'article[data-id="e2"] p', "direction"), await style(page, 'article[data-id="e0"] p', "direction")], ["rtl", "ltr"], "directions");
  await clean(page);
});

await test("system prompts, nested calls and messages of extensions are shown", async () => {
  const page = await open(exported(session("newer", chain(
    { message: { role: "system", content: "You are kind.", sections: { rules: "Be brief.", gone: null }, toolsAdded: [{ name: "read", description: "reads" }, { name: "deploy" }], toolsRemoved: ["bash"], timestamp: 1 } },
    user("go"), calls("c", "code", { code: "x" }), { message: { ...result("c", "code", "done").message, nestedCalls: { calls: [{ name: "read", arguments: { path: "a.rs" } }, { name: "bash", arguments: { command: "ls" } }] } } },
    { type: "custom_message", customType: "plan-mode", content: "a plan", display: true },
    { type: "custom", customType: "todo-list", data: { a: 1 } },
  ))), { hash: "#e0" });
  await waitFor(page, "e0");
  same(await page.locator('article[data-id="e0"] summary').allTextContents(), ["Instructions", "Section rules", "Tools: read, deploy", "Tools removed: bash"], "the system prompt");
  holds(/Section gone removed/.test(await inner(page, "e0")), "a removed section");
  same(await page.locator('article[data-id="e3"] summary').allTextContents(), ["2 calls"], "nested calls");
  await page.click('article[data-id="e3"] summary');
  await page.waitForFunction(() => /a\.rs[^]*ls/.test(document.querySelector('article[data-id="e3"]').innerText));
  same(await page.locator('article[data-id="e4"] h2').textContent(), "plan-mode", "a message of an extension");
  same(await page.locator('article[data-id="e5"] h2').textContent(), "todo-list", "data of an extension");
  await clean(page);
});

await test("costs are sums of money", async () => {
  // As in the tests of `format_dollars`.
  const costs = [0.00001, 0.0099, 0.01, 0.01234, 0.125, 0.997, 12.3456];
  const page = await open(exported(session("money", chain(user("go"), ...costs.map((cost) => says("a", { usage: usage(cost) }))))), { hash: "#e0" });
  await waitFor(page, "e0");
  same(await page.locator("article .cost").allTextContents(), ["<$0.01", "<$0.01", "$0.01", "$0.01", "$0.12", "$1.00", "$12.35"].map((cost) => `${cost} · 1 in · 1 out`), "costs");
  await clean(page);
});

await test("without JavaScript, the prompts and answers of the path are there", async () => {
  const file = session("plain", [...chain(user("the **question**"), says([{ type: "thinking", thinking: "deep" }, { type: "text", text: "the **answer**\n\n<script>x" }]), calls("c", "bash", { command: "ls" }), result("c", "bash", "output of a tool"), says("the end")), { type: "message", id: "other", parentId: "e0", timestamp: "2026-03-14T09:26:45.589Z", ...user("another branch") }, { type: "label", id: "z", parentId: "e4", timestamp: "2026-03-14T09:30:45.589Z", targetId: "e0", label: "x" }]);
  const page = await open(exported(file), { script: false, javaScript: false });
  const shown = await page.locator("body").innerText();
  for (const words of ["the **question**", "the answer", "<script>x", "the end"]) holds(shown.includes(words), `${words}: ${shown}`);
  for (const words of ["deep", "output of a tool", "another branch", "To the end"]) holds(!shown.includes(words), words);
  same(await page.locator("strong").count(), 1, "as Markdown");
  await page.context().close();
});
