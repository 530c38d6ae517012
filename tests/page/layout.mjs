// Where things are on the page, and how wide they are.

import { exported, open, session, tour } from "./browser.mjs";
import { clean, holds, same, test } from "./check.mjs";
import { calls, chain, result, says, user } from "./make.mjs";

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
      const facts = await page.locator("#about").boundingBox(), heading = await page.locator("#title").boundingBox();
      holds(facts.y < heading.y + heading.height && facts.x > heading.x + heading.width, "beside the heading");
    }
    await clean(page);
  }
});
