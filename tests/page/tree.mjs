// The tree on the left: its rows, filters and search, and the path to each entry.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { exported, fixtures, open, pisess, rows, tour } from "./browser.mjs";
import { clean, holds, pathIds, rowIds, same, style, test } from "./check.mjs";

for (const name of ["tour", "omp", "two-branches"]) {
  const file = join(fixtures, `${name}.jsonl`);
  await test(`${name}: rows are those of tree`, async () => {
    const page = await open(exported(file));
    for (const filter of ["default", "no-tools", "user-only", "labeled-only", "all"]) {
      await page.selectOption("#filter", filter);
      const wanted = rows("tree", file, "--filter", filter, "--json").map(({ id }) => id);
      same(await rowIds(page), wanted, filter);
    }
    await clean(page);
  });
  await test(`${name}: each entry's path is that of path`, async () => {
    const page = await open(exported(file));
    const ids = rows("tree", file, "--filter", "all", "--json").map(({ id }) => id);
    for (const id of ids) {
      await page.evaluate((id) => { location.hash = encodeURIComponent(id); }, id);
      await page.waitForSelector(`article.chosen[data-id="${id}"]`);
      const shown = await pathIds(page);
      const wanted = pisess("path", file, `id:${id}`, "--ids").trim().split("\n");
      same(shown.slice(0, shown.indexOf(id) + 1), wanted, id);
    }
    await clean(page);
  });
}

await test("tour: search finds in text, arguments and results, and marks", async () => {
  const page = await open(exported(tour));
  for (const [words, id] of [["nearer yesterday", "3de1b752"], ["rem_euclid 720", ""], ["14 passed", ""], ["NOTHING-LIKE-IT", null]]) {
    await page.fill("#words", words);
    await page.waitForFunction((words) => document.body.dataset.searched === words, words.toLowerCase());
    const count = await page.locator(".row").count();
    holds(id === null ? count === 0 : count > 0, `${words}: ${count} rows`);
    if (id) holds(await page.locator(`.row[data-id="${id}"] mark`).count() > 0, `${words}: marks in the row`);
    if (id === null) continue;
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => CSS.highlights.get("match")?.size > 0);
  }
  await page.fill("#words", "");
  await page.waitForFunction(() => /^\d+ entr/.test(document.getElementById("count").textContent));
  await clean(page);
});

await test("the number of rows is shown, also with an entry in the address", async () => {
  for (const hash of ["", "#648dc1b3"]) {
    const page = await open(exported(tour), { hash });
    same(await page.textContent("#count"), `${rows("tree", tour, "--json").length} entries`, hash);
    await clean(page);
  }
});

await test("the path is bright, and other branches are dim", async () => {
  const page = await open(exported(tour));
  const colour = (selector) => style(page, selector, "color");
  const dim = await colour("#count");
  for (const id of ["3ac9d7e4", "8b16f09d"]) {
    same(await colour(`.row[data-id="${id}"] .who`), dim, id);
    same(await colour(`.row[data-id="${id}"] .says`), dim, id);
  }
  for (const id of ["0d9a6c31", "c25f81e7", "2f5dc03e"]) holds(await colour(`.row[data-id="${id}"] .says`) !== dim, id);
  await clean(page);
});

await test("every fixture opens without a complaint", async () => {
  const all = [fixtures, join(fixtures, "hazards")].flatMap((folder) => readdirSync(folder).filter((name) => name.endsWith(".jsonl")).map((name) => join(folder, name)));
  let opened = 0;
  for (const file of all) {
    let path;
    try {
      path = exported(file);
    } catch {
      continue; // Not a session: refused, as every command refuses it.
    }
    const page = await open(path);
    same(page.complaints, [], file);
    await clean(page);
    opened++;
  }
  holds(opened > 40, `only ${opened} were opened`);
});
