// Takes the picture of the page in README.md. Started as: tests/page/run --picture FILE.

import { closeBrowser, exported, open, tour } from "./browser.mjs";
import { waitFor } from "./check.mjs";

export async function picture(path) {
  const page = await open(exported(tour), { width: 880, height: 760, hash: "#648dc1b3", calm: true });
  await waitFor(page, "648dc1b3");
  await page.waitForFunction(() => /^[1-9]/.test(document.getElementById("count").textContent));
  await page.screenshot({ path });
  await closeBrowser();
}
