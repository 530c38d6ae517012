// Rows of the tree, and where pisess draws on purpose otherwise than the agent.

/** Pairs of `[expected, actual]` rows that must be equal. */
export function rows(expected, actual, { dialect, filter, search }) {
  const drawn = new Map(actual.map((row) => [row.id, row]));
  const known = new Set(expected.map((row) => row.id));
  // In `all`, pisess shows what the agents hide in every mode, and a search looks through more than
  // the agents' does, so their rows must be among its own, in their order; the depths of the two
  // cannot agree.
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
 * Whether a row that a search found holds its words, and says where: a row that the agent finds, too,
 * may answer by its role or by likeness.
 */
export function matches({ label, match }, line, search, known) {
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

/** All strings and numbers of a value. */
function strings(value) {
  if (typeof value !== "object" || value === null) return [`${value}`];
  return Object.values(value).flatMap(strings);
}

/** The value at a path such as `message.content[0].arguments["a key"]`. */
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
 * Rows are cut at 200 units, where the agents let some run on; types that the
 * agent draws as nothing show their name.
 */
export function textLike(expected, { text: stored, type }) {
  // A terminal has tabs drawn as three columns.
  const text = expected.includes("\t") ? stored : stored.replaceAll("\t", "   ");
  if (text === expected || text.toWellFormed() === expected.toWellFormed()) return true;
  if (expected === "") return text.includes(type) || text.includes(type.replaceAll("_", " "));
  const shown = text.replace(/…$/, "");
  return shown.length >= 199 && expected.startsWith(shown);
}
