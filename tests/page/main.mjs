// The pages that pisess writes, held against pisess itself and against what must not happen.

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { browser, exported, folder, nodes, open, pisess, rows, serious, session } from "./browser.mjs";
import { STRINGS, entries } from "./hostile.mjs";

if (process.argv[2] === "--bench") {
  const { bench } = await import("./bench.mjs");
  await bench(process.argv.slice(3));
  process.exit(0);
}

const fixtures = join(dirname(fileURLToPath(import.meta.url)), "../../fixtures");
const only = process.argv[2];
let passed = 0, failed = 0;

async function test(name, run) {
  if (only && !name.includes(only)) return;
  try {
    await run();
    passed++;
    console.log(`ok ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAIL ${name}\n  ${String(error.stack).split("\n").slice(0, 6).join("\n  ")}`);
  }
}

function same(found, wanted, what) {
  const [a, b] = [found, wanted].map((value) => JSON.stringify(value));
  if (a !== b) throw new Error(`${what}:\n  found  ${a.slice(0, 700)}\n  wanted ${b.slice(0, 700)}`);
}

const holds = (fact, what) => { if (!fact) throw new Error(what); };

async function clean(page) {
  same(page.complaints, [], "complaints");
  same(page.requests, [], "requests");
  await page.context().close();
}

/** The entries of all rows, with runs of tools opened. */
async function rowIds(page) {
  for (let run; (run = page.locator(".row.run .twist").first()), await run.count(); ) await run.click();
  return page.evaluate(async () => {
    const view = document.getElementById("tree"), ids = new Map();
    for (let top = 0; ; top += 200) {
      view.scrollTop = top;
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      for (const row of view.querySelectorAll(".row")) ids.set(+row.id.slice(4), row.dataset.id);
      if (top > view.scrollHeight) break;
    }
    return [...ids].sort(([a], [b]) => a - b).map(([, id]) => id);
  });
}

/** The entries of the path that is shown, all of it. */
async function pathIds(page) {
  await page.evaluate(() => {
    window.print = () => { window.printed = [...document.querySelectorAll("article")].map((article) => article.dataset.id); };
    document.getElementById("print").click();
  });
  await page.waitForFunction(() => window.printed);
  return page.evaluate(() => {
    const { printed } = window;
    window.printed = null;
    window.dispatchEvent(new Event("afterprint"));
    return printed;
  });
}

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

const tour = join(fixtures, "tour.jsonl");

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
  await page.waitForFunction(() => /rows/.test(document.getElementById("count").textContent));
  await clean(page);
});

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

const line = (n, up, text) => `{"type":"message","id":"n${n}","parentId":${up < 0 ? null : `"n${up}"`},"timestamp":"2026-03-14T09:26:45.589Z","message":{"role":"user","content":${JSON.stringify(text)}}}`;

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
  await page.waitForFunction(() => /^1 entry|of 1 /.test(document.getElementById("count").textContent));
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /the needle is here/.test(document.querySelector("article.chosen").innerText));
  await clean(page);
});

await test("a page without scripts is whole", async () => {
  const page = await open(exported(tour, "--static"), { script: false });
  const shown = await page.locator("article h2").count();
  holds(shown > 15, `${shown} entries`);
  holds((await page.locator("ins").count()) > 0 && (await page.locator("details").count()) > 0, "diffs and folds");
  await clean(page);
});

await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
