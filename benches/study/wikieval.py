"""Labels the pairs of WikiEval anew, since the labels in the public copy only say which half of the file a row stands in.

    wikieval.py SOURCE BENCH OUT

SOURCE holds `ar.csv`, `ff.csv` and `cr.csv` of noah-13/llm-based-reference-free-rag-eval-metrics-meta-eval @ 065440b214
(`experiment/input`), BENCH the rows made from them (`wikieval_*.jsonl`); OUT gets those rows with labels by construction.

In the files label 0 stands in rows 1 to 50 and label 1 in rows 51 to 100, whatever the texts are; the study itself compares with a
sheet that is not in the repository. WikiEval was built from one good answer a question, from the page: it was paired with one written
without the page (`ff`) and with one that answers in part (`ar`). So the answer that a question has in both files is the good one. The
page's text in `ff` is the good context of `cr`. Questions that this does not decide are left out.
"""
import csv
import difflib
import json
import pathlib
import sys

csv.field_size_limit(1 << 30)
SAME, OTHER = 0.98, 0.9  # likeness of two copies of a text, and the most that other pairs may have


def texts(path, column):
    """The texts of each question by their label in the file."""
    found = {}
    for row in csv.DictReader(path.open(newline="", encoding="utf-8")):
        found.setdefault(row["question"], {})[int(row["label"])] = row[column]
    return found


def likeness(a, b):
    a, b = (" ".join(text.split()).strip("' ") for text in (a, b))
    return difflib.SequenceMatcher(None, a[:4000], b[:4000], autojunk=False).ratio()


def common(first, second):
    """The labels of the two texts that are the same, one of each side; None unless exactly one pair is."""
    ranked = sorted(((likeness(a, b), i, j) for i, a in first.items() for j, b in second.items()), reverse=True)
    is_clear = ranked[0][0] >= SAME and all(like < OTHER for like, _, _ in ranked[1:])
    return ranked[0][1:] if is_clear else None


def main():
    source, bench, out = (pathlib.Path(arg) for arg in sys.argv[1:])
    answers, faithful, contexts = texts(source / "ar.csv", "answer"), texts(source / "ff.csv", "answer"), texts(source / "cr.csv", "context")
    page = texts(source / "ff.csv", "context")
    good = {"answer_relevance": {}, "faithfulness": {}, "context_relevance": {}}
    for question in faithful:
        if question in answers and (labels := common(answers[question], faithful[question])):
            good["answer_relevance"][question], good["faithfulness"][question] = labels
        if question in contexts and (labels := common(contexts[question], {0: page[question][0]})):
            good["context_relevance"][question] = labels[0]
    for name, labels in good.items():
        right = sum(labels.values())
        print(f"{name}: {len(labels)} of {len(faithful)} questions decided; the label in the file is right for {right}")
        with (bench / f"wikieval_{name}.jsonl").open() as rows, (out / f"wikieval_{name}.jsonl").open("w") as file:
            for row in map(json.loads, rows):
                if row["user_input"] in labels:
                    row["label"] = int(row["label"] == labels[row["user_input"]])
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")


main()
