// A small seeded random generator: the same seed always gives the same session.

/** mulberry32, seeded by hashing `seed` (any string). */
export function random(seed) {
  let state = hash(seed);
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const below = (n) => Math.floor(next() * n);
  const self = {
    below,
    between: (low, high) => low + below(high - low + 1),
    chance: (p) => next() < p,
    pick: (list) => list[below(list.length)],
    /** Picks from `[[weight, value], ...]`. */
    weighted(choices) {
      let at = next() * choices.reduce((sum, [weight]) => sum + weight, 0);
      for (const [weight, value] of choices) if ((at -= weight) < 0) return value;
      return choices.at(-1)[1];
    },
    /** Picks up to `n` different members, in their order. */
    some(list, n) {
      const left = new Set(list.keys());
      while (left.size > n) left.delete([...left][below(left.size)]);
      return [...left].map((index) => list[index]);
    },
    shuffled(list) {
      const all = [...list];
      for (let i = all.length - 1; i > 0; i--) {
        const j = below(i + 1);
        [all[i], all[j]] = [all[j], all[i]];
      }
      return all;
    },
    hex: (n) => Array.from({ length: n }, () => below(16).toString(16)).join(""),
  };
  return self;
}

function hash(text) {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return h >>> 0;
}
