// How a user moves: keys, clicks, links, branches, the drawer, screen readers.

import { exported, line, open, serious, session, tour } from "./browser.mjs";
import { chosen, clean, holds, same, test, waitFor } from "./check.mjs";

await test("tour: click, link, back, back to the leaf, branches, keys", async () => {
  const page = await open(exported(tour));
  const chosen = () => page.locator("article.chosen").first().getAttribute("data-id");
  await page.click('.row[data-id="3ac9d7e4"]');
  await page.waitForSelector('article.chosen[data-id="3ac9d7e4"]');
  same(new URL(page.url()).hash, "#3ac9d7e4", "address");
  holds(await page.locator('article[data-id="3de1b752"]').count() === 0, "the other branch is gone");
  await page.click("article.chosen .steps button:last-child");
  await page.waitForFunction(() => document.querySelector("article.chosen")?.dataset.id !== "3ac9d7e4");
  await page.goBack();
  await page.waitForSelector('article.chosen[data-id="3ac9d7e4"]');
  await page.click("#leaf");
  await page.waitForSelector('article.chosen[data-id="2f5dc03e"]');
  await page.keyboard.press("Home");
  await page.waitForSelector('article.chosen[data-id="4f1c02a9"]');
  await page.keyboard.press("j");
  await page.waitForSelector('article.chosen[data-id="b7e3d510"]');
  await page.keyboard.press("k");
  await page.waitForSelector('article.chosen[data-id="4f1c02a9"]');
  await page.keyboard.press("t");
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector("article.chosen")?.dataset.id === "ee2b93f5" || document.querySelector("article.chosen")?.textContent.includes("529"));
  await page.keyboard.press("?");
  await page.waitForSelector("dialog[open]");
  await page.keyboard.press("Escape");
  await page.keyboard.press("/");
  same(await page.evaluate(() => document.activeElement.id), "words", "the search has the focus");
  holds(await chosen(), "an entry is chosen");
  await clean(page);
});

await test("tour: a link opens its entry, and thinking and folds open", async () => {
  const page = await open(exported(tour), { hash: "#c25f81e7" });
  await page.waitForSelector('article.chosen[data-id="c25f81e7"]');
  await page.keyboard.press("o");
  await page.waitForFunction(() => /Looks like a midnight problem/.test(document.querySelector("article.chosen").innerText));
  await page.click("#thinking");
  await page.waitForFunction(() => document.querySelector("details.thinking[open]"));
  await clean(page);
});

for (const scheme of ["light", "dark"]) {
  for (const width of [1300, 400]) {
    await test(`tour: axe finds nothing serious (${scheme}, ${width})`, async () => {
      const page = await open(exported(tour), { scheme, width, bypassCSP: true });
      same(await serious(page), [], "findings");
      await page.evaluate(() => { location.hash = "3ac9d7e4"; });
      await page.waitForSelector("article.chosen");
      same(await serious(page), [], "findings");
      await page.context().close();
    });
  }
}

await test("tour: at 400 pixels the tree is a drawer", async () => {
  const page = await open(exported(tour), { width: 400 });
  holds(!(await page.isVisible("#tree")), "closed at first");
  await page.click("#drawer");
  await page.waitForFunction(() => document.getElementById("side").getBoundingClientRect().left === 0);
  await page.click('.row[data-id="27d4c96f"]');
  await page.waitForSelector('article.chosen[data-id="27d4c96f"]');
  await page.waitForFunction(() => getComputedStyle(document.getElementById("side")).visibility === "hidden");
  holds(await page.evaluate(() => document.documentElement.scrollWidth <= 400), "nothing is wider than the screen");
  await clean(page);
});

