// Turns: who speaks, what a turn did and cost, the index of prompts, the heading, and the words of all these.

import { exported, findings, open, rows, session, tour } from "./browser.mjs";
import { clean, holds, same, test, waitFor } from "./check.mjs";
import { calls, chain, result, says, usage, user } from "./make.mjs";

const minutes = (entry, minute) => ({ ...entry, timestamp: new Date(Date.UTC(2026, 10, 2, 9, minute)).toISOString() });
const priced = { usage: usage(0.42) };

/** Two turns with idle time, a rewritten file, a failed command and a commit; then only settings. */
const file = session("turns", chain(
  minutes(user("Fix the **clock**"), 0),
  minutes(calls("c1", "read", { path: "/home/u/code/src/main.ts" }), 1), minutes(result("c1", "read", "x"), 2),
  minutes(calls("c2", "read", { path: "src/tui.ts", offset: 3, limit: 9 }), 2), minutes(result("c2", "read", "x"), 2),
  minutes(calls("c3", "edit", { path: "src/agent.ts", oldText: "a\nb", newText: "a\nc\nd" }), 3), minutes(result("c3", "edit", "ok"), 4),
  minutes(calls("c4", "bash", { command: "cd /home/u/code && npm run check" }), 5), minutes(result("c4", "bash", "no\n\nCommand exited with code 1", { isError: true }), 6),
  minutes(says("It is fixed.", priced), 8),
  minutes(user("Now commit"), 100),
  minutes(calls("c5", "bash", { command: "git commit -am x" }), 101), minutes(result("c5", "bash", "[main 1a2b3c4] clock: read once\n 1 file changed"), 161),
  minutes(says("Committed.", priced), 166),
  minutes({ type: "thinking_level_change", thinkingLevel: "high" }, 167),
));

await test("each turn has a speaker, and a foot that sums it up", async () => {
  const page = await open(exported(file), { calm: true });
  same(await page.locator(".turnfoot").allTextContents(), ["4 tools · 1 file +2 −1 · 8 min · $0.42", "1 tool · 1 h 6 min · $0.42"], "feet");
  same(await page.locator(".speaker").allTextContents(), ["Assistant", "Assistant"], "speakers");
  const order = await page.evaluate(() => [...document.querySelectorAll(".entry.u h2, .workline, .entry.a .prose, .turnfoot")].map((found) => found.textContent.slice(0, 9)));
  same(order, ["User", "Assistant", "It is fix", "4 tools ·", "User", "Assistant", "Committed", "1 tool · "], "order");
  await clean(page);
  const full = await open(exported(file));
  const headings = await full.evaluate(() => [...document.querySelectorAll(".u > header > h2, .a > header > h2")].filter((found) => found.checkVisibility()).map((found) => found.textContent));
  same(headings, ["User", "Assistant", "User", "Assistant"], "with tools in full");
  await clean(full);
});

/** Returns the lines of the runs: the sign that the style draws, and the parts. */
const workLines = (page) => page.evaluate(() => [...document.querySelectorAll(".workline")].map((line) => {
  const sign = getComputedStyle(line, "::before").content;
  return [sign, ...[...line.children].map((part) => part.textContent)].join("|");
}));

