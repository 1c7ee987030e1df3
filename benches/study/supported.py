"""Which question tells supported statements from others? Wording, labels, order, examples, windows, prior.

    supported.py --engine target/release/deps/engine-HASH --judge JUDGE.gguf --bench FOLDER --cache FOLDER [--rows 40]

Prints the AUC of every variant on every set, as in `docs/judge-quality.md`.
"""
import math
import re

from ask import Judge, arguments, auc, rows

ENGLISH_SETS = ["qags_cnndm", "qags_xsum", "attributionbench_id", "memerag_en", "wice_claims"]
KOREAN_SETS = ["kobest_boolq_ko", "klue_nli_ko"]

PLAIN = "You are a helpful assistant."
ENGLISH = "You check the answers of a question answering system. You go by the given text alone, not by what you know."
KOREAN = "당신은 질의응답 시스템의 답변을 검토합니다. 알고 있는 지식이 아니라 주어진 글만을 근거로 판단합니다."
YES, NO = ["Yes", " Yes", "yes", "YES"], ["No", " No", "no", "NO"]
YES_NO, NO_YES = [NO, YES], [YES, NO]
TRUE_FALSE = [["False", " False", "false"], ["True", " True", "true"]]
DIGITS = [["0", " 0"], ["1", " 1"]]
CLAIM = "Context:\n{ctx}\n\nStatement: {st}\n"
KOREAN_CLAIM = "문맥:\n{ctx}\n\n진술: {st}\n"

# System turn, user turn, spellings of the answers: not supported, supported.
ENGLISH_VARIANTS = {
    "naive": (PLAIN, CLAIM + "\nIs the statement supported by the context? Answer Yes or No.", YES_NO),
    "shipped": (ENGLISH, CLAIM + "Does the context say that the statement is true? Answer Yes or No.", YES_NO),
    "infer": (ENGLISH, CLAIM + "Can the statement be inferred from the context? Answer Yes or No.", YES_NO),
    "every detail": (ENGLISH, CLAIM + "Is every detail of the statement found in the context? Answer Yes or No.", YES_NO),
    "rule": (ENGLISH, CLAIM + "Answer Yes if the context says so, and No if it says otherwise or does not say it.", YES_NO),
    "asked for more": (ENGLISH, CLAIM + "Does the statement say anything that the context does not say? Answer Yes or No.", NO_YES),
    "true/false": (ENGLISH, CLAIM + "Going by the context alone, is the statement True or False?", TRUE_FALSE),
    "1/0": (ENGLISH, CLAIM + "Write 1 if the context supports the statement, and 0 if it does not.", DIGITS),
    "A/B": (ENGLISH, CLAIM + "Which is right?\nA. The context supports the statement.\nB. The context does not support the statement.\nAnswer A or B.", [["B", " B"], ["A", " A"]]),
    "claim first": (ENGLISH, "Statement: {st}\n\nContext:\n{ctx}\n\nDoes the context say that the statement is true? Answer Yes or No.", YES_NO),
}
KOREAN_VARIANTS = {
    "naive": (PLAIN, KOREAN_CLAIM + "\n이 진술은 문맥에 의해 뒷받침됩니까? 예 또는 아니오로 답하세요.", [["아니오", " 아니오", "아니요"], ["예", " 예"]]),
    "naive, Yes/No": (PLAIN, KOREAN_CLAIM + "\n이 진술은 문맥에 의해 뒷받침됩니까? Yes 또는 No로 답하세요.", YES_NO),
    "shipped": (KOREAN, KOREAN_CLAIM + "문맥에 따르면 이 진술은 참입니까? Yes 또는 No로만 답하세요.", YES_NO),
    "infer": (KOREAN, KOREAN_CLAIM + "문맥에서 이 진술을 끌어낼 수 있습니까? Yes 또는 No로만 답하세요.", YES_NO),
    "every detail": (KOREAN, KOREAN_CLAIM + "진술의 모든 내용이 문맥에 있습니까? Yes 또는 No로만 답하세요.", YES_NO),
    "rule": (KOREAN, KOREAN_CLAIM + "문맥에 이 내용이 있으면 Yes, 다르거나 없으면 No로 답하세요.", YES_NO),
    "asked for more": (KOREAN, KOREAN_CLAIM + "진술에 문맥과 다르거나 문맥에 없는 내용이 있습니까? Yes 또는 No로만 답하세요.", NO_YES),
    "true/false": (KOREAN, KOREAN_CLAIM + "문맥만 보면 이 진술은 참입니까 거짓입니까? True 또는 False로만 답하세요.", TRUE_FALSE),
    "English words": (ENGLISH, CLAIM + "Does the context say that the statement is true? Answer Yes or No.", YES_NO),
    "claim first": (KOREAN, "진술: {st}\n\n문맥:\n{ctx}\n\n문맥에 따르면 이 진술은 참입니까? Yes 또는 No로만 답하세요.", YES_NO),
}


