// The tree on the left: its rows, filters and search, and the path to each entry.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { exported, fixtures, open, pisess, rows, session, tour } from "./browser.mjs";
import { clean, holds, pathIds, rowIds, same, style, test, waitFor } from "./check.mjs";
import { calls, chain, result, says, user } from "./make.mjs";

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
  await page.waitForFunction(() => /^\d+ messages/.test(document.getElementById("count").textContent));
  await clean(page);
});

await test("rows of a search show the words around the match", async () => {
  const filler = "some words that come first, and are longer than a row of the tree. ".repeat(4);
  const page = await open(exported(session("around", chain(user("go"), says(`${filler}Then the **needle** is found.`), user("a needle")))));
  await page.fill("#words", "needle");
  await page.waitForFunction(() => document.body.dataset.searched === "needle");
  same((await page.locator('.row[data-id="e1"] .says').textContent()).replace(/ is found\..*/, ""), "… of the tree. Then the needle", "around the match");
  same(await page.locator('.row[data-id="e2"] .says').textContent(), "a needle", "its own text if the match is at its beginning");
  same(await page.locator(".row mark").count(), 2, "marks");
  for (const mark of await page.locator(".row mark").all()) holds((await mark.boundingBox()).x < 390, "in view");
  await clean(page);
});

await test("rows have no marks of Markdown", async () => {
  const says = ["Done. Here it is: ## Summary Now **bold** and `code`, see [docs](https://x.org) ```ts const a = 1", "1. **First** of `two`", "> quoted `words`", "all of src/**/*.rs and a_b_c, #151"];
  const page = await open(exported(session("marksinrows", chain(...says.map(user)))));
  same(await page.locator(".row .says").allTextContents(), ["Done. Here it is: Summary Now bold and code, see docs const a = 1", "1. First of two", "quoted words", "all of src/**/*.rs and a_b_c, #151"], "rows");
  await clean(page);
});

await test("a file without a directory keeps its distance from the name of the tool", async () => {
  const read = (id, path) => [calls(id, "read", { path }), result(id, "read", "text")];
  const page = await open(exported(session("distance", chain(user("go"), ...read("c1", "file1.ts"), ...read("c2", "src/file2.ts")))), { hash: "#e0" });
  await waitFor(page, "e0");
  await rowIds(page);
  const gaps = () => page.evaluate(() => [...document.querySelectorAll(".row .file, .workline .file")].map((file) => {
    const before = file.previousElementSibling;
    return [file.textContent, before.className, Math.round(file.getBoundingClientRect().left - before.getBoundingClientRect().right)];
  }));
  const found = await gaps();
  holds(found.some(([name]) => name === "file1.ts") && found.some(([name]) => name === "file2.ts"), `rows: ${JSON.stringify(found)}`);
  for (const [name, before, gap] of found) same(gap, before === "folder" ? 0 : gap >= 4 ? gap : 4, `${name} behind ${before}`);
  await clean(page);
});

await test("the tree has one highlight, which follows the reader and returns to what is read", async () => {
  const page = await open(exported(tour));
  const marked = () => page.evaluate(() => {
    const plain = getComputedStyle(document.querySelector(".row:not(.chosen):not(:hover)")).backgroundColor;
    return [...document.querySelectorAll(".row")].filter((row) => getComputedStyle(row).backgroundColor !== plain).map((row) => row.dataset.id);
  });
  await page.mouse.move(900, 500);
  await page.mouse.wheel(0, 900);
  await page.waitForFunction(() => document.querySelector(".row.chosen").dataset.id !== "0d9a6c31");
  await page.waitForTimeout(300);
  const read = await marked();
  same(read.length, 1, "one highlight");
  await page.keyboard.press("t");
  await page.keyboard.press("Home");
  same(await marked(), ["0d9a6c31"], "it moves with the keys");
  await page.focus("#text");
  same(await marked(), read, "and back to what is read");
  await clean(page);
});

for (const scheme of ["light", "dark"]) {
  await test(`lines of the tree have a contrast of 3:1 (${scheme})`, async () => {
    const page = await open(exported(tour), { scheme });
    const ratios = await page.evaluate(() => {
      const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
      const light = (colour) => {
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const contrast = (one, other) => { const [low, high] = [light(one), light(other)].sort((a, b) => a - b); return (high + 0.05) / (low + 0.05); };
      const lines = [getComputedStyle(document.querySelector(".bars")).color, getComputedStyle(document.querySelector(".row.c"), "::after").borderTopColor];
      const grounds = ["#side", ".row.chosen"].map((selector) => getComputedStyle(document.querySelector(selector)).backgroundColor);
      return lines.flatMap((line) => grounds.map((ground) => contrast(line, ground)));
    });
    holds(ratios.length === 4 && ratios.every((ratio) => ratio >= 3), `${ratios}`);
    await clean(page);
  });
}

await test("the number of rows is shown, also with an entry in the address", async () => {
  for (const hash of ["", "#648dc1b3"]) {
    const page = await open(exported(tour), { hash });
    same(await page.textContent("#count"), `${rows("tree", tour, "--json").length} messages`, hash);
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
