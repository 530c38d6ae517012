#!/usr/bin/env python3
"""Runs pisess on each session of a fleet, with Spark.

    spark-submit pisess_spark.py --list SESSIONS.txt --copies COPIES OUTPUT
    spark-submit pisess_spark.py --bytes s3a://BUCKET/sessions OUTPUT

A session is one row of OUTPUT/sessions, however often a task was retried. Tasks write nothing else, except copies
given their names by a rename, so any of them may run twice. What belongs to several files, the copies that forks made
of entries and the usage of sub-agents, is decided afterwards, from that table. docs/fleet.md describes the tables.
"""

import argparse
import json
import os
import subprocess

from pyspark.sql import Row, SparkSession, functions as F

# A row of `pisess stats --by entry --json`, and one of `pisess grep --json`.
ENTRY = """array<struct<path: string, sessionId: string, id: string, parentId: string, line: bigint, role: string,
    provider: string, model: string, tool: string, timestamp: string, tokens: struct<input: double, output: double,
    cacheRead: double, cacheWrite: double, total: double>, cost: double, estimated: boolean, pricesOf: string,
    subAgents: boolean, agentSessions: array<string>>>"""
HIT = """array<struct<path: string, sessionId: string, title: string, cwd: string, id: string, line: bigint, role: string,
    field: string, start: bigint, `end`: bigint, snippet: string, timestamp: string, failed: boolean, aborted: boolean,
    context: boolean>>"""
# What a task returns of one session. `failed` names the commands that failed, `notes` is what they reported.
SESSION = "path string, failed array<string>, notes string, entries string, hits string, copy binary"


def main():
    options = arguments()
    spark = (SparkSession.builder.appName("pisess").config("spark.sql.parquet.compression.codec", "zstd")
             .getOrCreate())
    output = options.output.rstrip("/")
    done = sessions(spark, options).rdd.mapPartitions(Worker(options).run)
    parsed = spark.createDataFrame(done, SESSION).withColumns(
        {"entries": rows("entries", ENTRY), "hits": rows("hits", HIT)})
    parsed.write.mode("overwrite").parquet(f"{output}/sessions")

    table = spark.read.parquet(f"{output}/sessions")
    counted(table).write.mode("overwrite").parquet(f"{output}/entries")
    flat(table, "hits").write.mode("overwrite").parquet(f"{output}/hits")
    print(json.dumps(totals(spark, output)))
    spark.stop()


def arguments():
    parser = argparse.ArgumentParser(description="Run pisess on each session of a fleet.")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--list", metavar="FILE", help="a file with the path of a session in each line")
    source.add_argument("--bytes", metavar="DIR", help="read all *.jsonl below DIR, in any store that Spark reads (not __advisor.jsonl)")
    parser.add_argument("--grep", metavar="PATTERN", help="also search the sessions")
    parser.add_argument("--copies", metavar="DIR", help="also write a redacted copy of each listed session below DIR")
    parser.add_argument("--redact", action="store_true", help="also add a redacted copy to each row")
    parser.add_argument("--pisess", default="pisess", metavar="PROGRAM", help="where each machine has pisess")
    parser.add_argument("--per-task", type=int, default=100, metavar="N", help="listed sessions in a task")
    parser.add_argument("output", metavar="OUTPUT", help="the directory of the tables")
    options = parser.parse_args()
    if options.copies and options.bytes:
        parser.error("--copies needs --list; with --bytes, use --redact")
    options.copies = options.copies and os.path.abspath(options.copies)
    return options


