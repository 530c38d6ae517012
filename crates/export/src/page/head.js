// The heading of the page, and the facts about the session.

function showHead() {
  const { name, title, cwd, left, work } = session;
  document.title = title;
  $("title").textContent = name ?? title;
  const project = cwd?.split(/[\\/]/).findLast(Boolean), time = session.time.find((time) => time !== null);
  const date = time === undefined ? "" : new Date(time).toLocaleDateString(undefined, { dateStyle: "medium" });
  const models = session.models.map((model) => model.split("/").pop());
  const model = models.length > 3 ? `${models.length} models` : models.join(", ");
  setText("about", [project, date, model]);
  const { prompts, calls, took, span } = work, tokens = session.tokensOfAll, cost = session.costOfAll, { pricesOf } = session;
  setText("facts", [prompts && countText(prompts, "prompt"), calls && countText(calls, "tool"), timeText(took, span),
    tokens && `${tokensOf(tokens)} tokens`, cost && dollars(cost, pricesOf), pricesOf && `prices of ${pricesOf}`, left]);
}

/** Shows facts in an element, also where the pointer is on it, as they may not fit. */
function setText(id, facts) {
  $(id).textContent = facts.filter(Boolean).join(" · ");
  $(id).title = $(id).textContent;
}

/** Returns how long the agent worked, and over which time, in milliseconds. */
function timeText(took, span) {
  const work = workTime(took), whole = duration(span / 1000);
  if (!work) return whole && `over ${whole}`;
  return whole && whole !== work ? `${work} of work, over ${whole}` : `${work} of work`;
}

/** Returns a time in milliseconds that the agent worked; empty below a second. */
function workTime(took) {
  const seconds = Math.floor(took / 1000);
  if (seconds >= 60) return duration(seconds);
  return seconds ? `${seconds} s` : "";
}

/** Returns a time as text; empty below a minute. */
function duration(seconds) {
  if (!(seconds >= 60)) return "";
  const minutes = Math.floor(seconds / 60), hours = Math.floor(minutes / 60), days = Math.floor(hours / 24);
  if (days > 1) return `${days} days`;
  return hours ? `${hours} h ${minutes % 60} min` : `${minutes} min`;
}

/** The options with which the agents open a session. */
const OPENING = { pi: "--session", omp: "--resume" };

/** Opens the facts about the session that a reader seldom needs. */
function openAbout() {
  const { cwd, agent, program, file, branches, made, kind } = session, id = session.session;
  const opens = OPENING[program] && id ? `${program} ${OPENING[program]} ${quoted(id)}` : "";
  const command = opens && cwd ? `cd ${quoted(cwd)} && ${opens}` : opens;
  const facts = [["Counts", $("facts").textContent], ["Id", id], ["File", file], ["Directory", cwd], ["Agent", agent], ["Branches", `${branches}`],
    ["Compactions", `${kind.split("c").length - 1}`], ["Exported by", made]];
  const list = [];
  for (const [name, value] of facts) if (value) list.push(make("dt", "", name), make("dd", "", value));
  if (command) {
    const copy = make("button", "", "Copy"), value = make("dd");
    copy.setAttribute("aria-label", "Copy the command");
    copy.addEventListener("click", () => copyText(command, "Command copied"));
    value.append(make("code", "", command), " ", copy);
    list.push(make("dt", "", "Continue"), value);
  }
  $("about-list").replaceChildren(...list);
  $("session").showModal();
}

/** Returns a word as a shell takes it. */
const quoted = (word) => (/^[\w./:@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