await test("the line of a run names what was done", async () => {
  const page = await open(exported(file), { calm: true });
  const lines = () => workLines(page);
  same((await lines())[0], '"▸" / ""|Assistant|Read|main.ts, tui.ts · Edited agent.ts +2 −1 · Ran npm run check ✗ exit 1|1 failed', "a run");
  same((await lines())[1], '"▸" / ""|Assistant|Ran|git commit -am x', "a single tool");
  await page.locator(".workline").first().click();
  await page.waitForSelector('.workline[aria-expanded="true"]');
  same((await lines())[0], '"▾" / ""|Assistant|Read|main.ts, tui.ts · Edited agent.ts +2 −1 · Ran npm run check ✗ exit 1|1 failed', "open");
  const many = Array.from({ length: 6 }, (_, n) => [calls(`r${n}`, "read", { path: `f${n}.rs` }), result(`r${n}`, "read", "x")]).flat();
  const other = [calls("o", "deploy", { to: "moon" }), result("o", "deploy", "x"), calls("w", "write", { path: "new.rs", content: "a\nb\n" }), result("w", "write", "ok")];
  const failed = [says("now"), calls("f", "edit", { path: "f1.rs", oldText: "a", newText: "b" }), result("f", "edit", "no such text", { isError: true })];
  const second = await open(exported(session("deeds", chain(user("go"), ...many, ...other, ...failed))), { calm: true });
  same(await workLines(second),
    ['"▸" / ""|Assistant|Read|f0.rs, f1.rs, f2.rs and 3 more · deploy moon · Wrote new.rs +2', '"▸" / ""|Edited|f1.rs|✗'], "others");
  await clean(second);
  await clean(page);
});

await test("the facts are those of stats", async () => {
  const page = await open(exported(file), { calm: true });
  const [stats] = rows("stats", "--json", file);
  same([stats.seconds, stats.userMessages, stats.toolCalls, stats.files], [74 * 60, 2, 5, 1], "stats");
  same(await page.textContent("#facts"), "2 prompts · 5 tools · 1 h 14 min of work, over 2 h 46 min · 14 tokens · $0.84", "facts");
  await clean(page);
  const [other] = rows("stats", "--json", tour);
  const second = await open(exported(tour), { calm: true });
  const facts = await second.textContent("#facts");
  for (const fact of [`${other.userMessages} prompts`, `${other.toolCalls} tools`, `${Math.floor(other.seconds / 60)} min of work`]) holds(facts.includes(fact), `${fact}: ${facts}`);
  await clean(second);
});

await test("one counter says which turn is read, and opens the index of prompts with their commits", async () => {
  const page = await open(exported(file), { calm: true, bypassCSP: true });
  same(await page.textContent("#where"), "Turn 1 of 2", "at first");
  await page.keyboard.press("i");
  await page.waitForFunction(() => document.querySelectorAll("#prompt-list li > a").length === 2 && !document.getElementById("prompt-list").textContent.includes("…"));
  same(await page.evaluate(() => [...document.querySelectorAll("#prompt-list li")].map((item) => [...item.children].map((part) => part.textContent))),
    [["Fix the clock", "4 tools · 1 file +2 −1 · 8 min · $0.42"], ["Now commit", "1 tool · 1 h 6 min · $0.42", "1a2b3c4 clock: read once"]], "items");
  same(await page.evaluate(() => document.activeElement.textContent), "Fix the clock", "the focus is on the one that is read");
  same(await findings(page), [], "findings");
  await page.locator("#prompt-list li > a").last().click();
  await waitFor(page, "e10");
  holds(await page.isHidden("#prompts"), "the index is closed");
  same(await page.textContent("#where"), "Turn 2 of 2", "at the second");
  await page.click("#where");
  await page.click(".commit a");
  await waitFor(page, "e12");
  holds(/1 file changed/.test(await page.locator("article.chosen").innerText()), "a commit leads to its command");
  await page.context().close();
});

await test("the latest is what was said last", async () => {
  for (const calm of [true, false]) {
    const page = await open(exported(file), { calm });
    await page.keyboard.press("l");
    await waitFor(page, "e13");
    holds(await page.isDisabled("#leaf"), "there is nothing later");
    await page.keyboard.press("Home");
    await waitFor(page, "e0");
    await page.click("#leaf");
    await waitFor(page, "e13");
    await clean(page);
  }
});

