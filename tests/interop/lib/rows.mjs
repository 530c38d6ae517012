// Rows of the tree, and where those of pisess differ from the agent's on purpose.

/** Returns pairs of `[expected, actual]` rows that must be equal. */
export function rows(expected, actual, { dialect, filter, search }) {
  const drawn = new Map(actual.map((row) => [row.id, row]));
  const known = new Set(expected.map((row) => row.id));
  // With `all`, pisess shows what the agents hide in every mode, and a search of pisess covers more text than
  // theirs. So their rows must be among those of pisess, in the same order; depths are not compared.
  const more = filter === "all" || search;
  const compared = more ? actual.filter((row) => known.has(row.id)) : actual;
  const depth = dialect === "pi" && !more;
  return [
    expected.map((row) => shape(row, row.text, depth)),
    compared.map((row) => {
      const wanted = expected.find((other) => other.id === row.id);
      return shape(row, wanted && textLike(wanted.text, drawn.get(row.id)) ? wanted.text : row.text, depth);
    }),
  ];
}

/**
 * Whether the match of a row contains a word that was searched for. If the agent finds the row, too, it may match
 * by its role or approximately. For oh-my-pi, words consist of letters, marks and digits; a search without any finds
 * all rows.
 */
export function matches({ label, match }, line, search, known, dialect) {
  if (dialect === "omp" && match === null && !/[\p{L}\p{M}\p{N}]/u.test(search)) return true;
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return match === undefined;
  const entry = JSON.parse(line);
  const said = [label ?? "", ...strings(entry)].join("\n").toLowerCase();
  if (!known && !words.every((word) => said.includes(word))) return false;
  if (match === null) return known;
  const field = match.field === "label" && entry.type !== "label" ? label : at(entry, match.field);
  return `${field}`.slice(match.start, match.end).toLowerCase().length > 0 &&
    words.includes(`${field}`.slice(match.start, match.end).toLowerCase());
}

/** Returns all values in a value, as strings. */
function strings(value) {
  if (typeof value !== "object" || value === null) return [`${value}`];
  return Object.values(value).flatMap(strings);
}

/** Returns the value at a path such as `message.content[0].arguments["a key"]`. */
function at(value, path) {
  const steps = [...path.matchAll(/([A-Za-z_]\w*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/g)];
  return steps.reduce((inner, [, key, index, quoted]) => inner?.[key ?? (quoted ? JSON.parse(quoted) : Number(index))], value);
}

const shape = ({ id, label, active, depth }, text, withDepth) => ({
  id,
  label: label ?? null,
  active,
  text,
  ...(withDepth && { depth }),
});

/**
 * Whether the texts of two rows are equal, except that pisess truncates at 200 units, where the agents do not
 * always, and shows the type of an entry for which the agent draws nothing.
 */
export function textLike(expected, { text: stored, type }) {
  // The agents draw a tab as three spaces.
  const text = expected.includes("\t") ? stored : stored.replaceAll("\t", "   ");
  if (text === expected || text.toWellFormed() === expected.toWellFormed()) return true;
  if (expected === "") return text.includes(type) || text.includes(type.replaceAll("_", " "));
  const shown = text.replace(/…$/, "");
  return shown.length >= 199 && expected.startsWith(shown);
}
