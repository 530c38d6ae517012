// How a user moves: keys, clicks, links, branches, the drawer, screen readers.

import { exported, findings, line, open, session, tour } from "./browser.mjs";
import { chosen, clean, holds, same, test, waitFor } from "./check.mjs";

await test("tour: click, link, back, back to the leaf, branches, keys", async () => {
  const page = await open(exported(tour));
  const chosen = () => page.locator("article.chosen").first().getAttribute("data-id");
  // The first click opens the branch.
  await page.click('.row[data-id="3ac9d7e4"]');
  await page.click('.row[data-id="3ac9d7e4"]');
  await page.waitForSelector('article.chosen[data-id="3ac9d7e4"]');
  same(new URL(page.url()).hash, "#3ac9d7e4", "address");
  holds(await page.locator('article[data-id="3de1b752"]').count() === 0, "the other branch is gone");
  await page.click('article.chosen .steps [aria-label="Next branch"]');
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
  await page.waitForSelector('article.chosen[data-id="2f5dc03e"]');
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
    await test(`tour: axe finds nothing (${scheme}, ${width})`, async () => {
      const page = await open(exported(tour), { scheme, width, bypassCSP: true });
      same(await findings(page), [], "findings");
      await page.evaluate(() => { location.hash = "3ac9d7e4"; });
      await page.waitForSelector("article.chosen");
      same(await findings(page), [], "findings");
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
  await page.focus("#text");
  await page.keyboard.press("n");
  await waitFor(page, next);
  await page.keyboard.press("p");
  await waitFor(page, found);
  await page.focus("#words");
  await page.keyboard.press("Escape");
  same(await focus(), "text", "out of the search");
  same([await page.inputValue("#words"), await page.locator(".row mark").count()], ["", 0], "which has ended");
  await page.keyboard.press("l");
  await waitFor(page, "2f5dc03e");
  holds(await page.isDisabled("#leaf"), "at the leaf there is no way back to it");
  await clean(page);
});

await test("rows fold and unfold", async () => {
  const page = await open(exported(session("folds", [line(0, -1, "root"), line(1, 0, "one"), line(2, 1, "two"), line(3, 0, "other"), line(4, 3, "end")])));
  const ids = () => page.evaluate(() => [...document.querySelectorAll(".row")].map((row) => row.dataset.id));
  same(await ids(), ["n0", "n1", "n2", "n3", "n4"], "rows");
  await page.keyboard.press("t");
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowLeft");
  same(await ids(), ["n0", "n1", "n3", "n4"], "folded");
  same(await page.getAttribute('.row[data-id="n1"]', "aria-expanded"), "false", "and said so");
  await page.keyboard.press("ArrowRight");
  same(await ids(), ["n0", "n1", "n2", "n3", "n4"], "unfolded");
  holds((await page.locator('.row[data-id="n1"] .extent').textContent()).startsWith("2 messages"), "a branch has its size");
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
  same(await chosen(page), "with space", "an unknown one leads to the beginning");
  same(await page.textContent("#toast"), "No message has the id nobody", "and is reported");
  await page.evaluate(() => { location.hash = "100%"; });
  await waitFor(page, "100%");
  await clean(page);
});

/** A session with short and long entries. */
const mixed = () => session("mixed", Array.from({ length: 60 }, (_, n) => line(n, n - 1, n % 3 ? `entry ${n}` : `entry ${n}\n\n${"a paragraph of some length. ".repeat(n)}`)));

await test("j goes through a whole session, and k back", async () => {
  const page = await open(exported(mixed()));
  const where = () => page.textContent("#where");
  for (let n = 1; n < 60; n++) {
    await page.keyboard.press("j");
    await page.waitForFunction((id) => document.querySelector("article.chosen")?.dataset.id === id, `n${n}`, { timeout: 3000 });
    holds((await where()).includes(`${n + 1} of 60`), `${n}: ${await where()}`);
    holds(await page.evaluate(() => {
      const article = document.querySelector("article.chosen").getBoundingClientRect(), view = document.getElementById("text").getBoundingClientRect();
      return article.top >= view.top - 1 && article.top < view.bottom;
    }), `n${n} is in view`);
  }
  await page.keyboard.press("j");
  await waitFor(page, "n59");
  for (let n = 58; n >= 0; n--) {
    await page.keyboard.press("k");
    await page.waitForFunction((id) => document.querySelector("article.chosen")?.dataset.id === id, `n${n}`, { timeout: 3000 });
  }
  await clean(page);
});

await test("the chosen entry follows the reader, and the way to the end leads there", async () => {
  const page = await open(exported(mixed()));
  same([await chosen(page), await page.isDisabled("#leaf")], ["n0", false], "at the beginning");
  for (let at = 0; at < 10; at++) await page.mouse.move(900, 500), await page.mouse.wheel(0, 700), await page.waitForTimeout(40);
  const top = await page.evaluate(() => document.elementFromPoint(800, document.getElementById("text").getBoundingClientRect().top + 20).closest("article").dataset.id);
  await waitFor(page, top);
  same(await page.locator(".row.chosen").getAttribute("data-id"), top, "the tree has followed");
  await page.click("#leaf");
  await waitFor(page, "n59");
  holds(await page.isDisabled("#leaf"), "at the end");
  holds(Number(await page.evaluate(() => getComputedStyle(document.getElementById("leaf")).opacity)) < 0.6, "which is visible");
  await clean(page);
});

await test("links with shortened ids lead there, unknown ones are reported, and the first Back restores the view", async () => {
  const path = exported(tour);
  const page = await open(path, { hash: "#648d" });
  await waitFor(page, "648dc1b3");
  await page.evaluate(() => { location.hash = "abcdef99"; });
  await page.waitForFunction(() => document.getElementById("toast")?.textContent === "No message has the id abcdef99");
  await clean(page);
  const fresh = await open(exported(mixed()));
  await fresh.mouse.move(900, 500);
  await fresh.mouse.wheel(0, 1500);
  // Scrolling takes its time. Heights above may still be estimates, so the place is that of the article in the view.
  await fresh.waitForFunction(() => {
    const { scrollTop } = document.getElementById("text"), isStill = scrollTop > 0 && scrollTop === window.before;
    window.before = scrollTop;
    return isStill;
  }, undefined, { polling: 250 });
  const before = await fresh.evaluate(() => {
    const article = document.querySelector("article.chosen");
    return [article.dataset.id, article.getBoundingClientRect().top];
  });
  await fresh.click("#leaf");
  await waitFor(fresh, "n59");
  await fresh.goBack();
  await waitFor(fresh, before[0]);
  // The text is laid out before it has its place again.
  await fresh.waitForFunction((top) => Math.abs(document.querySelector("article.chosen").getBoundingClientRect().top - top) < 3, before[1]);
  await clean(fresh);
});

await test("keys scroll without a click, and screen readers hear no lines of the tree", async () => {
  const page = await open(exported(mixed()));
  const top = () => page.evaluate(() => document.getElementById("text").scrollTop);
  let before = await top();
  for (const key of [" ", "PageDown", "ArrowDown"]) {
    await page.keyboard.press(key);
    await page.waitForTimeout(100);
    holds(await top() > before, key);
    before = await top();
  }
  await page.keyboard.press("PageUp");
  await page.waitForTimeout(100);
  holds(await top() < before, "PageUp");
  await clean(page);
  const tree = await open(exported(tour));
  same(await tree.locator(".row .bars:not([aria-hidden]), .row .twist:not([aria-hidden])").count(), 0, "lines and signs are silent");
  holds(await tree.locator(".row .bars[aria-hidden]").count() > 0, "there are some");
  await clean(tree);
  const narrow = await open(exported(tour), { width: 400 });
  await narrow.click("#drawer");
  await narrow.click('.row[data-id="27d4c96f"]');
  await waitFor(narrow, "27d4c96f");
  same(await narrow.getAttribute("#drawer", "aria-expanded"), "false", "the drawer says that it is closed");
  await clean(narrow);
});

await test("the way to the next branch stays in view beside a long list", async () => {
  const lines = [line(0, -1, "root"), ...Array.from({ length: 12 }, (_, n) => line(n + 1, 0, `branch ${n} `.repeat(30)))];
  const page = await open(exported(session("wide", lines)), { width: 1000, hash: "#n5" });
  await waitFor(page, "n5");
  await page.click("article.chosen .branches summary");
  await page.waitForFunction(() => document.querySelectorAll(".branches li a").length === 12);
  const box = await page.locator('article.chosen [aria-label="Next branch"]').boundingBox();
  holds(box.x + box.width < 1000, `at ${box.x}`);
  await clean(page);
});
