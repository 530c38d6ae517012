"""The part of fleet/tests/spark that starts Spark, kills a worker, and compares: spark.py WORK PISESS"""

import hashlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PATTERN = "error context|größer"
WORK, PISESS = Path(sys.argv[1]), sys.argv[2]
SESSIONS = WORK / "sessions"


def main():
    expected = Expected()
    paths = sorted(map(str, SESSIONS.rglob("*.jsonl")), key=os.fsencode)
    (WORK / "list").write_text("".join(f"{path}\n" for path in paths))
    by_list = ["--list", str(WORK / "list"), "--per-task", str(max(len(paths) // 40, 1)), "--copies", str(WORK / "copies")]
    by_bytes = ["--bytes", str(SESSIONS), "--redact"]
    for name, source in [("list", by_list), ("bytes", by_bytes)]:
        if name == "bytes":
            # Spark's data sources ignore names that begin with "_": docs/fleet.md.
            for advisor in SESSIONS.rglob("__advisor*.jsonl"):
                advisor.unlink()
            expected, paths = Expected(), [path for path in paths if Path(path).exists()]
        run = Run(name, source, len(paths))
        run.start_and_kill()
        expected.compare(run, paths)


# The program that the workers run in place of pisess. Once half of the sessions are begun, it waits until a worker is
# killed, so that there is a middle however fast the machine is.
GATE = """#!/bin/sh
if [ "$1" = stats ]; then
    echo >>{begun}
    [ "$(wc -l <{begun})" -le {half} ] || until [ -e {killed} ]; do sleep 0.05; done
fi
exec {pisess} "$@"
"""
# What keeps a run of few sessions short: such a run is over before optimized code is worth the time to compile it, and
# Spark's default of 200 tasks takes longer than these tables.
JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SHORT = {"spark.driver.extraJavaOptions": JVM, "spark.executor.extraJavaOptions": JVM, "spark.sql.shuffle.partitions": "4"}
FEW = 200
# Seconds until a worker must have been killed.
LIMIT = 600


class Run:
    """A run of the job, in which a worker is killed."""

    def __init__(self, name, source, sessions):
        self.name, self.output, self.log = name, WORK / f"{name}.tables", WORK / f"{name}.log"
        with socket.socket() as any_port:
            any_port.bind(("127.0.0.1", 0))
            self.ui = f"http://127.0.0.1:{any_port.getsockname()[1]}/api/v1/applications"
        self.events = WORK / f"{name}.events"
        self.events.mkdir()
        self.is_killed = WORK / f"{name}.killed"
        gate = WORK / "bin" / f"{name}-gate"
        gate.write_text(GATE.format(begun=WORK / f"{name}.begun", half=sessions // 2, killed=self.is_killed, pisess=PISESS))
        gate.chmod(0o755)
        settings = {
            "spark.ui.port": self.ui.split(":")[2].split("/")[0], "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": f"file://{self.events}", "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.compress": "false", "spark.local.dir": str(WORK / "scratch"), "spark.ui.showConsoleProgress": "false",
            # Some 40 tasks: Spark counts a small file as 4 MB.
            "spark.sql.files.maxPartitionBytes": str(4194304 * max(sessions // 40, 1)),
        }
        if sessions < FEW:
            settings.update(SHORT)
        confs = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
        self.command = ["spark-submit", "--master", "local-cluster[2,1,1024]", "--driver-memory", "1g", *confs,
                        "fleet/pisess_spark.py", *source, "--grep", PATTERN, "--pisess", str(gate), str(self.output)]

    def start_and_kill(self):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=log, cwd=os.getcwd())
        try:
            self.kill_in_the_middle()
            self.totals = json.loads(self.process.communicate()[0].decode().splitlines()[-1])
        except BaseException:
            self.process.kill()
            errors = [line for line in self.log.read_text(errors="replace").splitlines() if "INFO" not in line]
            print("\n".join(line[:300] for line in errors[:30] + errors[-30:]), file=sys.stderr)
            raise
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        equal(self.process.returncode, 0, "exit code")
        self.read_events()

    def kill_in_the_middle(self):
        """Kills the worker of a running task once a quarter of the tasks of the stage that reads sessions are done."""
        end = time.monotonic() + LIMIT
        while self.process.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
            try:
                (app,) = self.get("")
                stages = self.get(f"/{app['id']}/stages?status=active")
                executors = self.get(f"/{app['id']}/executors")
            except (OSError, ValueError):
                continue
            for stage in stages:
                done, tasks = stage["numCompleteTasks"], stage["numTasks"]
                busy = [row["id"] for row in executors if row["activeTasks"] and row["id"] != "driver"]
                # Not the stages that list files.
                if "parquet at" in stage["name"] and tasks >= 20 and tasks / 4 <= done < tasks * 3 / 4 and busy:
                    self.stage, self.killed = stage["stageId"], busy[0]
                    if self.kill(app["id"], busy[0]):
                        self.is_killed.touch()
                        return
        raise AssertionError(f"no worker was killed before the job ended or {LIMIT} s were over")

    def get(self, path):
        with urllib.request.urlopen(self.ui + path, timeout=10) as answer:
            return json.load(answer)

    def kill(self, app, executor):
        """Only a process of this application is killed: its command line names the application and the executor."""
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            is_worker = any(word.endswith("CoarseGrainedExecutorBackend") for word in words)
            if is_worker and app in words and words[words.index("--executor-id") + 1] == executor:
                return self.kill_if_busy(app, executor, int(process.name))
        raise AssertionError(f"there is no process of executor {executor}")

    def kill_if_busy(self, app, executor, process):
        """Stops the process first, so that its task cannot end between the last look and the kill."""
        is_busy = False
        os.kill(process, signal.SIGSTOP)
        try:
            time.sleep(1)
            (row,) = [row for row in self.get(f"/{app}/executors") if row["id"] == executor]
            is_busy = row["activeTasks"] > 0
        finally:
            self.killed_at = time.time() * 1000
            os.kill(process, signal.SIGKILL if is_busy else signal.SIGCONT)
        return is_busy

    def read_events(self):
        """The event log: what was done when the worker was killed, what was lost, and that it was done again."""
        (log,) = [path for path in self.events.iterdir() if path.is_file()]
        events = [json.loads(line) for line in log.open()]
        removed = [event for event in events if event["Event"] == "SparkListenerExecutorRemoved"]
        assert self.killed in [event["Executor ID"] for event in removed], "the killed worker is not missed"
        ends = [event for event in events if event["Event"] == "SparkListenerTaskEnd" and event["Stage ID"] == self.stage]
        good = [end["Task Info"] for end in ends if end["Task End Reason"]["Reason"] == "Success"]
        lost = [end["Task Info"] for end in ends if end["Task End Reason"]["Reason"] == "ExecutorLostFailure"]
        early = [task for task in good if task["Finish Time"] < self.killed_at]
        # By partition: if what the tasks read was lost, too, they are done again in a new attempt of the stage.
        again = {task["Partition ID"] for task in good if task["Launch Time"] >= self.killed_at}
        self.tasks, self.early, self.lost = len({task["Partition ID"] for task in good}), len(early), len(lost)
        assert 0 < self.early < self.tasks, f"{self.early} of {self.tasks} tasks were done"
        assert lost, "the worker was killed between two tasks"
        assert {task["Partition ID"] for task in lost} <= again, "a lost task was not done again"


class Expected:
    """The answers of one pisess that reads all sessions."""

    def __init__(self):
        self.totals = json.loads(pisess("stats", "--json", SESSIONS))
        self.entries = list(map(parsed, pisess("stats", "--by", "entry", "--json", SESSIONS).splitlines()))
        self.hits = list(map(parsed, pisess("grep", "--json", "-e", PATTERN, SESSIONS).splitlines()))
        self.copies = {}

    def compare(self, run, paths):
        entries = table(run.output / "entries")
        hits = table(run.output / "hits")
        for row in entries + hits:
            row["path"] = plain(row["path"])
        omitted = [row.pop("omitted", None) for row in entries]
        self.compare_files(run, paths)
        self.compare_rows(entries, omitted, hits)
        self.compare_totals(run, [row for row, why in zip(entries, omitted) if why is None], parents(paths))
        copies = self.compare_copies(run, paths)
        reasons = Counter(omitted)
        print(f"spark: {run.name}: {len(paths):,} sessions, {run.totals['billed']:,} requests, "
              f"{run.totals['total']:,.0f} tokens, ${run.totals['cost']:.6f}, {len(hits):,} hits, {copies:,} redacted copies")
        print(f"spark: {run.name}: pisess on one machine: {self.billed:,} requests, {self.totals['tokens']['total']:,} tokens, "
              f"${self.totals['cost']:.6f}, {len(self.hits):,} hits; all rows and copies equal, {reasons['copy']:,} rows "
              f"are copies, {reasons['sub-agents']:,} of sub-agents")
        print(f"spark: {run.name}: a worker killed after {run.early} of {run.tasks} tasks, {run.lost} lost and done again; "
              f"{1000 * run.cpu / len(paths):.1f} ms of processor time for each session")

    def compare_files(self, run, paths):
        rows = table(run.output / "sessions", "path, failed")
        equal(sorted(plain(row["path"]) for row in rows), sorted(paths), "files, each once")
        failed = [plain(row["path"]) for row in rows if len(row["failed"] or []) > 0]
        equal(failed, [str(SESSIONS / "broken.jsonl")], "files that are not sessions")
        equal([run.totals[key] for key in ("files", "distinct", "failed")], [len(paths), len(paths), 1], "files")

    def compare_rows(self, entries, omitted, hits):
        equal(Counter(map(text, entries)), Counter(map(text, self.entries)), "rows of entries")
        equal(Counter(map(text, hits)), Counter(map(text, self.hits)), "hits")
        assert len(hits) > 100, "too few hits for a test"
        # Each entry counts in one file.
        files = {}
        for row, why in zip(entries, omitted):
            if why is None:
                key = (row["id"] or (row["sessionId"], row["line"]), row["timestamp"])
                assert files.setdefault(key, row["path"]) == row["path"], f"{key} counts twice"
        assert {None, "copy", "sub-agents"} == set(omitted), "the sessions have no forks or no sub-agents"

    def compare_totals(self, run, once, parents):
        # In the order of pisess, the sum of the costs is the same to the last bit. It reads the sessions that have
        # sub-agents first.
        once.sort(key=lambda row: (row["path"] not in parents, os.fsencode(row["path"]), row["line"]))
        cost = 0.0
        for row in once:
            cost += row["cost"] or 0.0
        equal(cost, self.totals["cost"], "cost")
        equal(round(run.totals["cost"], 6), round(self.totals["cost"], 6), "Spark's sum of costs")
        for key, total in self.totals["tokens"].items():
            equal(run.totals[key], total, key)
        equal(run.totals["unpriced"], self.totals["unpriced"], "unpriced")
        self.billed = len(once)
        equal(run.totals["billed"], self.billed, "requests")

    def compare_copies(self, run, paths):
        """The copies of `redact -o`, by their hashes."""
        if not self.copies:
            sessions = [path for path in paths if not path.endswith("/broken.jsonl")]
            with ThreadPoolExecutor() as pool:
                copies = dict(zip(sessions, pool.map(redacted, sessions)))
            self.copies = {path: copy for path, (copy, _) in copies.items()}
            with_secrets = sum(has_secret for _, has_secret in copies.values())
            assert with_secrets > len(sessions) / 200, "too few sessions contain secrets"
        if run.name == "list":
            found = {str(path.relative_to(WORK / "copies")): path for path in (WORK / "copies").rglob("*") if path.is_file()}
            found = {f"/{name}": digest(path.read_bytes()) for name, path in found.items()}
        else:
            rows = table(run.output / "sessions", "path, sha256(copy) as sha")
            found = {plain(row["path"]): row["sha"] for row in rows if row["sha"]}
        equal(found, self.copies, "redacted copies")
        return len(found)


def parents(paths):
    """Returns the paths that sessions of sub-agents have their parents at: session.jsonl for session/agent.jsonl."""
    found = set()
    for path in map(Path, paths):
        if not path.name.startswith("__advisor"):
            found.update(f"{folder}.jsonl" for folder in path.parents)
    return found


def redacted(path):
    """Returns the hash of the copy that `redact -o` makes of one session, and whether a secret was in it."""
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        pisess("redact", "-q", "-o", f"{folder}/copy", path)
        copy = Path(folder, "copy").read_bytes()
    return digest(copy), b"[REDACTED:" in copy


def pisess(*words):
    done = subprocess.run([PISESS, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert done.returncode == 0, f"pisess {words[0]} fails"
    return done.stdout.decode()


def table(folder, columns="*"):
    """Returns the rows of a table in Parquet, as DuckDB reads them."""
    query = f"copy (select {columns} from read_parquet('{folder}/*.parquet')) to '/dev/stdout' (format json)"
    done = subprocess.run(["duckdb", "-c", query], check=True, stdout=subprocess.PIPE)
    return [parsed(line) for line in done.stdout.splitlines()]


def plain(path):
    return path.removeprefix("file:").replace("%20", " ")


def parsed(line):
    """Returns a row; its numbers are doubles, as in the tables."""
    return json.loads(line, parse_int=float)


def text(row):
    """Returns a row as text. A table has a null where a row of pisess has no such member."""
    return json.dumps({name: value for name, value in row.items() if value is not None}, sort_keys=True)


def digest(data):
    return hashlib.sha256(data).hexdigest()


def equal(found, expected, what):
    if found != expected:
        if isinstance(found, (Counter, dict)):
            more = [item for item in found.items() if item not in expected.items()][:3]
            less = [item for item in expected.items() if item not in found.items()][:3]
            found, expected = f"{len(found)}, of these others: {more}", f"{len(expected)}, of these others: {less}"
        raise AssertionError(f"{what}: {str(found)[:3000]} in Spark, {str(expected)[:3000]} on one machine")


if __name__ == "__main__":
    main()
