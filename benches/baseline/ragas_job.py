"""How long does the same evaluation take with Ragas over llama-server, and with ragstone?

    python ragas_job.py ragas --llama DIR --model MODEL.gguf --embedder FOLDER [FILE.jsonl]
    python ragas_job.py ours  --ragstone target/release/ragstone --judge NAME [FILE.jsonl]

Both score faithfulness, answer relevancy, context precision and context recall of every sample (by default those of
six.jsonl beside this script) and print a JSON summary: seconds, calls, tokens, memory, scores; `null` is a cell without
a score. `foreign_cores` is what other processes used meanwhile: if it is not near 0, the seconds mean little.
llama.cpp suffers most, since its threads spin; OMP_WAIT_POLICY=passive lets them sleep.

Ragas runs with the metrics of `ragas.metrics.collections` and its own defaults, all samples at once. llama-server gets
what helps it: slots that decode together, and its prompt caches. Its log goes to llama-server.log in the folder you
are in.

DIR holds llama.cpp's programs (build_llama_cpp.sh prints it). MODEL and FOLDER are the files that ragstone's store
holds (`ragstone models path NAME`). Packages, for `ragas` alone: ragas==0.4.3 "langchain-community<0.4" "langchain<1"
openai sentence-transformers; ragstone needs none.
"""

import argparse
import asyncio
import csv
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request

from speed import foreign_secs, own_secs

METRICS = ["faithfulness", "answer_relevancy", "context_precision", "context_recall"]
PORT = 18080
SLOTS = 4
SLOT_TOKENS = 8192  # the longest prompt of Ragas here has some 2500 tokens, and it lets 1024 be written
TIMEOUT_SECS = 3600  # all calls are sent at once and wait for a slot


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    programs = parser.add_subparsers(required=True)
    ragas = programs.add_parser("ragas")
    ragas.add_argument("--llama", required=True, metavar="DIR")
    ragas.add_argument("--model", required=True, metavar="MODEL.gguf")
    ragas.add_argument("--embedder", required=True, metavar="FOLDER")
    ragas.set_defaults(run=run_ragas)
    ours = programs.add_parser("ours")
    ours.add_argument("--ragstone", required=True, metavar="PROGRAM")
    ours.add_argument("--judge", required=True, metavar="NAME")
    ours.set_defaults(run=run_ours)
    for program in (ragas, ours):
        program.add_argument("--limit", type=int, metavar="N", help="score the first N samples only")
        program.add_argument("file", nargs="?", default=pathlib.Path(__file__).with_name("six.jsonl"))
    args = parser.parse_args()

    with open(args.file, encoding="utf-8") as lines:
        samples = [json.loads(line) for line in lines][: args.limit]
    start, foreign = time.monotonic(), foreign_secs()
    summary = args.run(args, samples)
    wall_secs = time.monotonic() - start
    cells = [score for scores in summary["scores"].values() for score in scores.values()]
    summary = {
        "n_samples": len(samples),
        "n_cells": len(cells),
        "n_without_score": cells.count(None),
        "wall_secs": wall_secs,
        "cpu_secs": own_secs(),
        "foreign_cores": (foreign_secs() - foreign) / wall_secs,
    } | summary
    json.dump(summary, sys.stdout, ensure_ascii=False, indent=2)
    print()


def run_ours(args, samples: list[dict]) -> dict:
    """One run of ragstone, read from the files it leaves."""
    with tempfile.TemporaryDirectory() as folder:
        out, data = pathlib.Path(folder, "run"), pathlib.Path(folder, "data.jsonl")
        data.write_text("".join(json.dumps(sample) + "\n" for sample in samples))
        command = [args.ragstone, "eval", data, "--metrics", ",".join(METRICS), "--judge", args.judge, "--out", out]
        done = subprocess.run(command, stdout=subprocess.DEVNULL)
        if done.returncode not in (0, 3):  # 3: some cells have no score
            sys.exit(f"ragstone ended with {done.returncode}")
        run = json.loads((out / "run.json").read_text())
        with open(out / "scores.csv", encoding="utf-8", newline="") as table:
            rows = list(csv.DictReader(table))
    scores = {row["id"]: {name: float(row[name]) if row[name] else None for name in METRICS} for row in rows}
    kept = ("load_secs", "score_secs", "tokens_asked", "tokens_computed", "tokens_written", "peak_memory_bytes")
    return {"program": "ragstone"} | {name: run[name] for name in kept} | {"scores": scores}


