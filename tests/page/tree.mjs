// The tree on the left: its rows, filters and search, and the path to each entry.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { exported, fixtures, line, open, pisess, rows, session, tour } from "./browser.mjs";
import { clean, holds, pathIds, rowIds, same, style, test, waitFor } from "./check.mjs";
import { calls, chain, result, says, user } from "./make.mjs";

for (const name of ["tour", "omp", "two-branches"]) {
  const file = join(fixtures, `${name}.jsonl`);
  await test(`${name}: rows are those of tree`, async () => {
    const page = await open(exported(file));
    for (const filter of ["default", "no-tools", "user-only", "labeled-only", "all"]) {
      await page.selectOption("#filter", filter);
      // Each line begins with an id.
      const drawn = pisess("tree", file, "--filter", filter, "--unfold").split("\n").filter(Boolean);
      const wanted = drawn.map((row) => row.split(" ")[0]);
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

/** A conversation that was rewound: each attempt has `left` messages, and the next one begins where it began. */
function rewound(rewinds, left) {
  const lines = [line(0, -1, "Continue with the work on the importer of old timetables, one page at a time, please")];
  for (let at = 0, trunk = 0; at < rewinds; at++) {
    for (let step = 0, above = trunk; step < left; step++, above = lines.length - 1) lines.push(line(lines.length, above, `Attempt ${at} that led nowhere, step ${step}, with many more words than a row has room for`));
    lines.push(line(lines.length, trunk, `Continue with page ${at}, and keep the footnotes in their place at the end of each line this time`));
    trunk = lines.length - 1;
  }
  return lines;
}

await test("12 rewinds: the path stays at the left, and its rows are readable on a phone", async () => {
  const page = await open(exported(session("rewound", rewound(12, 9))), { width: 390, height: 844, touch: true });
  await page.keyboard.press("t");
  await page.waitForTimeout(300);
  const drawn = await page.evaluate(() => [...document.querySelectorAll(".row")].map((row) => {
    const says = row.querySelector(".says"), who = row.querySelector(".who").textContent;
    const shown = `${who} `.length + says.textContent.length * Math.min(1, says.clientWidth / says.scrollWidth);
    return { bars: row.querySelector(".bars")?.textContent ?? "", branch: row.matches(".branch"), shown, text: row.textContent };
  }));
  holds(drawn.length >= 15, `${drawn.length} rows`);
  for (const [at, { bars, branch, text }] of drawn.entries()) {
    same([branch, bars], at % 2 ? [true, "├ "] : [false, ""], text);
    if (branch) holds(text.includes("9 messages") && text.includes("Attempt"), text);
  }
  const longest = Math.max(...drawn.map(({ shown }) => shown));
  holds(longest >= 50, `${longest} characters`);
  await clean(page);
});

await test("200 branches are a row each, in the order of tree", async () => {
  const lines = [line(0, -1, "root")];
  for (let at = 0; at < 200; at++) for (let step = 0; step < 4; step++) lines.push(line(lines.length, step ? lines.length - 1 : 0, `branch ${at}`));
  const page = await open(exported(session("fan", lines)));
  const drawn = await page.evaluate(async () => {
    const view = document.getElementById("tree"), rows = new Map();
    for (let top = 0; top <= view.scrollHeight; top += 200) {
      view.scrollTop = top;
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      for (const row of view.querySelectorAll(".row")) rows.set(+row.id.slice(4), `${row.dataset.id} ${row.ariaLevel}${row.matches(".branch") ? ` ${row.querySelector(".who").textContent}` : ""}`);
    }
    return [...rows].sort(([a], [b]) => a - b).map(([, row]) => row);
  });
  same(drawn, ["n0 1", ...Array.from({ length: 199 }, (_, at) => `n${1 + 4 * at} 2 4 messages`), "n797 1", "n798 1", "n799 1", "n800 1"], "rows");
  same(await page.locator('article[data-id="n797"] .branches summary').textContent(), "Branch 200 of 200, continued", "number");
  await clean(page);
});

await test("no row moves when another entry is read, and a click opens a branch", async () => {
  const page = await open(exported(session("still", rewound(3, 5))));
  const places = () => page.evaluate(() => [...document.querySelectorAll(".row")].map((row) => `${row.dataset.id} ${row.style.top} ${row.querySelector(".bars")?.textContent ?? ""}`));
  const closed = await places();
  same(closed.length, 4 + 3, "rows");
  await page.click('.row[data-id="n7"]');
  const opened = await places();
  same(opened.length, 4 + 3 + 4, "a click opens a branch");
  same(opened.slice(0, 4), closed.slice(0, 4), "rows above stay");
  same(await page.locator('.row[data-id="n7"] .says').textContent().then((said) => said.slice(0, 17)), "Attempt 1 that le", "its first row is where it was");
  for (const id of ["n7", "n11", "n0", "n12", "n18"]) {
    await page.click(`.row[data-id="${id}"]`);
    await waitFor(page, id);
    same(await places(), opened, `after ${id}`);
  }
  await page.click('.row[data-id="n7"] .twist');
  same(await places(), closed, "folded again");
  await clean(page);
});

await test("a link to an entry of a folded branch opens the branch", async () => {
  const path = exported(session("folded", rewound(3, 5)));
  const page = await open(path, { hash: "#n3" });
  await waitFor(page, "n3");
  const ids = () => page.evaluate(() => [...document.querySelectorAll(".row")].map((row) => `${row.dataset.id}${row.matches(".branch") ? "+" : ""}${row.matches(".chosen") ? "*" : ""}`));
  same(await ids(), ["n0", "n1", "n2", "n3*", "n4", "n5", "n6", "n7+", "n12", "n13+", "n18"], "at first");
  await page.evaluate(() => { location.hash = "n16"; });
  await waitFor(page, "n16");
  same((await ids()).slice(-7), ["n12", "n13", "n14", "n15", "n16*", "n17", "n18"], "a link in the page");
  // A branch that the reader folds stays folded, until a link leads there again.
  await page.click('.row[data-id="n13"] .twist');
  await page.mouse.move(900, 500);
  await page.mouse.wheel(0, -200);
  await page.waitForTimeout(200);
  holds((await ids()).some((id) => id.startsWith("n13+")), "folded by the reader");
  await page.evaluate(() => { location.hash = "n15"; });
  await waitFor(page, "n15");
  holds((await ids()).includes("n15*"), "opened again");
  // What a search has found is where it was when the search ends.
  await page.fill("#words", "Attempt 1 that led nowhere, step 2");
  await page.waitForFunction(() => document.body.dataset.searched?.endsWith("step 2"));
  await page.keyboard.press("Enter");
  await waitFor(page, "n9");
  await page.keyboard.press("Escape");
  await page.waitForSelector('.row.chosen[data-id="n9"]');
  holds((await ids()).includes("n7"), "the branch of a match is open");
  await clean(page);
});

await test("branches have the same numbers in the text as in the tree", async () => {
  const lines = [line(0, -1, "root"), line(1, 0, "one"), line(2, 1, "below one"), line(3, 0, "two"), { type: "custom", customType: "pisess-switch", data: {}, id: "mark", parentId: "n2", timestamp: "2026-03-14T09:27:45.589Z" }, line(4, 2, "again")];
  const page = await open(exported(session("numbers", lines)));
  const number = (id) => page.locator(`article[data-id="${id}"] .branches summary`).textContent();
  same(await number("n1"), "Branch 1 of 2, continued", "the older branch goes on");
  const numbers = await page.evaluate(() => [...document.querySelectorAll(".row")].map((row) => [row.dataset.id, row.getAttribute("aria-posinset"), row.getAttribute("aria-setsize")]));
  same(numbers.filter(([id]) => ["n1", "n3"].includes(id)), [["n3", "2", "2"], ["n1", "1", "2"]], "what was left comes first");
  same(await page.locator('article[data-id="n4"] .branches').count(), 0, "a note is no branch");
  await page.click('.row[data-id="n3"]');
  await waitFor(page, "n3");
  same(await number("n3"), "Branch 2 of 2", "the other");
  await clean(page);
});

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
  await page.waitForFunction(() => /^\d+ items/.test(document.getElementById("count").textContent));
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
  const texts = ["Done. Here it is: ## Summary Now **bold** and `code`, see [docs](https://x.org) ```ts const a = 1", "1. **First** of `two`", "> quoted `words`", "all of src/**/*.rs and a_b_c, #151"];
  const page = await open(exported(session("marksinrows", chain(user("go"), ...texts.map((text) => says(text)), user(texts[0])))));
  same(await page.locator(".row .says").allTextContents(), ["go", "Done. Here it is: Summary Now bold and code, see docs const a = 1", "1. First of two", "quoted words", "all of src/**/*.rs and a_b_c, #151",
    // What a person typed keeps its addresses.
    "Done. Here it is: Summary Now bold and code, see [docs](https://x.org) const a = 1"], "rows");
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
    same(await page.textContent("#count"), `${rows("tree", tour, "--json").length} items`, hash);
    await clean(page);
  }
});

await test("the path is bright, and other branches are dim", async () => {
  const page = await open(exported(tour));
  const colour = (selector) => style(page, selector, "color");
  const dim = await colour("#count");
  same(await colour(".row.branch .says"), dim, "a branch that is folded");
  await page.click(".row.branch");
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
