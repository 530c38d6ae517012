// Sessions that are long, deep or wide. bench.mjs measures times.

import { exported, line, nodes, open, session } from "./browser.mjs";
import { clean, holds, test } from "./check.mjs";

await test("100,000 entries: any of them is shown, with few nodes", async () => {
  const file = session("chain", Array.from({ length: 100_000 }, (_, n) => line(n, n - 1, `entry number ${n}\n\n- one\n- two\n\n\`\`\`js\nconst n = ${n};\n\`\`\``)));
  const page = await open(exported(file));
  for (const n of [99_999, 50_000, 3, 77_777]) {
    await page.evaluate((n) => { location.hash = `n${n}`; }, n);
    await page.waitForSelector(`article.chosen[data-id="n${n}"]:has(.body p)`);
    const box = await page.locator(`article[data-id="n${n}"]`).boundingBox();
    holds(box.y > 60 && box.y < 900, `n${n} is at ${box.y}`);
    holds((await nodes(page)) <= 5000, `${await nodes(page)} nodes`);
  }
  for (let at = 0; at < 12; at++) await page.mouse.wheel(0, 2000), await page.waitForTimeout(20);
  const top = await page.evaluate(() => document.elementFromPoint(900, 400)?.closest("article")?.dataset.n);
  holds(Number(top) > 77_777, `scrolled to ${top}`);
  await clean(page);
});

await test("5,000 nested branches open", async () => {
  const lines = [line(0, -1, "spine 0")];
  for (let n = 1; n < 10_000; n += 2) lines.push(line(n, Math.max(0, n - 1), `tooth ${n}`), line(n + 1, Math.max(0, n - 1), `spine ${n + 1}`));
  const page = await open(exported(session("comb", lines)), { hash: "#n5001" });
  await page.waitForSelector('article.chosen[data-id="n5001"]');
  holds((await nodes(page)) <= 5000, "nodes");
  await clean(page);
});

await test("a result of 20 MB opens, and its end can be found", async () => {
  const text = "all work and no play\n".repeat(1_000_000) + "the needle is here\n";
  const lines = [line(0, -1, "go"), { type: "message", id: "big", parentId: "n0", timestamp: "2026-03-14T09:26:46Z", message: { role: "toolResult", toolCallId: "c", toolName: "bash", content: [{ type: "text", text }], isError: false } }];
  const page = await open(exported(session("long", lines)), { hash: "#big" });
  await page.waitForSelector('article.chosen[data-id="big"] .more');
  await page.click("article.chosen .more");
  holds((await nodes(page)) <= 5000, "nodes");
  await page.fill("#words", "needle");
  await page.waitForFunction(() => /^1 message|of 1 /.test(document.getElementById("count").textContent));
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /the needle is here/.test(document.querySelector("article.chosen").innerText));
  await clean(page);
});
