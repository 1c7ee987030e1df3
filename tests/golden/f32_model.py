"""A GGUF model with its weights dequantised to f32, run by transformers.

Packages: transformers==5.24.0, torch==2.15.0, accelerate==1.15.0, gguf==0.19.0, numpy==2.4.6. Not run by itself.
"""

import os

import torch
from transformers import AutoModelForCausalLM


def load(path: str, attention: str = "eager"):
    """The model in f32; `attention` is transformers' name of the attention implementation."""
    folder, name = os.path.split(path)
    model = AutoModelForCausalLM.from_pretrained(
        folder, gguf_file=name, dtype=torch.float32, attn_implementation=attention
    )
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    return model.eval()


@torch.inference_mode()
def logits(model, ids: list[int]):
    """Logits at every position, [len(ids), n_vocab] f32 numpy."""
    return model(torch.tensor([ids])).logits[0].numpy()


@torch.inference_mode()
def greedy(model, ids: list[int], n_tokens: int) -> tuple[list[int], list[float]]:
    """The argmax continuation, past any end token, and each step's logit margin of the first over the second."""
    chosen, margins, cache, step = [], [], None, torch.tensor([ids])
    for _ in range(n_tokens):
        out = model(step, past_key_values=cache, use_cache=True)
        cache = out.past_key_values
        top = out.logits[0, -1].topk(2)
        chosen.append(int(top.indices[0]))
        margins.append(float(top.values[0] - top.values[1]))
        step = torch.tensor([[chosen[-1]]])
    return chosen, margins
