// Which share of a page is prose, and a session whose work takes more room than its prose.

import { session } from "./browser.mjs";
import { calls, chain, result, says, usage, user } from "./make.mjs";

/** A session of tool runs: requests, and between prompt and answer 3 to 12 calls with long output. */
export const runs = (requests = 12) => session("runs", chain(...Array.from({ length: requests }, (_, n) => [
  user(`Please look at part ${n}.`),
  ...Array.from({ length: 3 + (n % 10) }, (_, m) => [calls(`c${n}-${m}`, ["read", "bash", "edit"][m % 3], { path: `src/${m}.rs`, command: "make" }), result(`c${n}-${m}`, ["read", "bash", "edit"][m % 3], "a line of output\n".repeat(60), { isError: m === 1 })]).flat(),
  says(`Part ${n} is done.\n\n${"It was changed so that the clock is read once, and the tests cover it. ".repeat(8)}`, { usage: usage(0.01) }),
]).flat()));

/** Returns the share of the height of all articles that prose takes. */
export const proseShare = (page) => page.evaluate(async () => {
  let prose = 0, whole = 0;
  const seen = new Set(), view = document.getElementById("text");
  for (let top = 0; ; top += view.clientHeight / 2) {
    view.scrollTop = top;
    await new Promise((resolve) => setTimeout(resolve, 60));
    for (const article of document.querySelectorAll("article:not(:has(.wait))")) {
      if (seen.has(article.dataset.id)) continue;
      seen.add(article.dataset.id);
      whole += article.getBoundingClientRect().height;
      if (article.matches(".u, .a")) for (const box of article.querySelectorAll(".body > .prose")) prose += box.getBoundingClientRect().height;
      if (article.matches(".u")) prose += 20;
    }
    if (top > view.scrollHeight) break;
  }
  return prose / whole;
});
