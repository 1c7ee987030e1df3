"""Sentence embeddings by sentence-transformers, f32, mean pooled, of length one.

    python make_embeddings.py MINILM_FOLDER embeddings_minilm.json

Per text: `n_tokens` (with [CLS] and [SEP], after the cut at the folder's max_seq_length of 256), `ids`, and `vector`,
384 numbers of 7 significant digits. Each text is embedded by itself (a batch of one, no padding). At the end the
script prints how far a padded batch of all texts and a run in f64 lie from the written numbers.

Packages: sentence-transformers==6.2.0, transformers==5.24.0, tokenizers==0.23.3, torch==2.15.0 (CPU),
safetensors==0.8.0, numpy==2.4.6.
"""

import argparse

import inputs
import numpy as np
import output
import torch
from sentence_transformers import SentenceTransformer


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("out")
    args = parser.parse_args()

    model = SentenceTransformer(args.folder, device="cpu", model_kwargs={"dtype": torch.float32})
    texts = inputs.SENTENCES
    vectors = np.stack([_embed(model, [text])[0] for text in texts])
    ids = [_ids(model, text) for text in texts]
    records = [
        {"text": text, "n_tokens": len(i), "ids": i, "vector": [float(f"{x:.7g}") for x in vector]}
        for text, i, vector in zip(texts, ids, vectors)
    ]
    head = {
        "model": "all-MiniLM-L6-v2",
        "max_tokens": model.max_seq_length,
        "n_dims": vectors.shape[1],
    }
    output.write_document(args.out, head, "texts", records)
    print("token counts", [len(i) for i in ids])
    print("max |batch - single|", np.abs(_embed(model, texts) - vectors).max())
    wide = np.stack([_embed(model.double(), [text])[0] for text in texts])
    print("max |f64 - f32|", np.abs(wide - vectors).max())


def _embed(model, texts: list[str]) -> np.ndarray:
    return model.encode(texts, batch_size=len(texts), normalize_embeddings=True, convert_to_numpy=True)


def _ids(model, text: str) -> list[int]:
    return model.preprocess([text])["input_ids"][0].tolist()


if __name__ == "__main__":
    main()
