// Rows of the tree, and where pisess draws on purpose otherwise than the agent.

/** Pairs of `[expected, actual]` rows that must be equal. */
export function rows(expected, actual, { dialect, filter }) {
  const drawn = new Map(actual.map((row) => [row.id, row]));
  const known = new Set(expected.map((row) => row.id));
  // In `all`, pisess shows what the agents hide in every mode, so their rows must
  // stand among its own, in their order; the depths of the two cannot agree.
  const compared = filter === "all" ? actual.filter((row) => known.has(row.id)) : actual;
  const depth = dialect === "pi" && filter !== "all";
  return [
    expected.map((row) => shape(row, row.text, depth)),
    compared.map((row) => {
      const wanted = expected.find((other) => other.id === row.id);
      return shape(row, wanted && textLike(wanted.text, drawn.get(row.id)) ? wanted.text : row.text, depth);
    }),
  ];
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
