// What a run of tools did, in words: the files that were read and edited, the commands that were run.

/** The verbs for tools by their names; any other tool is named as it is. */
const VERBS = {
  read: "Read", write: "Wrote", edit: "Edited", multiedit: "Edited", notebookedit: "Edited", apply_patch: "Edited",
  bash: "Ran", shell: "Ran", local_shell: "Ran", exec_command: "Ran",
  grep: "Searched", find: "Looked for", glob: "Looked for", ls: "Listed",
};

/** The maximum number of objects of a verb, and of characters of a command beside others. */
const MOST_OBJECTS = 3;
const LONGEST_COMMAND = 60;

/** Returns the parts of the line of a run: its first verb, what was done, and a mark if something failed. */
function deedParts(tools, missing) {
  const deeds = groupDeeds(tools, missing), isSingle = tools.length === 1;
  const said = deeds.map(({ verb, objects }, at) => [at > 0 && verb, objectsText([...objects.values()], isSingle)].filter(Boolean).join(" "));
  const parts = [["who", deeds[0].verb], ["says", said.join(" · ")]];
  const failed = tools.filter((n) => endingOf(n));
  if (isSingle && failed.length) parts.push(["mark bad", failureText(failed[0])]);
  else if (failed.length) parts.push(["mark bad", `${failed.length} failed`]);
  return parts;
}

/** Groups tools by their verbs, then by their objects, in the order of their first uses. */
function groupDeeds(tools, missing) {
  const groups = new Map();
  for (const n of tools) {
    const [name, ...words] = rowOf(n, missing), verb = VERBS[name.toLowerCase()] ?? name;
    if (!groups.has(verb)) groups.set(verb, { verb, objects: new Map() });
    const { objects } = groups.get(verb), object = objectOf(verb, words);
    const known = objects.get(object) ?? { object, added: 0, removed: 0, failure: "" };
    const changes = session.changesOf.get(n);
    if (changes) {
      known.added += changes.added;
      known.removed += changes.removed;
    }
    if (endingOf(n)) known.failure = failureText(n);
    objects.set(object, known);
  }
  return [...groups.values()];
}

/** Returns what a tool worked on: the name of a file without its folder and lines, or a command, or a pattern. */
function objectOf(verb, words) {
  const isFile = ["Read", "Wrote", "Edited"].includes(verb) && words.length > 1;
  return isFile ? words.at(-1).replace(/:\d+(-\d+)?$/, "") : words.join("");
}

const failureText = (n) => (session.exitOf.has(n) ? `✗ exit ${session.exitOf.get(n)}` : "✗");

/** Returns the first objects of a verb, and how many more there are. A single tool has its failure in a mark. */
function objectsText(objects, isSingle) {
  const shown = objects.slice(0, MOST_OBJECTS).map(({ object, added, removed, failure }) => {
    const letters = [...object], isLong = !isSingle && letters.length > LONGEST_COMMAND;
    const name = isLong ? `${letters.slice(0, LONGEST_COMMAND).join("").trimEnd()}…` : object;
    return [name, changeText({ added, removed }), !isSingle && failure].filter(Boolean).join(" ");
  });
  const more = objects.length - shown.length;
  return shown.filter(Boolean).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
