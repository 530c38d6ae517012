// Turns: a prompt of the user, and all that follows it up to the next prompt. Each ends with a foot that sums up its
// work, and the index lists them with their commits.

/** Returns what `stats` counts of entries and what tools did, by entry (see index.rs). */
function workFacts({ took, calls, files, changedLines, exitCodes, commits }) {
  const filesOf = new Map(), commitsOf = new Map();
  for (const [n, file] of files) filesOf.set(n, [...(filesOf.get(n) ?? []), file]);
  for (const [n, hash, subject] of commits) commitsOf.set(n, [...(commitsOf.get(n) ?? []), { n, hash, subject }]);
  const changesOf = new Map(changedLines.map(([n, added, removed]) => [n, { added, removed }]));
  return { took, calls, filesOf, changesOf, exitOf: new Map(exitCodes), commitsOf };
}

/** Sets where the turns of the path begin. */
function readTurns() {
  text.starts = [];
  text.all.forEach((n, at) => { if (session.kind[n] === "u") text.starts.push(at); });
}

/** Returns the number of an entry's turn, from 1; 0 before the first prompt. */
function turnOf(n) {
  const { starts } = text, at = text.index[n];
  let low = 0, high = starts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (starts[middle] <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the entries of a turn of the path. */
function entriesOfTurn(turn) {
  const { starts, all } = text;
  return all.slice(turn === 0 ? 0 : starts[turn - 1], starts[turn] ?? all.length);
}

/** Returns the sums over the entries of a turn. */
function sumTurn(turn) {
  const sums = { calls: 0, took: 0, cost: 0, isEstimated: false, added: 0, removed: 0, files: new Set(), commits: [] };
  for (const n of entriesOfTurn(turn)) {
    sums.calls += session.calls[n];
    sums.took += session.took[n];
    sums.cost += session.cost[n];
    sums.isEstimated ||= session.estimates.has(n);
    for (const file of session.filesOf.get(n) ?? []) sums.files.add(file);
    const changes = session.changesOf.get(n);
    if (changes) {
      sums.added += changes.added;
      sums.removed += changes.removed;
    }
    sums.commits.push(...(session.commitsOf.get(n) ?? []));
  }
  return sums;
}

/** Returns numbers of added and removed lines as text. */
const changeText = ({ added, removed }) => [added && `+${grouped(added)}`, removed && `−${grouped(removed)}`].filter(Boolean).join(" ");

/** Returns the sums of a turn as text; empty if it neither called a tool nor cost anything. */
function turnText({ calls, took, cost, isEstimated, added, removed, files }) {
  if (!calls && !cost) return "";
  const changed = [files.size && countText(files.size, "file"), changeText({ added, removed })].filter(Boolean).join(" ");
  return [calls && countText(calls, "tool"), changed, workTime(took), cost && dollars(cost, isEstimated)].filter(Boolean).join(" · ");
}

/** Whether the entry at a place of the path is the last that is shown of its turn. */
const isTurnEnd = (at) => at + 1 >= text.path.length || session.kind[text.path[at + 1]] === "u";

/** Returns the foot of the turn that ends at a place of the path, in a list; an empty list if none does. */
function footsAt(at) {
  // The facts follow the entries in the file.
  if (!session.took.length || !isTurnEnd(at)) return [];
  const said = turnText(sumTurn(turnOf(text.path[at])));
  return said ? [make("div", "turnfoot", said)] : [];
}

/** Whether what the assistant does at a place of the path follows neither its words nor its tools. */
const beginsAnswer = (at) => !["a", "t"].includes(session.kind[text.path[at - 1]]);

/** Returns the speaker for tools that come before the answer of a turn, in a list. */
const speakersAt = (at) => (beginsAnswer(at) ? [make("span", "speaker", KINDS.a)] : []);

/** Shows which turn is read. */
function showTurn() {
  const turns = text.starts.length;
  let said = text.path.length ? "No prompts" : "No messages";
  if (turns) said = `Turn ${grouped(Math.max(1, turnOf(text.chosen)))} of ${grouped(turns)}`;
  if ($("where").textContent !== said) $("where").textContent = said;
  $("where").disabled = !turns;
}

/** Returns the last thing that was said on the path to the end of the conversation; -1 if nothing was. */
function latestSaid() {
  for (let n = session.leaf; n >= 0; n = session.parent[n]) {
    const isSaid = session.kind[n] === "u" || session.kind[n] === "a" && !(bitsOf(n) & SILENT);
    if (isSaid && !session.concealed.has(n)) return n;
  }
  return session.leaf;
}

/** The maximum number of prompts in the index, around the one that is read. */
const MOST_PROMPTS = 2000;

/** Opens the index of the prompts. */
function openPrompts() {
  const { starts, all } = text, turn = Math.max(1, turnOf(text.chosen));
  if (!starts.length) return;
  const first = Math.max(1, Math.min(turn - MOST_PROMPTS / 2, starts.length - MOST_PROMPTS + 1));
  const items = [];
  for (let at = first; at <= starts.length && items.length < MOST_PROMPTS; at++) items.push(promptItem(at, all[starts[at - 1]], at === turn));
  $("prompt-list").start = first;
  $("prompt-list").replaceChildren(...items);
  $("prompts").showModal();
  const current = $("prompt-list").querySelector("[aria-current]");
  current.focus();
  current.scrollIntoView({ block: "center" });
}

/** Returns an item of the index: the prompt, the sums of its turn, and the commits made in it. */
function promptItem(turn, n, isCurrent) {
  const item = make("li"), link = linkToEntry(n, "…"), sums = session.took.length ? sumTurn(turn) : null;
  link.dir = "auto";
  if (isCurrent) link.setAttribute("aria-current", "true");
  rowPieces.get(n).then((row) => { link.textContent = row.split("\t").slice(1).join("") || session.ids[n]; });
  item.append(link);
  const said = sums && turnText(sums);
  if (said) item.append(make("div", "turnsums", said));
  for (const commit of sums?.commits ?? []) {
    const line = make("div", "commit"), hash = linkToEntry(commit.n, commit.hash);
    hash.title = "The command that made this commit";
    line.append(hash, ` ${commit.subject}`);
    item.append(line);
  }
  return item;
}

function linkToEntry(n, said) {
  const link = make("a", "", said);
  link.href = linkTo(n);
  link.dataset.to = n;
  return link;
}
