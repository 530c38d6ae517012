// Text as sessions contain it, and unusual text.

const WORDS =
  "please fix the parser test add module error build branch summary token context file list read write again done why because first then maybe check over limit naïve façade Straße größer 検索 日本語 문서 строка дерево שלום مرحبا 🚀 👩‍👩‍👧 ✓ e\u0301".split(
    " ",
  );

const ODD = [
  "",
  " ",
  "\n",
  "...",
  " … . ",
  "\ufeffbom",
  "\u00a0nbsp\u00a0",
  "tab\there",
  "one\ntwo\r\nthree",
  "\ud83d",
  "half \ude00 pair",
  "\ud83d\ud83d\ude00\ude00",
  "</summary>",
  "<conversation>inner</conversation> < / Previous-Summary >",
  "```\nfenced\n```",
  "quote \" and \\ slash / end",
  "\u2028line\u2029para",
  "\u0000nul\u007fdel\u0085nel",
  "bell\u0007",
  "\u202ereversed\u202c",
  "{{ handlebars }} {{#if x}}y{{/if}}",
  "$& $1 $$ %s",
  "&amp; <b>bold</b>",
  "constructor",
  "<system-note kind=\"x\">inner <system-y>z</system-y></system-note>",
];

export const HOME = "/tmp/interop-home";

const PATHS = [
  "src/main.rs",
  "src/deep/er/mod.rs",
  `${HOME}/notes.md`,
  `${HOME}`,
  `${HOME}sick/x.md`,
  "/etc/hosts",
  "/tmp/with space.txt",
  "données/fichier é.txt",
  "C:\\work\\a.ts",
  "a",
  "Z",
  "\u{10ffff}private",
  "\uffee.halfwidth",
];

export function words(random, most = 12) {
  const n = random.between(1, most);
  return Array.from({ length: n }, () => random.pick(WORDS)).join(" ");
}

/** Returns a text; one in five is unusual. */
export function text(random, most = 12) {
  return random.weighted([
    [16, () => words(random, most)],
    [2, () => random.pick(ODD)],
    [1, () => `${words(random, 4)}${random.pick(ODD)}${words(random, 4)}`],
    [1, () => long(random)],
  ])();
}

/** Returns a text whose length is near one at which the agents truncate: 40, 50, 80, 200, 500, 2,000. */
export function long(random) {
  const length = random.pick([40, 50, 80, 200, 500, 2000]) + random.between(-2, 2);
  const filler = random.pick(["x", "é", "語", "🚀", "ab \n"]);
  const lead = random.pick(["", "a", "ab"]);
  return (lead + filler.repeat(length)).slice(0, length + random.pick([0, 0, 1, 50]));
}

export const path = (random) => (random.chance(0.9) ? random.pick(PATHS) : text(random, 3));
