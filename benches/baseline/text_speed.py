"""How fast are chunks compared letter by letter? ragstone, Ragas' own loop and rapidfuzz take turns on the same file.

    pip install ragas==0.4.3 "langchain-community<0.4" "langchain<1" rapidfuzz
    python3 benches/baseline/text_speed.py target/release/ragstone [ROUNDS]

10,000 samples with ten retrieved and ten reference chunks of 300 characters each: 1,000,000 pairs a language. ragstone
is the whole process with two threads, from the file to the run folder; Ragas is its own `single_turn_ascore` of
NonLLMContextPrecisionWithReference, one sample after the other, on the first samples only and scaled up; rapidfuzz is
`cdist(workers=2)` of each sample's chunks. Neither of the two reads or writes a file. Times are medians with the least
and the most.
"""

import asyncio
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
from ragas.dataset_schema import SingleTurnSample
from ragas.metrics import NonLLMContextPrecisionWithReference
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

N_SAMPLES, N_CHUNKS, CHUNK_CHARS, N_RAGAS = 10_000, 10, 300, 400
WORDS = {
    "en": "the of and to in a is that for it was on are as with his they at be this from have or by one had not but what",
    "ko": "나는 너는 우리는 오늘 내일 학교에 집에서 사람이 물을 마시고 책을 읽는다 서울은 한국의 수도이다 바다가 보이는 마을에",
}


def make_rows(language):
    numbers, words = random.Random(5), WORDS[language].split()

    def chunk():
        return " ".join(numbers.choices(words, k=CHUNK_CHARS))[:CHUNK_CHARS]

    def chunks():
        return [chunk() for _ in range(N_CHUNKS)]

    return [{"id": str(idx), "retrieved_contexts": chunks(), "reference_contexts": chunks()} for idx in range(N_SAMPLES)]


def run_ragstone(program, rows, folder):
    path, out = os.path.join(folder, "rows.jsonl"), os.path.join(folder, "out")
    if not os.path.exists(path):
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    shutil.rmtree(out, ignore_errors=True)
    words = [program, "eval", path, "--metrics", "nonllm_context_precision", "--threads", "2", "--out", out]
    start = time.perf_counter()
    subprocess.run(words, check=True, capture_output=True)
    return time.perf_counter() - start


def run_ragas(rows):
    metric = NonLLMContextPrecisionWithReference()
    keys = ("retrieved_contexts", "reference_contexts")
    samples = [SingleTurnSample(**{key: row[key] for key in keys}) for row in rows[:N_RAGAS]]

    async def loop():
        return [await metric.single_turn_ascore(sample) for sample in samples]

    start = time.perf_counter()
    asyncio.run(loop())
    return (time.perf_counter() - start) * N_SAMPLES / N_RAGAS


def run_cdist(rows):
    start = time.perf_counter()
    for row in rows:
        scores = cdist(row["reference_contexts"], row["retrieved_contexts"], scorer=Levenshtein.normalized_similarity,
                       workers=2, dtype=numpy.float32)
        scores.max(axis=0)
    return time.perf_counter() - start


def main():
    program = sys.argv[1]
    n_rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    for language in WORDS:
        rows = make_rows(language)
        secs = {"ragstone": [], "ragas": [], "cdist": []}
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(n_rounds):
                secs["ragstone"].append(run_ragstone(program, rows, folder))
                secs["ragas"].append(run_ragas(rows))
                secs["cdist"].append(run_cdist(rows))
        medians = {name: statistics.median(times) for name, times in secs.items()}
        for name, times in secs.items():
            print(f"{language} {name}: {medians[name]:.2f} s [{min(times):.2f}-{max(times):.2f}], "
                  f"{medians[name] / medians['ragstone']:.2f} times as long as ragstone", flush=True)


main()
