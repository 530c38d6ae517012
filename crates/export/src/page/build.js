// Builds elements from markup (see the header of markup.rs): only those listed in TAGS. Text becomes only text nodes.

let TAGS = {};

function readTags() {
  for (const row of session.tags.split("\n")) {
    const [code, element, ...classes] = row.split(" ");
    TAGS[code] = [element, classes.join(" ")];
  }
}

/** The maximum number of sections that a block shows at a time. */
const MOST_SECTIONS = 6;

const canHighlight = typeof CSS !== "undefined" && "highlights" in CSS;
const marked = new Map();

/** Returns the highlight with a name. */
function highlight(name) {
  if (!marked.has(name)) {
    marked.set(name, new Highlight());
    CSS.highlights.set(name, marked.get(name));
  }
  return marked.get(name);
}

/** Highlights a part of a text node under a name, and adds the range to `ranges`. */
function highlightPart(ranges, name, node, from, to) {
  if (!canHighlight || from >= to) return;
  const range = new StaticRange({ startContainer: node, startOffset: from, endContainer: node, endOffset: to });
  highlight(name).add(range);
  ranges.push([name, range]);
}

function removeHighlights(ranges) {
  for (const [name, range] of ranges) highlight(name).delete(range);
  ranges.length = 0;
}

/** Returns the text of markup, for copying and searching. */
function plainText(markup) {
  return markup
    .replace(/\x01[pvl123rhbqOINYA]|\x02[oHBFTCI][^\x03]*\x03/g, "\n").replaceAll("\x01j", " ")
    .replace(/\x02.[^\x03]*\x03|[\x01\x0e].|[\x04\x05\x06\x0f]/gs, "");
}

/** Returns the index after the section that begins at `from`. */
function findSectionEnd(markup, from) {
  const ends = /[\x05\x06]/g;
  ends.lastIndex = from + 1;
  for (let depth = 1, found; (found = ends.exec(markup)); ) {
    depth += found[0] === "\x05" ? 1 : -1;
    if (depth === 0) return found.index + 1;
  }
  return markup.length;
}

/**
 * Builds `markup` from `from` to `to` into `parent`. `view` is the article: its number, its ranges, and a callback
 * for changes of its height.
 */
function build(markup, from, to, parent, view) {
  const open = [];
  let node = parent, text = "", words = [], word = null;
  const flush = () => {
    if (!text) return;
    const leaf = document.createTextNode(text);
    node.append(leaf);
    for (const [name, start, end] of words) highlightPart(view.ranges, `w-${name}`, leaf, start, end);
    text = "";
    words = [];
  };
  const marks = /[\x01\x02\x04\x05\x0e\x0f]/g;
  let at = from;
  while (at < to) {
    marks.lastIndex = at;
    const found = marks.exec(markup);
    const end = found && found.index < to ? found.index : to;
    text += markup.slice(at, end);
    if (end === to) break;
    at = end + 1;
    switch (found[0]) {
      // A word of code begins.
      case "\x0e":
        word = [markup[at], text.length];
        at++;
        break;
      // It ends.
      case "\x0f":
        if (word) words.push([word[0], word[1], text.length]);
        word = null;
        break;
      // An element ends.
      case "\x04":
        flush();
        finishElement(markup, node, view);
        node = open.pop() ?? parent;
        break;
      // A section, which is built when it is viewed.
      case "\x05": {
        flush();
        const behind = findSectionEnd(markup, end);
        (node.sections ??= []).push([at, behind - 1]);
        at = behind;
        break;
      }
      // An element begins.
      default: {
        flush();
        const code = markup[at++];
        let value = "";
        if (found[0] === "\x02") {
          const behind = markup.indexOf("\x03", at);
          value = markup.slice(at, behind);
          at = behind + 1;
        }
        open.push(node);
        const child = makeElement(code, value, view);
        node.append(child);
        node = child;
      }
    }
  }
  flush();
}