def run_ragas(args, samples: list[dict]) -> dict:
    """One run of Ragas, with a llama-server of its own."""
    start = time.monotonic()
    with open("llama-server.log", "w") as log:
        server = subprocess.Popen(server_command(args), stdout=log, stderr=log)
    try:
        os.environ["RAGAS_DO_NOT_TRACK"] = "true"
        import ragas  # slow to import: seconds that belong to loading

        embeddings = ragas.embeddings.HuggingFaceEmbeddings(model=args.embedder, device="cpu")
        wait_until_ready(server)
        load_secs = time.monotonic() - start
        calls, scores, errors = asyncio.run(score_all(samples, embeddings))
        peak_memory_bytes = peak_of(server.pid) + resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    finally:
        server.terminate()
        server.wait()
    computed = sum(call["prompt_n"] for call in calls)
    return {
        "program": f"ragas {ragas.__version__}, llama-server",
        "load_secs": load_secs,
        "score_secs": time.monotonic() - start - load_secs,
        "n_calls": len(calls),
        "tokens_asked": computed + sum(call["cache_n"] for call in calls),
        "tokens_computed": computed,
        "tokens_written": sum(call["predicted_n"] for call in calls),
        "peak_memory_bytes": peak_memory_bytes,
        "scores": scores,
        "errors": errors,
    }


def server_command(args) -> list[str]:
    """llama-server on the loopback device; --cache-reuse shifts what is equal further on in a prompt as well."""
    options = f"--host 127.0.0.1 --port {PORT} --offline --threads {os.cpu_count()} --parallel {SLOTS} --cache-reuse 64"
    context = ["--ctx-size", str(SLOTS * SLOT_TOKENS)]
    return [os.path.join(args.llama, "llama-server"), "--model", args.model, *options.split(), *context]


def wait_until_ready(server: subprocess.Popen) -> None:
    while server.poll() is None:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{PORT}/health")
            return
        except OSError:  # not listening yet, or still loading
            time.sleep(0.2)
    sys.exit("llama-server ended early: see llama-server.log")


async def score_all(samples: list[dict], embeddings) -> tuple[list[dict], dict, dict]:
    """Every metric of every sample: what the server says of each call, the scores, and why others are missing."""
    import httpx
    import openai
    from ragas.llms import llm_factory
    from ragas.metrics.collections import AnswerRelevancy, ContextPrecision, ContextRecall, Faithfulness

    calls = []

    async def count(response: httpx.Response) -> None:
        await response.aread()
        calls.append(response.json()["timings"])

    http = httpx.AsyncClient(timeout=TIMEOUT_SECS, event_hooks={"response": [count]})
    url = f"http://127.0.0.1:{PORT}/v1"
    llm = llm_factory("judge", client=openai.AsyncOpenAI(base_url=url, api_key="none", http_client=http, max_retries=0))
    metrics = [
        (Faithfulness(llm=llm), ["user_input", "response", "retrieved_contexts"]),
        (AnswerRelevancy(llm=llm, embeddings=embeddings), ["user_input", "response"]),
        (ContextPrecision(llm=llm), ["user_input", "reference", "retrieved_contexts"]),
        (ContextRecall(llm=llm), ["user_input", "reference", "retrieved_contexts"]),
    ]
    scores, errors = {sample["id"]: {} for sample in samples}, {}

    async def score(sample: dict, name: str, metric, columns: list[str]) -> None:
        try:
            value = (await metric.ascore(**{column: sample[column] for column in columns})).value
            scores[sample["id"]][name] = None if value != value else value  # NaN is Ragas' word for "no score"
        except Exception as error:  # whatever a metric stumbles over costs its cell alone, as in Ragas' own runs
            scores[sample["id"]][name] = None
            errors[f"{sample['id']} {name}"] = f"{type(error).__name__}: {error}"[:300]

    jobs = [score(sample, name, *metric) for sample in samples for name, metric in zip(METRICS, metrics)]
    await asyncio.gather(*jobs)
    return calls, scores, errors


def peak_of(pid: int) -> int:
    """The most memory that a process held, in bytes."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


if __name__ == "__main__":
    main()
