"""How far apart equal computations lie: the numbers behind the bounds in README.md.

    python measure_bounds.py MODEL.gguf SCRATCH_FOLDER [--threads N]

Writes a copy of the model with every tensor dequantised to f32 (by the `gguf` package) into SCRATCH_FOLDER and
removes it at the end. Then, over all prompts and questions, the largest difference of a last-position logit:
- `weights`: transformers' dequantised weights against the gguf package's (llama's q and k rows un-permuted);
- `f32_two_attentions`: transformers eager against transformers sdpa;
- `f32_two_programs`: transformers eager against llama.cpp on the f32 copy;
- `quantised`: transformers eager against llama.cpp on the file itself;
- `quantised_one_by_one`: llama.cpp, the prompt in one batch against token by token;
- `quantised_plain`: llama.cpp with repacked blocks (its default) against without;
- `quantised_default_cache`: llama.cpp with an f32 KV cache and no flash attention against its defaults.

Packages: transformers==5.24.0, torch==2.15.0 (CPU), accelerate==1.15.0, gguf==0.19.0, numpy==2.4.6,
xllamacpp==2026.10.11549 (llama.cpp b11549), llama-cpp-py-sync==0.11548 (declarations only).
"""

import argparse
import os

import f32_model
import gguf
import inputs
import llama_raw
import numpy as np
import torch
from make_logits import N_CTX


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("gguf")
    parser.add_argument("scratch")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)

    packed = llama_raw.Model(args.gguf)
    prompts = [packed.tokenize(text, parse_special=True) for _, text in inputs.PROMPTS + inputs.QUESTIONS]
    quantised = by_llama_cpp(packed.context(N_CTX, args.threads), prompts)
    one_by_one = by_llama_cpp(packed.context(N_CTX, args.threads), prompts[:4], one_by_one=True)
    default = by_llama_cpp(packed.context(N_CTX, args.threads, plain_cache=False), prompts)
    plain = by_llama_cpp(llama_raw.Model(args.gguf, repack=False).context(N_CTX, args.threads), prompts)
    report("quantised_one_by_one", quantised[:4], one_by_one)
    report("quantised_default_cache", quantised, default)
    report("quantised_plain", quantised, plain)

    floating = f32_model.load(args.gguf, "eager")
    print("weights", compare_weights(args.gguf, floating))
    eager = by_transformers(floating, prompts)
    report("quantised", eager, quantised)
    report("quantised_plain_against_f32", eager, plain)
    del floating
    report("f32_two_attentions", eager, by_transformers(f32_model.load(args.gguf, "sdpa"), prompts))

    copy = os.path.join(args.scratch, "f32-" + os.path.basename(args.gguf))
    write_f32(args.gguf, copy)
    unpacked = by_llama_cpp(llama_raw.Model(copy).context(N_CTX, args.threads), prompts)
    os.remove(copy)
    report("f32_two_programs", eager, unpacked)


def report(name: str, a: list[np.ndarray], b: list[np.ndarray]) -> None:
    distances = [float(np.abs(x - y).max()) for x, y in zip(a, b)]
    equal = sum(x.argmax() == y.argmax() for x, y in zip(a, b))
    spread = f"max {max(distances):.4g}, median of maxima {np.median(distances):.4g}"
    print(f"{name} {spread}, argmax equal {equal}/{len(a)}", flush=True)


def by_transformers(model, prompts: list[list[int]]) -> list[np.ndarray]:
    return [f32_model.logits(model, ids)[-1].copy() for ids in prompts]


def by_llama_cpp(context, prompts: list[list[int]], one_by_one: bool = False) -> list[np.ndarray]:
    last = []
    for ids in prompts:
        context.clear()
        for part in [[i] for i in ids] if one_by_one else [ids]:
            logits = context.feed(part)
        last.append(logits)
    return last


def compare_weights(path: str, model) -> str:
    """The number of tensors equal bit for bit, and the largest difference of the others."""
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, model.config.num_hidden_layers)
    stored = {tensor.name: tensor for tensor in gguf.GGUFReader(path).tensors}
    n_equal, n_other, largest = 0, 0, 0.0
    for name, ours in model.state_dict().items():
        base, _, suffix = name.rpartition(".")
        tensor = stored.get(f"{names.get_name(base)}.{suffix}")
        if tensor is None:  # a tied lm_head
            continue
        theirs = gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(ours.shape)
        if model.config.model_type == "llama" and base.endswith(("q_proj", "k_proj")):
            theirs = _unpermuted(theirs, model.config, base.endswith("q_proj"))
        distance = float(np.abs(ours.numpy() - theirs).max())
        n_equal, n_other, largest = n_equal + (distance == 0), n_other + (distance != 0), max(largest, distance)
    return f"{n_equal} tensors equal, {n_other} not, largest difference {largest:.3g}"


def _unpermuted(weight: np.ndarray, config, is_query: bool) -> np.ndarray:
    # llama.cpp's converter interleaves the two halves of each head, for its rotary form; undo that.
    n_heads = config.num_attention_heads if is_query else config.num_key_value_heads
    rows, columns = weight.shape
    return weight.reshape(n_heads, rows // n_heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


def write_f32(path: str, copy: str) -> None:
    """The same GGUF with f32 tensors."""
    reader = gguf.GGUFReader(path)
    writer = gguf.GGUFWriter(copy, reader.fields["general.architecture"].contents())
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        kind = field.types[0]
        value = 0 if field.name == "general.file_type" else field.contents()
        writer.add_key_value(field.name, value, kind, field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None)
    for tensor in reader.tensors:
        shape = [int(n) for n in reversed(tensor.shape)]
        writer.add_tensor(tensor.name, gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(shape))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
