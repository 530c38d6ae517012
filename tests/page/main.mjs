// Compares the pages that pisess writes with its other commands, and checks their safety. Started by run: all
// tests, or those whose name contains the first argument.

if (process.argv[2] === "--bench") {
  const { bench } = await import("./bench.mjs");
  await bench(process.argv.slice(3));
  process.exit(0);
}

if (process.argv[2] === "--picture") {
  const { picture } = await import("./picture.mjs");
  await picture(process.argv[3]);
  process.exit(0);
}

const { finish } = await import("./check.mjs");
for (const part of ["tree", "texts", "calm", "controls", "turns", "reading", "layout", "search", "phone", "moving", "whole", "safety", "large"]) await import(`./${part}.mjs`);
await finish();
