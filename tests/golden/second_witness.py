"""Second witnesses of the tokenizer, and where they differ from llama.cpp.

Two of them, both on the vocabulary and merges inside the GGUF file:
- `transformers`: AutoTokenizer.from_pretrained(folder, gguf_file=name), as transformers rebuilds it from the GGUF;
- `tokenizers`: the BPE of the `tokenizers` library with the normaliser and pre-tokeniser of the models' published
  tokenizer.json files, written out below (SmolLM2: single digits, then GPT-2's pattern; Qwen2: NFC, then its own).

Packages: transformers==5.24.0, tokenizers==0.23.3, gguf==0.19.0, torch==2.15.0. Not run by itself; see make_tokens.py.
"""

import os

import gguf
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

QWEN2_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def differences(path: str, model, records: list[dict]) -> list[dict]:
    """For each text and witness with other ids: the first place where they part, with the pieces around it."""
    witnesses = {"transformers": _by_transformers(path), "tokenizers": _by_tokenizers(path)}
    found = []
    for record in records:
        for witness, tokenizer in witnesses.items():
            ids = tokenizer.encode(record["text"], add_special_tokens=False).ids
            if ids != record["ids"]:
                found.append(_difference(record, witness, ids, model))
    same = {w: len(records) - sum(d["witness"] == w for d in found) for w in witnesses}
    print("equal texts of", len(records), same)
    return found


def _difference(record: dict, witness: str, ids: list[int], model) -> dict:
    ours = record["ids"]
    at = next((i for i, (a, b) in enumerate(zip(ours, ids)) if a != b), min(len(ours), len(ids)))

    def around(ids: list[int]) -> list[str]:
        return [model.piece(i).decode("utf-8", "backslashreplace") for i in ids[at : at + 6]]

    return {
        "name": record["name"],
        "witness": witness,
        "first_difference": at,
        "n_llama_cpp": len(ours),
        "n_witness": len(ids),
        "llama_cpp": around(ours),
        "other": around(ids),
    }


def _by_transformers(path: str) -> Tokenizer:
    from transformers import AutoTokenizer

    folder, name = os.path.split(path)
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name).backend_tokenizer
    tokenizer.encode_special_tokens = True  # special tokens in a text are plain characters
    return tokenizer


def _by_tokenizers(path: str) -> Tokenizer:
    reader = gguf.GGUFReader(path)
    vocab = {token: i for i, token in enumerate(reader.fields["tokenizer.ggml.tokens"].contents())}
    merges = [tuple(merge.split(" ")) for merge in reader.fields["tokenizer.ggml.merges"].contents()]
    tokenizer = Tokenizer(models.BPE(vocab, merges))
    kind = reader.fields["tokenizer.ggml.pre"].contents()
    if kind == "smollm":
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        )
    elif kind == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(QWEN2_PATTERN), behavior="isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
    else:
        raise SystemExit(f"no pre-tokeniser known for `{kind}`")
    return tokenizer
