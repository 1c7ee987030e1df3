"""Is our engine as fast as llama.cpp? Both take turns in one run, and a Markdown table says what came out.

    python3 speed.py --llama DIR [--ours CMD] [--rounds 5] [--threads 2] MODEL.gguf[=BEST.gguf]...

DIR holds llama.cpp's programs (build_llama_cpp.sh prints it). BEST is the same model in the format that llama.cpp is
fastest with; it gets a column of its own, since ours reads the file that people have. Without --ours only llama.cpp is
measured. Cells are the median of the rounds in tokens a second, with minimum and maximum.

A round in which other processes took more than a twentieth of a core is thrown away and repeated. llama.cpp suffers
most, since its threads spin while they wait for each other: with others on one of two cores, the 1.5B wrote 1 to 2
tokens a second instead of 39. It needs Linux and Python alone.
"""

import argparse
import json
import os
import resource
import shlex
import statistics
import subprocess
import sys
import time

STREAMS = 16
PROMPT = 16  # tokens before a stream writes; short, since writing is what is measured
MAX_FOREIGN = 0.05  # cores that others may use during a round
MAX_PAUSES = 180  # half an hour of a busy machine
PAUSE_SECS = 10

# What is measured, in the words of our program and in those of llama.cpp: program, arguments, where the speed stands.
WORKLOADS = {
    "prefill 512": (["prefill", "MODEL", "512"], ["llama-bench", "-p", "512", "-n", "0"], "avg_ts"),
    "prefill 16": (["prefill", "MODEL", "16"], ["llama-bench", "-p", "16", "-n", "0"], "avg_ts"),
    "decode, 1 stream": (["decode", "MODEL", "1", "64"], ["llama-bench", "-p", "0", "-n", "64"], "avg_ts"),
    f"decode, {STREAMS} streams": (
        ["decode", "MODEL", str(STREAMS), "32"],
        ["llama-batched-bench", "-npp", str(PROMPT), "-ntg", "32", "-npl", str(STREAMS), "-c", "1024"],
        "speed_tg",
    ),
}
FORMATS = {"llama-bench": ["-r", "1", "-o", "jsonl"], "llama-batched-bench": ["--output-format", "jsonl"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--llama", required=True, metavar="DIR")
    parser.add_argument("--ours", metavar="CMD")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("models", nargs="+", metavar="MODEL.gguf[=BEST.gguf]")
    args = parser.parse_args()

    print("| model | measured | ragstone | llama.cpp, same file | ratio | llama.cpp, best format | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for pair in args.models:
        model, _, best = pair.partition("=")
        for name, workload in WORKLOADS.items():
            print(row(args, model, best, name, workload), flush=True)


def row(args, model: str, best: str, name: str, workload) -> str:
    """A row of the table: the programs take turns, so that a slow minute of the machine meets all of them."""
    asked, theirs, field = workload
    ours, same, other = [], [], []
    for number in range(args.rounds):
        print(f"{stem(model)}, {name}: round {number + 1} of {args.rounds}", file=sys.stderr)
        if args.ours:
            ours.append(our_speed(args.ours, asked, model))
        same.append(llama_speed(args, theirs, field, model))
        if best:
            other.append(llama_speed(args, theirs, field, best))
    cells = [stem(model), name, cell(ours), cell(same), ratio(ours, same), cell(other), ratio(ours, other)]
    if best:
        cells[5] += f" {stem(best)}"
    return f"| {' | '.join(cells)} |"


def our_speed(command: str, asked: list[str], model: str) -> float:
    """Tokens a second of our program, which takes one thread a core: the one place that knows how it is called."""
    words = shlex.split(command) + [model if word == "MODEL" else word for word in asked]
    return last_line(words)["tokens_per_second"]


def llama_speed(args, asked: list[str], field: str, model: str) -> float:
    """Tokens a second of llama.cpp. Both of its programs run once unmeasured before they measure."""
    program, *rest = asked
    words = [os.path.join(args.llama, program), "-m", model, "-t", str(args.threads), *rest, *FORMATS[program]]
    return last_line(words)[field]


def last_line(words: list[str]) -> dict:
    """The JSON object that a program prints in its last line beginning with a brace, from a round nobody disturbed."""
    while True:
        start, foreign = time.monotonic(), foreign_secs()
        done = subprocess.run(words, capture_output=True, text=True)
        cores = (foreign_secs() - foreign) / (time.monotonic() - start)
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode != 0 or not lines:
            sys.exit(f"`{shlex.join(words)}` ended with {done.returncode} and no result:\n{done.stderr[-2000:]}")
        if cores <= MAX_FOREIGN:
            return json.loads(lines[-1])
        print(f"others used {cores:.2f} cores: once more", file=sys.stderr)
        wait_until_idle()


def wait_until_idle() -> None:
    """Returns after a pause in which nobody else worked."""
    for _ in range(MAX_PAUSES):
        foreign = foreign_secs()
        time.sleep(PAUSE_SECS)
        if foreign_secs() - foreign <= MAX_FOREIGN * PAUSE_SECS:
            return
    sys.exit(f"the machine has been busy for {MAX_PAUSES * PAUSE_SECS} seconds")


def foreign_secs() -> float:
    """Processor time since the machine started that is not this program's, nor that of its finished children."""
    with open("/proc/stat") as stat:
        user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, stat.readline().split()[1:9])
    busy = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    return busy - own_secs()


def own_secs() -> float:
    """Processor time of this program and of its finished children."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def cell(speeds: list[float]) -> str:
    if not speeds:
        return "-"
    return f"{statistics.median(speeds):.1f} [{min(speeds):.1f}-{max(speeds):.1f}]"


def ratio(ours: list[float], theirs: list[float]) -> str:
    return f"{statistics.median(ours) / statistics.median(theirs):.2f}" if ours and theirs else "-"


def stem(path: str) -> str:
    return os.path.basename(path).removesuffix(".gguf")


if __name__ == "__main__":
    main()
