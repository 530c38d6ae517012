// Minimizes a session that fails: removes entries while it still fails in the same way.

/** Returns the remaining lines of a session; `fails(lines)` returns whether it still fails. */
export async function shrink(lines, fails, tries = 150) {
  let left = lines;
  const fixed = left.findIndex((line) => typeOf(line) === "session") + 1;
  for (let chunk = Math.ceil(left.length / 2); chunk >= 1; chunk = chunk > 1 ? Math.ceil(chunk / 2) : 0) {
    for (let at = left.length - chunk; at >= fixed && tries > 0; at -= chunk) {
      const fewer = without(left, at, chunk);
      tries--;
      if (await fails(fewer)) left = fewer;
      at = Math.min(at, left.length);
    }
  }
  return left;
}

const typeOf = (line) => JSON.parse(line).type;

/** Removes lines; their children become children of the removed entry's parent. */
function without(lines, at, count) {
  const gone = new Map();
  for (const line of lines.slice(at, at + count)) {
    const { id, parentId } = JSON.parse(line);
    if (typeof id === "string") gone.set(id, parentId ?? null);
  }
  const above = (id) => {
    for (let steps = 0; gone.has(id) && steps <= gone.size; steps++) id = gone.get(id);
    return id;
  };
  const kept = [...lines.slice(0, at), ...lines.slice(at + count)];
  return kept.map((line) => {
    const { parentId } = JSON.parse(line);
    if (!gone.has(parentId)) return line;
    return line.replace(/("parentId": ?)"[^"]*"/, (_, key) => `${key}${JSON.stringify(above(parentId))}`);
  });
}
