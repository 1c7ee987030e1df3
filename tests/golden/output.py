"""Writes the JSON files: UTF-8, one record a line, floats as their shortest exact form."""

import json
import os


def _dump(value) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def write_lines(path: str, records: list) -> None:
    """A JSON list, one element a line."""
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write("[\n" + ",\n".join(_dump(record) for record in records) + "\n]\n")
    print(path, os.path.getsize(path), "bytes")


def write_document(path: str, head: dict, name: str, records: list) -> None:
    """An object of `head`'s fields, then the list `name`, one element a line."""
    fields = "".join(f"{_dump(key)}:{_dump(value)},\n" for key, value in head.items())
    body = ",\n".join(_dump(record) for record in records)
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write("{\n" + fields + _dump(name) + ":[\n" + body + "\n]}\n")
    print(path, os.path.getsize(path), "bytes")


def float32(value) -> float:
    """The shortest decimal that reads back as the same f32."""
    import numpy as np

    return float(str(np.float32(value)))