function makeElement(code, value, view) {
  const [name, className] = TAGS[code] ?? ["span", ""];
  const element = make(name, className);
  element.code = code;
  if ("pv123lqHD".includes(code)) element.dir = "auto";
  switch (code) {
    case "a":
      if (/^(https?:\/\/|mailto:|#)/i.test(value)) {
        element.href = value;
        if (value[0] !== "#") Object.assign(element, { target: "_blank", rel: "noopener noreferrer nofollow" });
      }
      break;
    case "k":
    case "C":
      element.href = linkTo(+value);
      element.dataset.to = value;
      // The call is shown with its result, further down.
      if (code === "C" && onPath(+value)) element.classList.add("shown");
      break;
    case "o":
      element.start = +value || 1;
      break;
    case "x":
      element.textContent = value === "x" ? "☑ " : "☐ ";
      break;
    case "H":
    case "D":
      element.className = value;
      break;
    case "F":
    case "T":
      if (value) element.classList.add(value);
      break;
    case "B":
      element.value = value;
      break;
    case "I":
      if (value) element.dataset.counts = value;
      break;
    case "#":
      element.dataset.number = value;
      break;
    case "i":
      showImage(element, value, view);
  }
  return element;
}

/** Adds the controls of an element once it is complete. */
function finishElement(markup, element, view) {
  const { sections, code } = element;
  if (!sections) return;
  element.markup = markup;
  element.view = view;
  if (code === "F") {
    element.addEventListener("toggle", () => openFold(element));
    if (text.open || element.classList.contains("thinking") && prefs.thinking) element.open = true;
    else for (const [from, to] of sections) element.append(...searchOnly(markup.slice(from, to)));
    return;
  }
  if ("BOI".includes(code)) addBlockControls(element);
  element.shown = [0, 0];
  showSection(element, 0);
  if (code === "P" || prefs.level === "all") showMost(element);
}

/** Shows as much of a block as is shown at a time. */
function showMost(element) {
  for (let at; (at = element.shown[1]) < Math.min(element.sections.length, MOST_SECTIONS); ) showSection(element, at);
}

/** The maximum number of characters of a text that only the browser's search reaches. */
const MOST_CONCEALED = 1e6;

/** Returns an element with the text of markup that the browser's search finds, and then shows; none for a long path. */
function searchOnly(markup) {
  if (!text.isShort || text.spare < 0) return [];
  text.spare -= markup.length;
  const element = make("div", "plain", plainText(markup.slice(0, MOST_CONCEALED)).trim());
  element.setAttribute("hidden", "until-found");
  return [element];
}

/** Builds the content of a fold when it is opened for the first time. */
function openFold(fold) {
  if (!fold.open || fold.built) return;
  fold.built = true;
  // What the search has found stays, with its mark.
  if (fold.querySelector(":scope > .plain:not([hidden])")) return fold.view.changed();
  fold.querySelectorAll(":scope > .plain").forEach((text) => text.remove());
  const inside = make("div");
  fold.append(inside);
  for (const [from, to] of fold.sections) build(fold.markup, from, to, inside, fold.view);
  rowImages(inside);
  fold.view.changed();
}

/** Adds a copy button to a block of code, and space for line numbers. */
function addBlockControls(block) {
  const copy = make("button", "copy", "Copy");
  copy.addEventListener("click", () => {
    const last = block.sections.at(-1);
    copyText(plainText(block.markup.slice(block.sections[0][0], last[1])), "Code copied");
  });
  const [, first] = (block.value ?? "").split(" ");
  block.append(copy);
  if (first) {
    block.classList.add("numbered");
    block.gutter = make("span", "gutter");
    block.gutter.setAttribute("aria-hidden", "true");
    block.firstLine = +first;
    block.append(block.gutter);
  }
  block.inner = make("code");
  block.append(block.inner);
}

/** Shows a section after or before the others, and removes one at the other end if there are too many. */
function showSection(element, at) {
  const inner = element.inner ?? element;
  const part = make(element.inner ? "span" : "div", "part");
  part.ranges = element.view.ranges;
  build(element.markup, ...element.sections[at], part, element.view);
  const [from, to] = element.shown;
  if (at < from) {
    inner.prepend(part);
    element.shown = [at, to];
  } else {
    inner.insertBefore(part, element.later?.parentNode === inner ? element.later : null);
    element.shown = [from, at + 1];
  }
  const parts = [...inner.children].filter((child) => child.classList.contains("part"));
  if (parts.length > MOST_SECTIONS) {
    const gone = at < from ? parts.at(-1) : parts[0];
    gone.remove();
    element.shown = at < from ? [at, element.shown[1] - 1] : [element.shown[0] + 1, at + 1];
  }
  updateSectionButtons(element);
}

/** Updates what depends on the sections that are shown: the buttons for others, and the numbers of lines. */
function updateSectionButtons(element) {
  const [from, to] = element.shown, { sections } = element;
  const button = (key, label, act) => {
    element[key]?.remove();
    element[key] = null;
    if (!label) return;
    element[key] = make("button", "more", label);
    element[key].addEventListener("click", () => { act(); element.view.changed(); });
    if (key === "earlier") element.prepend(element[key]);
    else element.append(element[key]);
  };
  button("earlier", from > 0 ? "Show what comes before" : "", () => showSection(element, from - 1));
  button("later", to < sections.length ? laterLabel(element) : "", () => showSection(element, to));
  element.querySelector(":scope > .plain")?.remove();
  if (to < sections.length) element.append(...searchOnly(element.markup.slice(sections[to][0], sections.at(-1)[1])));
  if (element.gutter) {
    const before = element.markup.slice(sections[0][0], sections[from][0]).split("\n").length - 1;
    const lines = element.inner.textContent.split("\n");
    const count = lines.length - (lines.at(-1) === "" && lines.length > 1 ? 1 : 0);
    const first = element.firstLine + before;
    element.gutter.textContent = Array.from({ length: count }, (_, line) => first + line).join("\n");
  }
}

async function copyText(text, said) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  toast(said);
}

/** Shows a message for some time. */
function toast(text, milliseconds = 1600) {
  $("toast")?.remove();
  const shown = make("div", "", text);
  shown.id = "toast";
  document.body.append(shown);
  $("said").textContent = text;
  setTimeout(() => shown.remove(), milliseconds);
}
