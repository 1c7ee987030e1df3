"""Twelve yes/no questions in ChatML: the logits of the answers at the last position, in f32 and by llama.cpp.

    python make_verdicts.py MODEL.gguf verdict_MODEL.json [--threads N]

`answers` gives each answer's spelling and its one token id. Per question: `ids`, and under `f32` (golden) and
`llama_cpp` (quantised, second witness): `logits` in the order of `answers`, `logsumexp` over the vocabulary, `top` 5
as [id, logit], `p_yes` = the share of the yes spellings in the probability of all six, `p_yes_pair` = the share of
"Yes" against "No" alone, and `p_answers` = the probability of all six together.

Packages: transformers==5.24.0, torch==2.15.0 (CPU), accelerate==1.15.0, gguf==0.19.0, numpy==2.4.6,
xllamacpp==2026.10.11549 (llama.cpp b11549), llama-cpp-py-sync==0.11548 (declarations only).
"""

import argparse
import os

import f32_model
import inputs
import llama_raw
import numpy as np
import output
import torch
from make_logits import N_CTX, compare, logsumexp


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("gguf")
    parser.add_argument("out")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)

    integer = llama_raw.Model(args.gguf)
    context = integer.context(N_CTX, args.threads)
    floating = f32_model.load(args.gguf)
    answers = [[text, _one_id(integer, text)] for text in inputs.ANSWERS]
    records = []
    for name, text in inputs.QUESTIONS:
        ids = integer.tokenize(text, parse_special=True)
        context.clear()
        f32, quantised = f32_model.logits(floating, ids)[-1], context.feed(ids)
        record = {
            "name": name,
            "text": text,
            "ids": ids,
            "f32": _verdict(f32, answers),
            "llama_cpp": _verdict(quantised, answers),
            "difference": compare(f32, quantised),
        }
        p = [f"{record[side]['p_yes']:.4f}" for side in ("f32", "llama_cpp")]
        print(name, len(ids), *p, record["difference"], flush=True)
        records.append(record)
    head = {"model": os.path.basename(args.gguf), "n_vocab": integer.n_vocab, "answers": answers}
    output.write_document(args.out, head, "questions", records)


def _one_id(model, text: str) -> int:
    (token_id,) = model.tokenize(text, parse_special=False)
    return token_id


def _verdict(logits: np.ndarray, answers: list) -> dict:
    total = logsumexp(logits)
    p = {text: float(np.exp(float(logits[i]) - total)) for text, i in answers}
    yes = sum(p[text] for text, _ in answers if text.strip().lower() == "yes")
    top = np.argsort(-logits, kind="stable")[:5]
    return {
        "logits": [output.float32(logits[i]) for _, i in answers],
        "logsumexp": total,
        "top": [[int(i), output.float32(logits[i])] for i in top],
        "p_yes": yes / sum(p.values()),
        "p_yes_pair": p["Yes"] / (p["Yes"] + p["No"]),
        "p_answers": sum(p.values()),
    }


if __name__ == "__main__":
    main()