await test("keys go all the way, without a pointer", async () => {
  const page = await open(exported(tour));
  const focus = () => page.evaluate(() => document.activeElement.id || document.activeElement.className);
  await page.keyboard.press("Tab");
  same(await focus(), "skip", "the first is the way past the tree");
  await page.keyboard.press("Enter");
  same(await focus(), "text", "and it leads to the text");
  await page.keyboard.press("t");
  same(await focus(), "tree", "the tree");
  const cursor = () => page.evaluate(() => document.getElementById(document.getElementById("tree").getAttribute("aria-activedescendant"))?.dataset.id);
  await page.keyboard.press("Home");
  const first = await cursor();
  await page.keyboard.press("ArrowDown");
  const second = await cursor();
  holds(first && second && first !== second, `${first}, ${second}`);
  await page.keyboard.press("ArrowUp");
  same(await cursor(), first, "up again");
  await page.keyboard.press("End");
  const last = await cursor();
  await page.keyboard.press("PageUp");
  holds(await cursor() !== last, "a page up");
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press(" ");
  await waitFor(page, second);
  same(await focus(), "tree", "the space bar shows an entry and stays");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement.matches("article"));
  same(await chosen(page), second, "Enter goes there");
  for (const tag of ["d", "D"]) await page.keyboard.press(tag); // Keys without a meaning.
  await page.keyboard.press("/");
  await page.keyboard.type("midnight");
  await page.waitForFunction(() => document.body.dataset.searched === "midnight");
  await page.keyboard.press("Enter");
  const found = await chosen(page);
  await page.keyboard.press("Enter");
  const next = await chosen(page);
  holds(found !== next, "the next match");
  await page.keyboard.press("Shift+Enter");
  await waitFor(page, found);
  await page.keyboard.press("Escape");
  same(await focus(), "text", "out of the search");
  await page.keyboard.press("n");
  await waitFor(page, next);
  await page.keyboard.press("p");
  await waitFor(page, found);
  await page.keyboard.press("l");
  await waitFor(page, "2f5dc03e");
  holds(await page.isDisabled("#leaf"), "at the leaf there is no way back to it");
  await page.keyboard.press("Control+f");
  same(await focus(), "words", "the page's own search");
  await clean(page);
});

await test("rows fold and unfold", async () => {
  const page = await open(exported(session("folds", [line(0, -1, "root"), line(1, 0, "one"), line(2, 1, "two"), line(3, 0, "other"), line(4, 3, "end")])));
  const ids = () => page.evaluate(() => [...document.querySelectorAll(".row")].map((row) => row.dataset.id));
  same(await ids(), ["n0", "n3", "n4", "n1", "n2"], "rows");
  await page.keyboard.press("t");
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowLeft");
  same(await ids(), ["n0", "n3", "n1", "n2"], "folded");
  same(await page.getAttribute('.row[data-id="n3"]', "aria-expanded"), "false", "and said so");
  await page.keyboard.press("ArrowRight");
  same(await ids(), ["n0", "n3", "n4", "n1", "n2"], "unfolded");
  holds((await page.locator('.row[data-id="n1"] .extent').textContent()).startsWith("2 entries"), "a branch has its size");
  await clean(page);
});

await test("a link leads to any id", async () => {
  const ids = ["with space", "100%", "a/b?c=d&e", "ünï-日本", "tree", "text", "%41", "<b>", "-dash", "__proto__"];
  const path = exported(session("ids", ids.map((id, n) => ({ type: "message", id, parentId: n ? ids[n - 1] : null, timestamp: "2026-03-14T09:26:45.589Z", message: { role: "user", content: `entry ${n}`, timestamp: 1 } }))));
  for (const [n, id] of ids.entries()) {
    const page = await open(path, { hash: `#${encodeURIComponent(id)}` });
    await waitFor(page, id);
    holds((await page.locator("article.chosen").innerText()).includes(`entry ${n}`), id);
    await clean(page);
  }
  const page = await open(path, { hash: "#nobody" });
  same(await chosen(page), "__proto__", "an unknown one leads to the leaf");
  await page.evaluate(() => { location.hash = "100%"; });
  await waitFor(page, "100%");
  await clean(page);
});
