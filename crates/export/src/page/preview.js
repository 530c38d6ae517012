// Previews of what tools printed, read, wrote or changed: whole lines, a fade, and a button that shows the rest.

/** The lines of a preview, as in the style. */
const PREVIEW_LINES = 6;
/** The width of a character of code, in pixels. */
const CHARACTER = 7.5;
/** Texts longer than this are not divided into lines. */
const LONGEST_COUNTED = 2e6;

/** About how many characters a line of an output has; 0 until it is measured. */
let lineLength = 0;
addEventListener("resize", () => { lineLength = 0; });

/** Adds to each tool of which something is cut the button that shows all of it. */
function addUnfold(article) {
  for (const tool of article.querySelectorAll(".tool")) {
    const cut = [...tool.querySelectorAll(":scope > .block")].map(cutBlock).filter((block) => block.isCut);
    if (!cut.length) continue;
    const more = unfoldLabel(cut);
    const button = make("button", "unfold", more);
    button.setAttribute("aria-expanded", "false");
    button.addEventListener("click", () => {
      const full = tool.classList.toggle("full");
      button.setAttribute("aria-expanded", full);
      button.textContent = full ? "Show less" : more;
      if (full) tool.querySelectorAll(":scope > .block").forEach(showMost);
      article.view.changed();
    });
    tool.append(button);
  }
}

/** Marks a block whose preview is shorter than the block. Returns whether it is, and how many lines are hidden. */
function cutBlock(block) {
  const { markup, sections } = block, from = sections[0][0], to = sections.at(-1)[1];
  const lines = to - from > LONGEST_COUNTED ? Infinity : lineCount(markup, from, to);
  const shown = shownLines(block);
  const isCut = lines > shown;
  block.classList.toggle("cut", isCut);
  return { isCut, hidden: lines - shown };
}

/** Returns how many lines of a block its preview shows to their ends. */
function shownLines({ markup, sections, classList }) {
  // Only the lines of outputs and diffs are broken.
  if (!classList.contains("output") && !classList.contains("diff")) return PREVIEW_LINES;
  lineLength ||= Math.max(30, Math.floor((Math.min(840, $("text").clientWidth - 44) - 26) / CHARACTER));
  let shown = 0, height = 0;
  for (const line of plainText(markup.slice(...sections[0])).split("\n", PREVIEW_LINES)) {
    height += Math.max(1, Math.ceil(line.length / lineLength));
    if (height > PREVIEW_LINES) return shown;
    shown++;
  }
  return PREVIEW_LINES;
}

/** Returns the number of lines in a part of the markup. A line break at the end begins no line. */
function lineCount(markup, from, to) {
  let lines = 1;
  for (let at = markup.indexOf("\n", from); at >= 0 && at < to; at = markup.indexOf("\n", at + 1)) lines++;
  return /\n[^\x20-\uffff]*$/.test(markup.slice(Math.max(from, to - 8), to)) ? lines - 1 : lines;
}

/** Returns the label of the button that shows what the previews of a tool hide. */
function unfoldLabel(cut) {
  const hidden = cut.reduce((sum, block) => sum + block.hidden, 0);
  return Number.isFinite(hidden) ? `Show ${countText(hidden, "more line")}` : "Show all";
}

/** Returns the label of the button that shows the next section of a block. */
function laterLabel({ markup, sections, shown: [, next] }) {
  const [from] = sections[next], to = sections.at(-1)[1];
  if (to - from > LONGEST_COUNTED) return `Show more (${((to - from) / 1e6).toFixed(1)} MB follow)`;
  const lines = lineCount(markup, from, to), first = lineCount(markup, ...sections[next]);
  if (lines < 2) return "Show more";
  const rest = countText(lines, "more line");
  return next === sections.length - 1 ? `Show ${rest}` : `Show ${grouped(first)} of ${rest}`;
}