def question(variant, context, statement):
    system, template, answers = variant
    data = {"{ctx}": [context], "{st}": [statement]}
    parts = [part for part in re.split(r"(\{ctx\}|\{st\})", template) if part]
    return {"system": system, "user": [data.get(part, part) for part in parts], "answers": answers}


def sentences(text):
    found = re.split(r"(?<=[.!?다요][.!?])\s+|(?<=[.!?])\s+|\n+", text)
    return [sentence for sentence in found if sentence and sentence.strip()]


def whole(contexts):
    return ["\n\n".join(contexts)]


def chunks(contexts):
    return contexts


def windows_of_six(contexts):
    found = [sentences(context) for context in contexts]
    return [" ".join(some[idx : idx + 6]) for some in found for idx in range(0, len(some), 6)] or [""]


def nothing(contexts):
    return [""]


def logit(p):
    p_yes = min(max(p[1], 1e-9), 1 - 1e-9)
    return math.log(p_yes / (1 - p_yes))


def statements(args, name):
    """Statements alone: kobest has questions with "yes, it is" too, which are judged by faithfulness."""
    n_rows = args.rows * 2 if name == "kobest_boolq_ko" else args.rows
    return [row for row in rows(args, name, n_rows) if row.get("statement")]


def largest(judge, found, variant, parts):
    """For each row the largest logit of yes over the parts of its contexts."""
    asked = [[question(variant, part, row["statement"]) for part in parts(row["retrieved_contexts"])] for row in found]
    answers = iter(judge.ask([one for some in asked for one in some]))
    return [max(logit(next(answers)) for _ in some) for some in asked]


def study(args, judge, sets, variants):
    found = {name: statements(args, name) for name in sets}
    line = lambda name, values: print(f"| {name} | " + " | ".join(f"{value:.3f}" for value in values) + f" | {sum(values) / len(values):.3f} |", flush=True)
    print("| variant | " + " | ".join(sets) + " | mean |\n|" + " --- |" * (len(sets) + 2))
    score = lambda name, values: auc(values, [row["label"] for row in found[name]])
    for name, variant in variants.items():
        line(name, [score(one, largest(judge, found[one], variant, whole)) for one in sets])
    for wording in ["shipped", "infer"]:
        variant = variants[wording]
        prior = {one: largest(judge, found[one], variant, nothing) for one in sets}
        for parts in [whole, chunks, windows_of_six]:
            logits = {one: largest(judge, found[one], variant, parts) for one in sets}
            for weight in [0, 0.5, 1]:
                lifts = {one: [a - weight * b for a, b in zip(logits[one], prior[one])] for one in sets}
                line(f"{wording}, {parts.__name__}, less {weight} x prior", [score(one, lifts[one]) for one in sets])


def main():
    args = arguments(__doc__)
    judge = Judge(args)
    study(args, judge, KOREAN_SETS, KOREAN_VARIANTS)
    print()
    study(args, judge, ENGLISH_SETS, ENGLISH_VARIANTS)


main()
