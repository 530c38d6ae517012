// What the search finds, in which order, and what it shows if there is nothing.

import { exported, line, open, session } from "./browser.mjs";
import { chosen, clean, holds, same, test, waitFor } from "./check.mjs";
import { calls, chain, result, says, user } from "./make.mjs";

const look = async (page, words, wanted = words) => {
  await page.fill("#words", words);
  await page.waitForFunction((wanted) => document.body.dataset.searched === wanted, wanted);
};
const found = (page) => page.evaluate(() => [...document.querySelectorAll(".row")].map((row) => row.dataset.id));

await test("a phrase in quotes is found as it is, also over the end of a line", async () => {
  const page = await open(exported(session("phrases", [line(0, -1, "the late ferry"), line(1, 0, "a ferry that is late"), line(2, 1, "late\nferry"), line(3, 2, "a lateferry"), line(4, 3, "1-2 (late) [x]")])));
  await look(page, "late ferry");
  same(await found(page), ["n0", "n1", "n2", "n3"], "words in any order");
  await look(page, "");
  await look(page, '"Late  ferry"', "late ferry");
  same(await found(page), ["n0", "n2"], "the phrase");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => CSS.highlights.get("match")?.size > 0);
  await look(page, 'a "ferry that', "a ferry that");
  same(await found(page), ["n1"], "without its last quote");
  await look(page, "1-2 (late) [x]");
  same(await found(page), ["n4"], "signs are themselves");
  await clean(page);
});

await test("starts of words come first, then what was said, then tools", async () => {
  const page = await open(exported(session("ranks", chain(
    user("the catalogue"), calls("c", "bash", { command: "tail log" }), result("c", "bash", "log of today"), says("I read the log."), calls("d", "bash", { command: "ls" }), result("d", "bash", "catalogue"), user("a log, please"),
  ))));
  await look(page, "log");
  const order = [];
  for (let at = 0; at < 5; at++) {
    await page.keyboard.press("Enter");
    await page.waitForFunction((at) => document.getElementById("count").textContent.startsWith(`${at} of 5`), at + 1);
    order.push(await chosen(page));
  }
  same(order, ["e3", "e6", "e2", "e0", "e5"], "the order");
  await clean(page);
});

await test("a search without a result says so", async () => {
  const page = await open(exported(session("nothing", chain(user("one"), calls("c", "bash", { command: "ls" }), result("c", "bash", "two")))));
  await look(page, "zebra");
  same(await page.textContent("#count"), "No message contains “zebra”", "nothing");
  await page.selectOption("#filter", "user-only");
  await look(page, "two");
  same(await page.textContent("#count"), "No message in this view contains “two”; 1 other does", "something elsewhere");
  await look(page, "one");
  holds((await page.textContent("#count")).endsWith("1 message"), "one");
  await clean(page);
});
