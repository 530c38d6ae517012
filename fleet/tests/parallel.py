"""Compares what the recipe for GNU parallel left in a directory with one run of pisess: parallel.py WORK"""

import csv
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

WORK = Path(sys.argv[1])
PATTERN = "error context|größer"


def main():
    os.chdir(WORK)
    entries, hits = rows("stats", "--by", "entry", "--json"), rows("grep", "--json", "-e", PATTERN)
    assert any(row["subAgents"] for row in entries), "no usage of sub-agents"
    equal(Counter(map(text, read("entries.jsonl"))), Counter(map(text, entries)), "rows of entries")
    equal(Counter(map(text, read("hits.jsonl"))), Counter(map(text, hits)), "hits")
    whole = json.loads(pisess("stats", "--json", "sessions"))
    (totals,) = csv.DictReader(Path("totals.csv").open())
    equal(float(totals["tokens"]), whole["tokens"]["total"], "tokens")
    equal(round(float(totals["cost"]), 6), round(whole["cost"], 6), "cost")
    equal(int(totals["unpriced"]), whole["unpriced"], "unpriced")
    copies = compare_copies()
    print(f"parallel: {len(list(Path('sessions').rglob('*.jsonl'))):,} sessions on two hosts over ssh, "
          f"{int(totals['requests']):,} requests, {whole['tokens']['total']:,} tokens, ${whole['cost']:.6f}, "
          f"{len(hits):,} hits, {copies:,} redacted copies: all as on one machine")


def compare_copies():
    found = {str(path.relative_to("copies")): digest(path) for path in Path("copies").rglob("*") if path.is_file()}
    paths = [path for path in Path("sessions").rglob("*.jsonl") if path.name != "broken.jsonl"]
    with ThreadPoolExecutor() as pool:
        expected = dict(zip(map(str, paths), pool.map(redacted, paths)))
    equal(found, expected, "redacted copies")
    return len(found)


def redacted(path):
    """Returns the hash of the copy that `redact -o` makes of one session."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        pisess("redact", "-q", "-o", f"{folder}/copy", path)
        return digest(Path(folder, "copy"))


def rows(*words):
    return list(map(json.loads, pisess(*words, "sessions").splitlines()))


def read(name):
    return list(map(json.loads, Path(name).read_text().splitlines()))


def pisess(*words):
    done = subprocess.run(["pisess", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert done.returncode == 0, f"pisess {words[0]} fails"
    return done.stdout.decode()


def text(row):
    return json.dumps(row, sort_keys=True)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def equal(found, expected, what):
    if found != expected:
        raise AssertionError(f"{what}: {str(found)[:1000]} on two hosts, {str(expected)[:1000]} on one machine")


if __name__ == "__main__":
    main()
