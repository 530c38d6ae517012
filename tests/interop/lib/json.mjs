// JSON as the generator writes it (with spellings that JSON.stringify never uses), and the comparison of JSON
// values.

/** A value written verbatim. */
export class Raw {
  constructor(text) {
    this.text = text;
  }
}

/** An object whose keys are written in this order, with duplicates. */
export class Pairs {
  constructor(pairs) {
    this.pairs = pairs;
  }
}

/** Returns one line of a session, sometimes in a spelling that only other writers use. */
export function write(value, random) {
  const odd = random.chance(0.08);
  const text = (string) => (odd ? spelled(string, random) : JSON.stringify(string));
  const gap = random.chance(0.04) ? " " : "";
  const go = (node) => {
    if (node instanceof Raw) return node.text;
    if (node instanceof Pairs) return object(node.pairs);
    if (Array.isArray(node)) return `[${node.map((item) => (item === undefined ? "null" : go(item))).join(`,${gap}`)}]`;
    if (node && typeof node === "object") return object(Object.entries(node));
    return typeof node === "string" ? text(node) : JSON.stringify(node);
  };
  const object = (pairs) =>
    `{${pairs
      .filter(([, member]) => member !== undefined)
      .map(([key, member]) => `${JSON.stringify(key)}:${gap}${go(member)}`)
      .join(`,${gap}`)}}`;
  return go(value);
}

function spelled(string, random) {
  let text = '"';
  for (let i = 0; i < string.length; i++) {
    const unit = string.charCodeAt(i);
    if (string[i] === "/" && random.chance(0.5)) text += "\\/";
    else if (unit > 126 || (unit > 96 && random.chance(0.05))) text += `\\u${unit.toString(16).padStart(4, "0")}`;
    else text += JSON.stringify(string[i]).slice(1, -1);
  }
  return `${text}"`;
}

/** -0 equals 0; null equals a number too large for JavaScript, because the agent writes null for it. */
const same = (expected, actual) => expected === actual || (expected === null && Math.abs(actual) === Infinity);

/** Returns a value after a round trip through JSON: without undefined, -0 and NaN. */
export const plain = (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));

/**
 * Returns the first difference between two plain values, as `{pointer, expected, actual}`, or null. The order of
 * keys matters only if requested.
 */
export function difference(expected, actual, { order = false } = {}, pointer = "") {
  if (same(expected, actual)) return null;
  const differ = { pointer, expected, actual };
  if (!expected || !actual || typeof expected !== "object" || typeof actual !== "object") return differ;
  if (Array.isArray(expected) !== Array.isArray(actual)) return differ;
  if (Array.isArray(expected)) {
    for (let i = 0; i < Math.min(expected.length, actual.length); i++) {
      const found = difference(expected[i], actual[i], { order }, `${pointer}/${i}`);
      if (found) return found;
    }
    if (expected.length === actual.length) return null;
    const at = Math.min(expected.length, actual.length);
    return { pointer: `${pointer}/${at}`, expected: expected[at], actual: actual[at] };
  }
  for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
    const step = `${pointer}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    if (!Object.hasOwn(expected, key) || !Object.hasOwn(actual, key)) {
      return { pointer: step, expected: expected[key], actual: actual[key] };
    }
    const found = difference(expected[key], actual[key], { order }, step);
    if (found) return found;
  }
  if (order && Object.keys(expected).join() !== Object.keys(actual).join()) {
    return { pointer: `${pointer} (order of keys)`, expected: Object.keys(expected), actual: Object.keys(actual) };
  }
  return null;
}
