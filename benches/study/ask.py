"""Asks a judge exactly this, once: questions, labelled rows and figures for the studies beside this file.

Answers are kept in a file by the hash of judge and question, so that a study can be cut off and gone on with, and another study
that asks the same costs nothing.
"""
import argparse
import hashlib
import json
import pathlib
import subprocess
import threading


def arguments(about):
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--engine", required=True, help="the bench binary: `cargo bench --no-run --bench engine` names it")
    parser.add_argument("--judge", required=True, type=pathlib.Path, help="a GGUF file")
    parser.add_argument("--bench", required=True, type=pathlib.Path, help="the folder of labelled rows")
    parser.add_argument("--rows", type=int, default=40, help="rows of each set, balanced")
    parser.add_argument("--cache", required=True, type=pathlib.Path, help="the folder where answers are kept")
    return parser.parse_args()


class Judge:
    def __init__(self, args):
        self.command = [args.engine, "ask", str(args.judge)]
        self.file = args.cache / f"{args.judge.stem}.jsonl"
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        self.known = dict(json.loads(line) for line in lines)

    def ask(self, questions):
        """The answers in order. Put questions with equal beginnings side by side."""
        text = [json.dumps(question, ensure_ascii=False, sort_keys=True) for question in questions]
        keys = [hashlib.sha256(line.encode()).hexdigest() for line in text]
        new = {key: line for key, line in zip(keys, text) if key not in self.known}
        if new:
            process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            feeder = threading.Thread(target=feed, args=(process.stdin, list(new.values())))
            feeder.start()
            with self.file.open("a") as file:
                for key, line in zip(new, process.stdout):
                    self.known[key] = json.loads(line)
                    file.write(json.dumps([key, self.known[key]], ensure_ascii=False) + "\n")
            feeder.join()
            if process.wait() != 0:
                raise SystemExit(f"{self.command} failed with {process.returncode}")
        return [self.known[key] for key in keys]


def feed(stdin, lines):
    for line in lines:
        stdin.write(line + "\n")
    stdin.close()


def rows(args, name, n_rows):
    """Rows of a set, as many with label 1 as with 0, the same ones that `judge-check --rows` takes."""
    found = [json.loads(line) for line in (args.bench / f"{name}.jsonl").open()]
    if len(found) <= n_rows:
        return found
    unit = lambda row: str((row.get("raw") or {}).get("pair") or row["id"])
    drawn = sorted((hashlib.sha256(f"0 {unit(row)}".encode()).hexdigest(), idx) for idx, row in enumerate(found))
    taken, kept = [0, 0], set()
    for _, idx in drawn:
        label = int(found[idx]["label"])
        if taken[label] < n_rows // 2:
            taken[label] += 1
            kept.add(idx)
    return [row for idx, row in enumerate(found) if idx in kept]


def auc(scores, labels):
    """The share of pairs of a row with 1 and a row with 0 in which the first scores higher; ties count half."""
    yes = [score for score, label in zip(scores, labels) if label == 1]
    no = [score for score, label in zip(scores, labels) if label == 0]
    return sum((a > b) + 0.5 * (a == b) for a in yes for b in no) / (len(yes) * len(no))
