"""Token ids of many texts by llama.cpp, on the vocabulary inside a GGUF file.

    python make_tokens.py MODEL.gguf tokens_MODEL.json [--differences FILE.json]

Nothing is added and nothing is parsed: no BOS, and `<|im_start|>` in a text is plain characters. Writes a list of
{name, text, ids}, one a line. With --differences it also asks the second witnesses (the Hugging Face tokenizers
named in `second_witness.py`) and writes where they differ; llama.cpp's ids stay the golden ones.

Packages: xllamacpp==2026.10.11549 (llama.cpp b11549), llama-cpp-py-sync==0.11548, numpy==2.4.6; for --differences also
transformers==5.24.0, tokenizers==0.23.3, gguf==0.19.0, torch==2.15.0.
"""

import argparse

import inputs
import llama_raw
import output


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("gguf")
    parser.add_argument("out")
    parser.add_argument("--differences")
    args = parser.parse_args()

    model = llama_raw.Model(args.gguf, vocab_only=True)
    records = [
        {"name": name, "text": text, "ids": model.tokenize(text, parse_special=False)}
        for name, text in inputs.token_texts()
    ]
    output.write_lines(args.out, records)
    if args.differences:
        import second_witness

        output.write_lines(args.differences, second_witness.differences(args.gguf, model, records))


if __name__ == "__main__":
    main()
