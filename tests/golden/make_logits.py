"""Logits of eight prompts: in f32 (the golden values) and by llama.cpp's quantised arithmetic (second witness).

    python make_logits.py MODEL.gguf logits_MODEL.json [--threads N]

Per prompt: `ids`; under `f32` the last position's `top` 50 and 200 pseudo-random `others` as [id, logit], `logsumexp`
over the whole vocabulary, `positions` = [[position, top 5 as [id, logit]], ..], and `greedy` = 32 argmax ids with
the margin of each step (top logit minus second). The continuation does not stop at an end token. Under `llama_cpp`
the last position's top 50, its logsumexp and its own greedy ids; `difference` compares the two at the last position
over the whole vocabulary. Floats are the shortest decimals that read back as the same f32 (logsumexp: f64).

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

N_TOP, N_OTHERS, N_POSITIONS, N_TOP_AT_POSITION, N_GREEDY, N_CTX = 50, 200, 5, 5, 32, 512


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
    records = []
    for name, text in inputs.PROMPTS:
        ids = integer.tokenize(text, parse_special=True)
        all_f32 = f32_model.logits(floating, ids)
        f32 = _f32_record(floating, ids, all_f32)
        quantised, llama_cpp = _llama_cpp_record(context, ids)
        difference = compare(all_f32[-1], quantised)
        difference["equal_greedy_ids"] = _common_prefix(f32["greedy"]["ids"], llama_cpp["greedy_ids"])
        print(name, len(ids), difference, "min margin", min(f32["greedy"]["margins"]), flush=True)
        records.append(
            {"name": name, "text": text, "ids": ids, "f32": f32, "llama_cpp": llama_cpp, "difference": difference}
        )
    head = {"model": os.path.basename(args.gguf), "n_vocab": integer.n_vocab}
    output.write_document(args.out, head, "prompts", records)


def logsumexp(logits: np.ndarray) -> float:
    wide = logits.astype(np.float64)
    peak = wide.max()
    return float(peak + np.log(np.exp(wide - peak).sum()))


def compare(f32: np.ndarray, quantised: np.ndarray) -> dict:
    """How far the integer path lies from f32 at one position, over the whole vocabulary."""
    distance = np.abs(f32.astype(np.float64) - quantised)
    log_p, log_q = f32 - logsumexp(f32), quantised - logsumexp(quantised)
    return {
        "max_abs": float(f"{distance.max():.4g}"),
        "rms": float(f"{np.sqrt((distance**2).mean()):.4g}"),
        "kl": float(f"{(np.exp(log_p) * (log_p - log_q)).sum():.4g}"),
        "same_argmax": bool(f32.argmax() == quantised.argmax()),
        "same_of_top_10": len(set(_top_ids(f32, 10)) & set(_top_ids(quantised, 10))),
    }


def _f32_record(model, ids: list[int], logits: np.ndarray) -> dict:
    last = logits[-1]
    greedy_ids, margins = f32_model.greedy(model, ids, N_GREEDY)
    assert greedy_ids[0] == last.argmax()
    return {
        "top": _pairs(last, _top_ids(last, N_TOP)),
        "others": _pairs(last, _other_ids(last)),
        "logsumexp": logsumexp(last),
        "positions": [[at, _pairs(logits[at], _top_ids(logits[at], N_TOP_AT_POSITION))] for at in _positions(len(ids))],
        "greedy": {"ids": greedy_ids, "margins": [output.float32(m) for m in margins]},
    }


def _llama_cpp_record(context, ids: list[int]) -> tuple[np.ndarray, dict]:
    context.clear()
    last = logits = context.feed(ids)
    greedy_ids = []
    for _ in range(N_GREEDY):
        greedy_ids.append(int(logits.argmax()))
        logits = context.feed(greedy_ids[-1:])
    top = _pairs(last, _top_ids(last, N_TOP))
    return last, {"top": top, "logsumexp": logsumexp(last), "greedy_ids": greedy_ids}


def _top_ids(logits: np.ndarray, n: int) -> list[int]:
    return [int(i) for i in np.argsort(-logits, kind="stable")[:n]]


def _pairs(logits: np.ndarray, ids: list[int]) -> list[list]:
    return [[i, output.float32(logits[i])] for i in ids]


def _other_ids(logits: np.ndarray) -> list[int]:
    seen, state = set(_top_ids(logits, N_TOP)), 20261130
    others = []
    while len(others) < N_OTHERS:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        candidate = (state >> 33) % len(logits)
        if candidate not in seen:
            seen.add(candidate)
            others.append(candidate)
    return sorted(others)


def _positions(n: int) -> list[int]:
    """Up to N_POSITIONS places spread evenly over those before the last."""
    spread = {k * (n - 1) // (N_POSITIONS + 1) for k in range(1, N_POSITIONS + 1)}
    return sorted(at for at in spread if at < n - 1)


def _common_prefix(a: list[int], b: list[int]) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


if __name__ == "__main__":
    main()