await test("the heading is the name or the first prompt, and a menu has the other facts", async () => {
  const page = await open(exported(file), { calm: true, bypassCSP: true });
  same(await page.textContent("#title"), "Fix the clock", "heading");
  same(await page.textContent("#about"), "code · Nov 2, 2026 · one", "project, date, model");
  same(await page.evaluate(() => getComputedStyle(document.getElementById("title")).fontSize), "18px", "size");
  await page.click("#menu");
  const about = await page.evaluate(() => Object.fromEntries([...document.querySelectorAll("#about-list dt")].map((name) => [name.textContent, name.nextElementSibling.firstChild.textContent])));
  holds(/^pisess \d+\.\d+\.\d+/.test(about["Exported by"]), about["Exported by"]);
  delete about["Exported by"];
  same(about, { Counts: await page.textContent("#facts"), Id: "id-turns", File: "turns.jsonl", Directory: "/home/u/code", Agent: "pi", Branches: "1", Compactions: "0", Continue: "cd /home/u/code && pi --session id-turns" }, "facts");
  same(await findings(page), [], "findings");
  await page.click("#about-list button");
  same(await page.evaluate(() => window.copied), "cd /home/u/code && pi --session id-turns", "the command is copied");
  await page.keyboard.press("Escape");
  holds(await page.isHidden("#session"), "closed");
  await page.context().close();

  const long = `Please ${"look at this and that ".repeat(40)}`;
  const named = await open(exported(session("named", chain(user(long), says("yes"), { type: "session_info", name: "Clock" }))), { calm: true });
  same(await named.textContent("#title"), "Clock", "the name");
  await clean(named);
  const unnamed = await open(exported(session("unnamed", chain(user(long), says("yes")))), { calm: true, width: 400 });
  const height = await unnamed.evaluate(() => document.getElementById("title").getBoundingClientRect().height);
  holds(height > 30 && height < 50, `two lines: ${height}`);
  holds(await unnamed.evaluate(() => document.getElementById("top").scrollWidth <= 400), "nothing is wider than the screen");
  await clean(unnamed);
});

await test("branches and compactions of the menu are those of the session", async () => {
  const page = await open(exported(tour), { calm: true });
  await page.click("#menu");
  const fact = (name) => page.evaluate((name) => [...document.querySelectorAll("#about-list dt")].find((dt) => dt.textContent === name).nextElementSibling.textContent, name);
  same(await fact("Branches"), `${rows("branches", "--json", tour).length}`, "branches");
  same(await fact("Compactions"), `${rows("tree", "--json", "--filter", "all", tour).filter(({ type }) => type === "compaction").length}`, "compactions");
  await clean(page);
});

await test("a summary of a branch shows the first line of its goal, and a triangle", async () => {
  const summary = "The user explored a different conversation branch before returning here.\nSummary of that exploration:\n\n## Goal\nMake the **clock** right\nand more\n\n## Next\n- nothing";
  const path = session("goal", chain(user("go"), { type: "branch_summary", fromId: "e0", summary }, says("done")));
  const page = await open(exported(path), { calm: true });
  const fold = page.locator('article[data-id="e1"] .divider');
  same(await fold.locator("summary").textContent(), "Branch left: Make the clock right", "goal");
  const triangle = () => page.evaluate(() => getComputedStyle(document.querySelector(".divider > summary"), "::before").content.slice(0, 3));
  same(await triangle(), '"▸"', "closed");
  await fold.locator("summary").click();
  await page.waitForSelector(".divider[open]");
  same(await triangle(), '"▾"', "open");
  await clean(page);
});

await test("controls are named by what they show", async () => {
  const page = await open(exported(file), { calm: true });
  same(await page.locator("#level option").allTextContents(), ["Tools: names", "Tools: previews", "Tools: full"], "tools");
  same(await page.textContent("#aside"), "Show settings", "settings");
  same(await page.locator("#filter option").allTextContents(), ["Conversation", "Without tools", "Prompts", "Labelled", "Everything"], "filter");
  same(await page.textContent("#leaf"), "Latest", "the end");
  await clean(page);
});
