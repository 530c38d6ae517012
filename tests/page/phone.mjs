// A narrow screen, and paper.

import { exported, findings, line, open, session, tour } from "./browser.mjs";
import { clean, holds, same, test, waitFor } from "./check.mjs";
import { runs } from "./prose.mjs";
import { calls, chain, result, says, user } from "./make.mjs";

const long = () => session("long", Array.from({ length: 30 }, (_, n) => line(n, n - 1, `entry ${n}\n\n${"words ".repeat(120)}`)));
const barTop = (page) => page.evaluate(() => Math.round(document.getElementById("top").getBoundingClientRect().top));
const scrollBy = async (page, pixels) => {
  await page.evaluate((pixels) => document.getElementById("text").scrollBy(0, pixels), pixels);
  await page.waitForTimeout(400);
};

await test("a phone has one bar of 52 pixels, which hides while scrolling down", async () => {
  const page = await open(exported(long()), { calm: true, width: 390, height: 800, touch: true });
  same(await page.evaluate(() => document.getElementById("top").offsetHeight), 52, "its height");
  const first = await page.locator("article").first().boundingBox();
  holds(first.y >= 52 && first.y < 80, `the first message is below it: ${first.y}`);
  same(await page.locator("#bar:visible").count(), 0, "there is no other bar");
  await scrollBy(page, 400);
  await scrollBy(page, 100);
  same(await barTop(page), -53, "hidden");
  await scrollBy(page, -100);
  same(await barTop(page), 0, "shown while scrolling up");
  await page.evaluate(() => { location.hash = "n9"; });
  await waitFor(page, "n9");
  await page.waitForTimeout(400);
  same(await barTop(page), -53, "it covers no message that a link leads to");
  await clean(page);
});

await test("a phone has the options in a sheet, and targets of 40 pixels", async () => {
  const page = await open(exported(runs()), { calm: true, width: 390, height: 800, touch: true, bypassCSP: true });
  await page.click("#options");
  await page.waitForFunction(() => document.getElementById("bar").getBoundingClientRect().bottom <= innerHeight);
  same(await page.getAttribute("#options", "aria-expanded"), "true", "and said so");
  await page.waitForTimeout(300);
  same(await findings(page), [], "findings");
  const small = () => page.evaluate(() => [...document.querySelectorAll("button, select, input[type=search], a.chip")]
    .filter((found) => found.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && found.getBoundingClientRect().width > 0)
    .filter((found) => found.getBoundingClientRect().height < 40 && !found.matches(".skip"))
    .map((found) => `${found.id || found.className}: ${found.getBoundingClientRect().height}`));
  same(await small(), [], "targets of the sheet");
  await page.selectOption("#level", "previews");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => getComputedStyle(document.getElementById("bar")).visibility === "hidden");
  await page.waitForSelector(".unfold");
  same(await small(), [], "targets of the text");
  await page.click("#drawer");
  await page.waitForFunction(() => document.getElementById("side").getBoundingClientRect().left === 0);
  same(await small(), [], "targets of the tree");
  await page.setViewportSize({ width: 1200, height: 800 });
  await page.waitForFunction(() => document.getElementById("tools").parentNode.id === "top");
  holds(await page.isVisible("#bar") && await page.isHidden("#options"), "a wide screen has them beside the text");
  await page.context().close();
});

await test("on paper, the note is only where it is true, and the text has the width", async () => {
  const short = session("paper", chain(user("go"), calls("c", "bash", { command: "ls" }), result("c", "bash", "x"), says("The service day ends at four. ".repeat(60)), user("more")));
  const page = await open(exported(short), { calm: true });
  await page.waitForFunction(() => document.querySelectorAll("article").length >= 4);
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print" });
  holds(await page.isHidden("#print-note"), "all of it is printed");
  const [prose, list] = await page.evaluate(() => [document.querySelector(".a .prose p"), document.getElementById("text")].map((found) => found.getBoundingClientRect().width));
  holds(prose > list - 10, `prose ${prose} of ${list}`);
  same(await page.evaluate(() => getComputedStyle(document.querySelector(".u > .body")).borderLeftWidth), "4px", "prompts are marked");
  same(await page.locator(".place:visible, #options:visible, #drawer:visible").count(), 0, "no controls");
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  await clean(page);

  const many = await open(exported(session("much", Array.from({ length: 2100 }, (_, n) => line(n, n - 1, `entry ${n}`)))), { calm: true });
  await many.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await many.emulateMedia({ media: "print" });
  holds(await many.isVisible("#print-note"), "a part is printed");
  await clean(many);
});

await test("axe finds nothing in a page without scripts", async () => {
  for (const scheme of ["light", "dark"]) {
    for (const width of [1280, 390]) {
      const page = await open(exported(tour, "--static"), { script: false, scheme, width, bypassCSP: true });
      same(await findings(page), [], `findings (${scheme}, ${width})`);
      same(await page.locator("main").count(), 1, "a main part");
      await page.context().close();
    }
  }
});
