"""Embeds the same texts with ragstone and with sentence-transformers, taking turns, and prints both speeds.

    cargo build --release --example embed_texts
    python3 benches/baseline/embed_speed.py target/release/examples/embed_texts FOLDER [ROUNDS]

FOLDER is the embedder's, as `ragstone models path all-minilm-l6-v2` prints it. Needs sentence-transformers; torch
gets as many threads as there are cores, everything else is as `SentenceTransformer(FOLDER).encode(texts)` does it:
batches of 32, sorted by length. Both times hold tokenizing. Times are medians, with the least and the most.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import time

os.environ["HF_HUB_OFFLINE"] = "1"
import numpy
import torch
from sentence_transformers import SentenceTransformer

N_TEXTS = 500
N_THREADS = os.cpu_count()
WORDS = {
    "en": """the of and to in a is that for it was on are as with his they at be this from have or by one had not but what
        all were when we there can an your which their said if do will each about how up out them then she many some so
        these would other into has more her two like him see time could no make than first been its who now people water
        Paris Berlin retrieval generation context evidence answer question model embedding vector harbour lighthouse""",
    "ko": """나는 너는 우리는 그들은 오늘 내일 어제 학교에 집에서 사람이 물을 마시고 책을 읽는다 서울은 한국의 수도이다 바다가
        보이는 마을에 작은 등대가 있다 질문에 대한 답변은 문맥에서 찾을 수 있으며 모델은 문장을 벡터로 바꾼다""",
}


def make_texts():
    """Texts of 5 to 200 words, every fourth one Korean."""
    numbers = random.Random(3)
    words = {language: text.split() for language, text in WORDS.items()}
    languages = ["ko" if idx % 4 == 3 else "en" for idx in range(N_TEXTS)]
    return [" ".join(numbers.choices(words[language], k=numbers.randint(5, 200))) for language in languages]


def main():
    program, folder = sys.argv[1:3]
    n_rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    texts = make_texts()
    torch.set_num_threads(N_THREADS)
    reference = SentenceTransformer(folder, device="cpu")
    ours = subprocess.Popen([program, folder, str(N_THREADS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    ours.stdin.write(json.dumps(texts) + "\n")

    def run_ours():
        ours.stdin.write("go\n")
        ours.stdin.flush()
        return json.loads(ours.stdout.readline())

    def run_reference():
        start = time.perf_counter()
        vectors = reference.encode(texts, normalize_embeddings=True, show_progress_bar=False)
        return time.perf_counter() - start, vectors

    first, (_, expected) = run_ours(), run_reference()
    cosines = (numpy.array(first["vectors"], dtype=numpy.float32) * expected).sum(axis=1)
    secs = {"ragstone": [], "sentence-transformers": []}
    for _ in range(n_rounds):
        secs["ragstone"].append(run_ours()["secs"])
        secs["sentence-transformers"].append(run_reference()[0])
    ours.stdin.close()
    ours.wait()
    n_tokens = first["n_tokens"]
    print(f"{N_TEXTS} texts, {n_tokens} tokens, {N_THREADS} threads, {n_rounds} rounds; smallest cosine {cosines.min():.7f}")
    for name, times in secs.items():
        median = statistics.median(times)
        print(f"{name}: {median:.3f} s [{min(times):.3f}-{max(times):.3f}], {N_TEXTS / median:.0f} texts/s, "
              f"{n_tokens / median:.0f} tokens/s")
    ratios = [theirs / own for own, theirs in zip(*secs.values())]
    print(f"ratio: {statistics.median(ratios):.2f} [{min(ratios):.2f}-{max(ratios):.2f}], round by round")


main()
