// Compares whole files, except for random ids and times.

import { difference } from "./json.mjs";

const HEADER = ["type", "version", "cwd"];

/**
 * Compares a fork by the agent with one by pisess (both parsed): the same entries with their keys in the same
 * order.
 */
export function sameEntries(expected, actual, { dialect, chained }) {
  const [wanted, found] = [expected, actual].map((lines) => lines.filter((line) => line.type !== "title"));
  const head = ([header]) => Object.fromEntries(HEADER.map((name) => [name, header?.[name]]));
  const keys = ([header]) => Object.keys(header ?? {});
  const other = difference(head(wanted), head(found)) ?? (dialect === "pi" ? difference(keys(wanted), keys(found)) : null);
  if (other) return { ...other, pointer: `/0${other.pointer}` };
  const entries = (lines) => renamed(lines.slice(1)).map((entry) => settled(entry, { dialect, chained }));
  const differing = difference(entries(wanted), entries(found), { order: true });
  return differing && { ...differing, pointer: `(entries)${differing.pointer}` };
}

/** Renames new labels by position; all other entries keep their ids. */
function renamed(entries) {
  const fresh = new Map(entries.flatMap((entry, at) => (entry.type === "label" ? [[entry.id, `label ${at}`]] : [])));
  return entries.map((entry) => ({
    ...entry,
    id: fresh.get(entry.id) ?? entry.id,
    parentId: fresh.get(entry.parentId) ?? entry.parentId,
  }));
}

/** oh-my-pi gives the labels of a fork the current time, and does not relink the children of dropped labels. */
function settled(entry, { dialect, chained }) {
  const { parentId, firstKeptEntryId, ...rest } = entry;
  const kept = chained ? entry : rest;
  return dialect !== "pi" && entry.type === "label" ? { ...kept, timestamp: "now" } : kept;
}

/**
 * Compares a migration by the agent (lines) with one by pisess (text). Ids of entries that had none are random in
 * the former and derived in the latter. A line that a migration from version 2 need not change must be identical.
 */
export function sameMigration(source, expected, actual) {
  const [before, after] = [source, actual].map((text) => text.split("\n").filter((line) => line.trim() && !isSlot(line)));
  const wanted = expected.filter((line) => !isSlot(line)).map((line) => JSON.parse(line));
  const found = after.map((line) => JSON.parse(line));
  const differing = difference(byPosition(wanted), byPosition(found), { order: true });
  if (differing) return differing;
  const changed = before.findIndex((line, at) => {
    const [old, now] = [JSON.parse(line), found[at]];
    return JSON.stringify(old) === JSON.stringify(now) && line !== after[at];
  });
  if (changed >= 0) return { pointer: `/${changed} (bytes)`, expected: before[changed], actual: after[changed] };
  return null;
}

/** oh-my-pi adds a title line, and the title to the header, whenever it writes a whole file; pisess never does. */
const untitled = ({ title, titleSource, ...header }) => header;
const isSlot = (line) => line.startsWith('{"type":"title","v":1');

function byPosition(values) {
  const names = new Map(values.flatMap(({ id }, at) => (id === undefined ? [] : [[id, `entry ${at}`]])));
  const name = (id) => names.get(id) ?? id;
  return values.map((value) => {
    if (value.type === "session") return untitled(value);
    const renamed = { ...value, id: name(value.id), parentId: name(value.parentId) };
    if ("firstKeptEntryId" in value) renamed.firstKeptEntryId = name(value.firstKeptEntryId);
    return renamed;
  });
}
