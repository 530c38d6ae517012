#!/usr/bin/env python3
"""Makes a fleet of sessions from a seed: sessions.py GENERATOR DIR COUNT

GENERATOR is the benchmark `compare`, which writes the sessions; the rest are made from these, so that what matters
between files occurs: forks, whole copies, sub-agents, older formats, secrets, damage.
"""

import hashlib
import os
import random
import re
import subprocess
import sys

ID = re.compile(rb'"(id|parentId|targetId)":"([0-9a-f]{8})"')
TOTAL = re.compile(rb'"total":[0-9.]+')


def main(generator, folder, count):
    os.makedirs(folder)
    rng = random.Random(15)
    base = [generated(generator, folder, "turns", 12 + rng.randrange(24), seed) for seed in range(max(count // 10, 4))]
    old = [generated(generator, folder, "v1", 20, seed) for seed in range(max(count // 100, 1))]
    made = 0
    for number, lines in enumerate(old):
        made += put(folder, f"old/{number:04}", lines)
    # A copy of a file in version 1, whose entries have no ids.
    made += put(folder, "old/copy of 0000", old[0])
    made += put(folder, "broken", [b"not a session\n"])
    # In a small fleet, chance may leave out every secret. With numbers of its own, it changes no other session.
    own = random.Random(16)
    made += put(folder, "secret", new(own, base[0]) + [with_secret(own)])
    # The last one may bring three others with it.
    while made < count - 3:
        lines = varied(rng, new(rng, base[rng.randrange(len(base))]))
        name = f"project {rng.randrange(30)}/{rng.getrandbits(48):012x}"
        made += put(folder, name, lines)
        shape = rng.random()
        if shape < 0.3:
            made += fork(rng, folder, name, lines)
        elif shape < 0.35:
            made += put(folder, name.replace("project", "backup"), lines)
        elif shape < 0.42:
            made += put(folder, f"{name}/1", new(rng, base[0]) + [task(rng)])
            made += put(folder, f"{name}/1/2", new(rng, base[1]))
            made += put(folder, f"{name}/__advisor", new(rng, base[2]))
        elif shape < 0.5:
            # pi-subagents names the session of each run; that of the second is missing.
            runs = [f"{rng.getrandbits(32):08x}" for _ in range(2)]
            made += put(folder, f"{name}/{runs[0]}/run-0/session", new(rng, base[3]))
            with_runs = lines + [delegated(rng, f"/elsewhere/{run}/run-0/session.jsonl") for run in runs]
            put(folder, name, with_runs)
            if shape < 0.46:
                made += put(folder, name.replace("project", "fork"), with_runs)
    while made < count:
        made += put(folder, f"last/{made}", new(rng, base[made % len(base)]))


def generated(generator, folder, shape, entries, seed):
    path = os.path.join(folder, "generated")
    subprocess.run([generator, "generate", shape, str(entries), str(seed), path], check=True, stdout=subprocess.DEVNULL)
    with open(path, "rb") as file:
        lines = file.readlines()
    os.remove(path)
    return lines


def put(folder, name, lines):
    path = os.path.join(folder, f"{name}.jsonl")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.writelines(lines)
    return 1


def new(rng, lines):
    """Returns a session with the same texts, and ids, times and costs of its own."""
    salt = rng.randbytes(8)
    again = lambda found: b'"%s":"%s"' % (found[1], hashlib.sha256(salt + found[2]).hexdigest()[:8].encode())
    cost = lambda found: b'"total":%.6f' % (rng.random() / 7)
    session = f'"id":"{rng.getrandbits(48):012x}-{rng.getrandbits(16):04x}"'.encode()
    first = re.sub(rb'"id":"[^"]*"', session, lines[0])
    return [first] + [TOTAL.sub(cost, ID.sub(again, line)) for line in lines[1:]]


def fork(rng, folder, name, lines):
    """A fork copies entries with their ids and times, and continues with its own."""
    cut = rng.randrange(2, len(lines))
    own = new(rng, lines)
    return put(folder, f"{name.replace('project', rng.choice(['fork', 'split']))}", own[:1] + lines[1:cut] + own[cut:])


def varied(rng, lines):
    """Returns the session with what occurs now and then."""
    shape = rng.randrange(12)
    if shape == 0:
        lines = lines + [with_secret(rng)]
    elif shape == 1:
        lines = lines + [b'{"type":"message","id":"torn']
    elif shape == 2:
        lines = [line.replace(b'"cost":', b'"price":') for line in lines]
    elif shape == 3:
        # An entry without an id, as other programs write.
        lines = lines + [re.sub(rb'"id":"\w+",', b"", line) for line in lines[-1:]]
    return lines + [task(rng)] if shape > 9 else lines


def task(rng):
    """The result of a task reports what its sub-agents used."""
    usage = '{"input":%d,"output":%d,"cost":{"total":%.6f}}' % (rng.randrange(9999), rng.randrange(999), rng.random())
    return message(rng, "toolResult", f'"toolName":"task","content":[],"details":{{"usage":{usage}}}')


def delegated(rng, session):
    """The result of a sub-agent of pi-subagents has its usage and the path of its session."""
    usage = '{"input":%d,"output":%d,"cost":{"total":%.6f}}' % (rng.randrange(9999), rng.randrange(999), rng.random())
    details = f'{{"results":[{{"sessionFile":"{session}"}}]}}'
    return message(rng, "toolResult", f'"toolName":"subagent","content":[],"usage":{usage},"details":{details}')


def message(rng, role, rest):
    time = f"2026-04-{1 + rng.randrange(28):02}T10:00:00.{rng.randrange(1000):03}Z"
    return (f'{{"type":"message","id":"{rng.getrandbits(32):08x}","parentId":null,"timestamp":"{time}",'
            f'"message":{{"role":"{role}",{rest}}}}}\n').encode()


def with_secret(rng):
    return message(rng, "user", '"content":"the key is ghp_%s"' % secret(rng, 36))


def secret(rng, length):
    return "".join(rng.choices("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", k=length))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
