// What of a path is shown: runs of tool calls are one line until they are opened, and settings are chips at the entry
// that follows them.

/** Whether an entry is part of the work between answers: a tool's result, or a message that only calls tools. */
const isWork = (n) => session.kind[n] === "t" || session.kind[n] === "a" && (bitsOf(n) & (SILENT | FAILED | ABORTED)) === SILENT;
/** Whether an entry is no part of the conversation: a setting, a label, data of an extension, what the agent hides. */
const isAside = (n) => "nlx".includes(session.kind[n]) || session.concealed.has(n);

/** Sets the entries that are shown, the runs by their first entries, and the settings by the entries after them. */
function groupPath() {
  const { all } = text, shown = [], isLine = prefs.level !== "all";
  text.runs = new Map();
  text.runOf = new Map();
  text.chips = new Map();
  let run = null, chips = [];
  for (const n of all) {
    text.place[n] = shown.length;
    if (isAside(n) && !prefs.aside && !text.asked.has(n)) {
      if (session.kind[n] === "n") chips.push(n);
      continue;
    }
    if (isLine && isWork(n)) run ??= beginRun(n);
    else run = null;
    if (run) {
      run.entries.push(n);
      text.runOf.set(n, run);
    }
    if (run && !run.open && n !== run.first) {
      text.place[n] = shown.length - 1;
      continue;
    }
    if (chips.length) text.chips.set(n, chips);
    chips = [];
    shown.push(n);
  }
  text.path = shown;
  for (const n of all) text.place[n] = Math.min(text.place[n], shown.length - 1);
}

/** Begins a run. With previews it is open, else closed, unless the reader has changed that. */
function beginRun(first) {
  const isOpen = prefs.level === "previews";
  const run = { first, entries: [], open: text.turned.has(first) ? !isOpen : isOpen };
  text.runs.set(first, run);
  return run;
}

/** Makes sure that an entry is shown: opens the run that hides it. */
function ensureShown(n) {
  if (text.path[text.place[n]] === n) return;
  const run = text.runOf.get(n);
  if (run) return toggleRun(run);
  text.asked.add(n);
  regroup();
}

/** Groups the path again; what is in view stays. */
function regroup() {
  const before = text.path.length ? anchorOf($("text")) : null, n = before && text.path[before.at];
  clearText();
  groupPath();
  readPath();
  if (before) drawText({ at: text.place[n], delta: before.delta });
  markChosen();
}

/** Opens or closes a run. */
function toggleRun(run) {
  if (!text.turned.delete(run.first)) text.turned.add(run.first);
  regroup();
}

/** Returns the line of a run: who speaks if it begins an answer, what its tools did, and how many failed. */
function runLine(run) {
  const line = make("button", "workline"), tools = run.entries.filter((n) => session.kind[n] === "t");
  line.setAttribute("aria-expanded", run.open);
  line.append(...speakersAt(text.place[run.first]));
  const missing = new Set();
  const parts = tools.length ? deedParts(tools, missing) : [["who", "Tools"]];
  for (const [className, said] of parts) if (said) line.append(make("span", className, said));
  // The line is drawn again once the texts of its tools are loaded.
  const rows = [...missing].map((n) => rowPieces.get(n));
  if (missing.size) Promise.all(rows).then(() => { if (line.isConnected) line.replaceWith(runLine(run)); });
  line.addEventListener("click", () => toggleRun(run));
  return line;
}

/** Adds the texts of a closed run, so that the browser's search finds them. */
async function addTexts(body, run) {
  for (const n of run.entries) body.append(...searchOnly(splitItem(await entryPieces.get(n))[0]));
}

/** Returns what is in the margin beside an entry: its label, its model if it is another one, settings changed before it. */
function marginOf(n) {
  const margin = make("div", "margin"), label = session.label.get(n), model = text.modelBefore.get(n);
  if (label) margin.append(make("span", "chip label", label));
  if (model) margin.append(Object.assign(make("span", "chip model", session.models[model - 1].split("/").pop()), { title: session.models[model - 1] }));
  for (const setting of text.chips.get(n) ?? []) {
    if (isShownByAnswer(setting)) continue;
    const chip = make("a", "chip");
    chip.href = linkTo(setting);
    chip.dataset.to = setting;
    rowPieces.get(setting).then((row) => { chip.textContent = rowWords(row); });
    margin.append(chip);
  }
  return margin.firstChild && margin;
}

/** Whether a setting is the model of the next answer, which shows it. */
function isShownByAnswer(setting) {
  if (!/^model.?change$/i.test(session.typeName.get(setting))) return false;
  const answer = text.all.slice(text.index[setting]).find((n) => session.model[n]);
  return text.modelBefore.has(answer);
}

/** Whether an answer continues the one before it, so that it needs no heading of its own. */
function continuesAnswer(n, at) {
  const before = text.path[at - 1];
  return session.kind[n] === "a" && at > 0 && (isWork(before) || session.kind[before] === "a");
}

/** Shows that another branch than the final one is read. */
function showBanner() {
  $("banner").hidden = session.leaf < 0 || onPath(session.leaf);
}