def sessions(spark, options):
    """Returns a row for each session: its path, and with --bytes its content."""
    if options.bytes:
        files = spark.read.format("binaryFile").option("pathGlobFilter", "*.jsonl")
        return files.option("recursiveFileLookup", "true").load(options.bytes).select("path", "content")
    listed = spark.read.text(options.list).select(F.col("value").alias("path")).where("path != ''").distinct()
    tasks = -(-listed.count() // options.per_task)
    # By hash, so that a task that runs again gets the same sessions.
    return listed.repartition(max(tasks, 1), "path")


class Worker:
    """Runs pisess on the sessions of one task."""

    def __init__(self, options):
        self.pisess, self.pattern = options.pisess, options.grep
        self.copies, self.redact = options.copies, options.redact

    def run(self, partition):
        for session in partition:
            yield self.session(session.path, session.content if "content" in session else None)

    def session(self, path, content):
        one = Session(self.pisess, path, content)
        entries = one.run("stats", "--by", "entry", "--json", "--", one.name)
        hits, copy = b"", None
        if self.pattern is not None:
            hits = one.run("grep", "--json", "-e", self.pattern, "--", one.name, negative=1)
        if self.copies:
            to = os.path.join(self.copies, path.lstrip("/"))
            os.makedirs(os.path.dirname(to), exist_ok=True)
            # pisess writes a temporary file and renames it; --force replaces the copy of an earlier attempt.
            one.run("redact", "--force", "-o", to, "--", one.name)
        if self.redact:
            copy = one.run("redact", "-o", "-", "--", one.name)
        return Row(path=path, failed=one.failed, notes=one.notes.decode(errors="replace"),
                   entries=entries.decode(), hits=hits.decode(), copy=bytearray(copy) if copy else None)


class Session:
    """One session: a file that pisess opens, or bytes that it reads from standard input."""

    def __init__(self, pisess, path, content):
        self.pisess, self.content, self.failed, self.notes = pisess, content, [], b""
        self.name = path if content is None else "-"

    def run(self, verb, *words, negative=0):
        """Returns the output; `negative` is the exit code that means no match."""
        given = {"stdin": subprocess.DEVNULL} if self.content is None else {"input": self.content}
        done = subprocess.run([self.pisess, verb, *words], capture_output=True, **given)
        if done.returncode not in (0, negative):
            self.failed.append(verb)
        self.notes += done.stderr
        return done.stdout


def rows(column, schema):
    """Returns the JSON lines of a column as an array of rows. Spark parses them, not Python."""
    lines = F.filter(F.split(column, "\n"), lambda line: line != "")
    array = F.from_json(F.concat(F.lit("["), F.array_join(lines, ","), F.lit("]")), schema)
    # Standard input has no path.
    return F.transform(array, lambda row: row.withField("path", F.col("path")))


def flat(table, column):
    """Returns a row for each element of an array."""
    return table.select(F.explode(column).alias("row")).select("row.*")


def counted(table):
    """Returns the billed entries of all files. `omitted` says why `pisess stats` does not count a row when it reads all
    sessions at once: it is the `copy` of an entry in another file, or the sum that a tool result reports for
    `sub-agents` with sessions of their own. It is null if the row counts."""
    entries = flat(table, "entries")
    key = {"key": F.coalesce("id", F.concat("sessionId", F.lit(":"), "line")),
           "time": F.coalesce("timestamp", F.lit(""))}
    parents = owners(table).withColumn("owns", F.lit(True))
    entries = entries.withColumns(key).join(parents, "path", "left")
    order = F.struct(F.isnull("owns").alias("alone"), "path")
    firsts = entries.groupBy(*key).agg(F.min(order).getField("path").alias("first"))
    named = entries.select("path", "line", F.explode("agentSessions").alias("end")).join(ends(table), "end")
    named = named.select("path", "line").distinct().withColumn("named", F.lit(True))
    is_read = F.when(F.size("agentSessions") > 0, F.col("named")).otherwise(F.col("owns"))
    return (entries.join(firsts, list(key)).join(named, ["path", "line"], "left")
            .withColumn("omitted", F.when(F.col("subAgents") & is_read, "sub-agents")
                        .when(F.col("path") != F.col("first"), "copy"))
            .drop(*key, "first", "owns", "named"))


def agents(table):
    """Returns the sessions that may be those of sub-agents; those of advisors are in no tool result."""
    name = F.element_at(F.split("path", "/"), -1)
    return table.where(~name.startswith("__advisor"))


def ends(table):
    """Returns the ends of the paths of these sessions, as `agentSessions` names them."""
    both = F.array(F.substring_index("path", "/", -2), F.substring_index("path", "/", -3))
    return agents(table).select(F.explode(both).alias("end")).distinct()


def owners(table):
    """Returns the paths that sessions of sub-agents would have their parents at."""
    folders = F.split("path", "/")
    above = F.transform(F.sequence(F.lit(1), F.size(folders) - 1),
                        lambda n: F.concat(F.array_join(F.slice(folders, 1, n), "/"), F.lit(".jsonl")))
    return agents(table).where(F.size(folders) > 1).select(F.explode(above).alias("path")).distinct()


def totals(spark, output):
    """Returns the sums over the tables."""
    table = spark.read.parquet(f"{output}/sessions")
    files = table.agg(F.count("*").alias("files"), F.count_distinct("path").alias("distinct"),
                      F.sum((F.size("failed") > 0).cast("int")).alias("failed")).first().asDict()
    entries = spark.read.parquet(f"{output}/entries")
    sums = {name: F.coalesce(F.sum(f"tokens.{name}"), F.lit(0.0))
            for name in ["input", "output", "cacheRead", "cacheWrite", "total"]}
    # Decimal: the sum of doubles depends on their order.
    sums["cost"] = F.coalesce(F.sum(F.col("cost").cast("decimal(24,12)")), F.lit(0)).cast("double")
    sums["billed"], sums["unpriced"] = F.count("*"), F.sum(F.isnull("cost").cast("int"))
    once = entries.where("omitted is null").agg(*[sums[name].alias(name) for name in sums]).first().asDict()
    hits = spark.read.parquet(f"{output}/hits").count()
    return {**files, "rows": entries.count(), **once, "hits": hits}


if __name__ == "__main__":
    main()
