"""Loads a file of conversations with datasets: it must have every line, with the messages as they are."""

import json
import sys

import datasets

path, cache = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    lines = [json.loads(line) for line in file]
assert len(lines) > 20, f"only {len(lines)} conversations"

loaded = datasets.load_dataset("json", data_files=path, split="train", cache_dir=cache)
assert loaded.column_names == ["messages", "tools"], loaded.column_names
assert len(loaded) == len(lines), f"{len(loaded)} of {len(lines)} conversations"
for number, (line, row) in enumerate(zip(lines, loaded), 1):
    for wanted, found in zip(line["messages"], row["messages"], strict=True):
        for key, value in wanted.items():
            assert found[key] == value, f"line {number}: {key} is {found[key]!r}, not {value!r}"
        assert found["role"] in ("system", "user", "assistant", "tool"), found["role"]
    ids = [call["id"] for message in line["messages"] for call in message.get("tool_calls") or []]
    answers = [message["tool_call_id"] for message in line["messages"] if message["role"] == "tool"]
    assert set(answers) <= set(ids), f"line {number}: a result without a call"
print(f"{len(lines)} conversations load")
