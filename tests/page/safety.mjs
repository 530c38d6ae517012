// Hostile text in sessions.

import { exported, open, pisess, session } from "./browser.mjs";
import { holds, pathIds, same, test } from "./check.mjs";
import { STRINGS, entries } from "./hostile.mjs";

await test("hostile text runs nothing, and asks for nothing", async () => {
  for (const [at, string] of STRINGS.entries()) {
    const file = session(`hostile${at}`, entries(string));
    const wanted = pisess("path", file, "--ids").split("\n").filter(Boolean).length;
    for (const form of [[], ["--static"]]) {
      const path = exported(file, ...form);
      const page = await open(path, { script: !form.length });
      if (!form.length) {
        same(page.complaints, [], string);
        const shown = await pathIds(page);
        holds(shown.length >= wanted - 1, `${string}: ${shown.length} of ${wanted}`);
        await page.fill("#words", string.slice(0, 20));
        await page.waitForTimeout(200);
      }
      same(await page.evaluate(() => window.caught ?? null), null, string);
      const found = await page.evaluate(() => ({
        scripts: [...document.scripts].filter((script) => !script.type).length,
        bad: document.querySelectorAll("iframe, object, embed, base, svg, textarea, meta[http-equiv=refresh], [onerror], [onload], [onmouseover], [srcdoc], [style*=url]").length,
        links: [...document.querySelectorAll("a[href], form[action]")].map((a) => a.href ?? "").filter((href) => !/^(https?|mailto|file):/.test(href)),
        images: [...document.images].map((image) => image.src).filter((src) => !/^(blob|data:image)/.test(src)),
      }));
      same(found, { scripts: form.length ? 0 : 1, bad: 0, links: [], images: [] }, string);
      same(page.requests, [], string);
      same(page.complaints, [], string);
      await page.context().close();
    }
  }
});
