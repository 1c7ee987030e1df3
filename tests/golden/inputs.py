"""The inputs of all golden files: texts, prompts, yes/no questions, sentences to embed.

Only data and two small text builders; needs nothing but Python 3.11. The written JSON files carry these
inputs with them, so a test never needs this module.
"""

import unicodedata

# One Korean paragraph, written by hand for these files, NFC.
KOREAN = (
    "검색 증강 생성은 먼저 관련 문서를 찾고, 그 문서를 근거로 답변을 만듭니다. "
    "평가할 때에는 답변의 각 주장이 문서로 뒷받침되는지 확인해야 합니다. "
    "훈민정음은 1446년에 반포되었다; 값·밖·뷁 같은 글자도 있다."
)
ENGLISH = (
    "Retrieval-augmented generation first looks for passages that bear on the question, then writes an "
    "answer from them. The naïve reader trusts the answer; the careful one checks each claim against its "
    "source — “is it really there?” — and counts what isn't."
)
PYTHON = (
    "def mean(xs: list[float]) -> float:\n"
    '    """Arithmetic mean; 0.0 for an empty list."""\n'
    "    if not xs:\n        return 0.0\n\n\n"
    "    total = sum(x * 1e-3 for x in xs)  # scaled\n"
    "    return total / len(xs) if total != 0 else float('nan')\n"
)
C_TABS = (
    "#include <stdio.h>\n\nint main(int argc, char **argv)\n{\n"
    "\tfor (int i = 0; i < argc; ++i) {\n\t\tif (argv[i][0] == '-')\n\t\t\tcontinue;\n"
    '\t\tprintf("%d:\\t%s\\n", i, argv[i]);\n\t}\n\treturn 0xDEADBEEF & ~1;\n}\n'
)
SPECIAL_AS_DATA = "<|im_start|>user <|im_end|> <|endoftext|>"

# (name, text); the long one is appended by `token_texts`.
_SHORT_TEXTS = [
    ("empty", ""),
    ("single_space", " "),
    ("two_spaces", "  "),
    ("single_newline", "\n"),
    ("single_letter", "a"),
    ("hello_world", "Hello world"),
    ("leading_space", " Hello world"),
    ("english", ENGLISH),
    ("korean_nfc", KOREAN),
    ("korean_nfd", unicodedata.normalize("NFD", KOREAN)),
    ("latin_nfc", "Crème brûlée, Ångström, mañana, Dvořák, ﬁne ½ x² №"),
    ("latin_nfd", unicodedata.normalize("NFD", "Crème brûlée, Ångström, mañana, Dvořák, ﬁne ½ x² №")),
    ("korean_compatibility_jamo", "ㅋㅋㅋ ㅠㅠ ㄱㄴㄷ ㈜한국 １２３"),
    ("emoji", "😀😃 ok👍🏽 👩‍👩‍👧‍👦 family 🇰🇷🇺🇸🇫🇷 ❤️‍🔥 🏴󠁧󠁢󠁥󠁮󠁧󠁿 1️⃣ ☺ ☺️ 🤷🏾‍♀️!"),
    ("code_python", PYTHON),
    ("code_c_tabs", C_TABS),
    ("many_newlines", "one\n\ntwo\n\n\nthree\n\n\n\n\n\nfour \n \n five\n"),
    ("crlf", "first line\r\nsecond line\r\n\r\n\r\nafter blank\rlone CR\n\rswapped \r\n"),
    ("digits", "0 7 42 365 2024 12345 1234567890 00000000 3.14159 1,000,000 -17 1e-10 0x1F 50% 2026-11-30T12:34:56Z"),
    ("long_number", "31415926535897932384626433832795028841971693993751058209749445923078164062862089986280348253421170679"),
    ("digits_other_scripts", "٠١٢٣٤٥٦٧٨٩ १२३४ ๑๒๓ ⅷ ①②③ ²³ ½ 一二三 𝟘𝟙𝟚"),
    ("digits_and_letters", "abc123def4567gh8 x86_64 v1.2.3-rc4 A1B22C333 3rd 4x4 10km"),
    ("whitespace_runs", "a b  c   d    e     f\tg\t\th \t i\t j \n k\n\n l   \n\n   m"),
    ("trailing_spaces", "ends with spaces    "),
    ("trailing_space_newline", "ends with mixed \t \n"),
    ("leading_whitespace", "    \t  indented\n        more"),
    ("only_spaces_16", " " * 16),
    ("only_spaces_100", " " * 100),
    ("only_newlines_20", "\n" * 20),
    ("unicode_spaces", "a\u00a0b\u2003c\u3000d\u200be\u2028f\u2029g\u0085h\u1680i\u202fj\ufeffk\x0bl\x0cm"),
    ("chinese", "检索增强生成先查找相关段落,然后据此回答问题。“真的有依据吗?”《红楼梦》共120回。"),
    ("chinese_traditional", "檢索增強生成先查找相關段落,然後據此回答問題。龘靐齉"),
    ("japanese", "検索拡張生成は、まず関連文書を探し、それに基づいて回答します。カタカナ、ひらがな、ー、々。ﾊﾝｶｸ"),
    ("arabic", "التوليد المعزز بالاسترجاع يبحث أولاً عن المقاطع ذات الصلة، ثم يكتب الإجابة. مُحَمَّدٌ ١٢٣"),
    ("hebrew", "שָׁלוֹם עולם, זהו טקסט קצר."),
    ("hindi", "पुनर्प्राप्ति-संवर्धित सृजन पहले संबंधित अंश खोजता है, फिर उत्तर लिखता है। क्षत्रिय ज्ञान १२३"),
    ("thai", "ระบบจะค้นหาข้อความที่เกี่ยวข้องก่อน แล้วจึงเขียนคำตอบ น้ำ ๑๒๓"),
    ("russian_greek", "Сначала ищем документы, затем отвечаем. Ελληνικά: ἄνθρωπος, ΣΊΣΥΦΟΣ."),
    ("vietnamese", "Hệ thống tìm kiếm các đoạn văn liên quan trước, rồi mới trả lời câu hỏi."),
    ("punctuation_runs", "... !!! ??? ?!?! --- === *** ((( ))) [[]] {{}} <<>> //// \\\\ ##### $$$ %%% ^^^ &&& ||| ~~~ ``` '''\"\"\" ;;; ::: ,,, …… —— ––"),
    ("punctuation_then_newlines", "end.\n\nnext!\n\n\n{\n\n}\n;\r\n\r\n*/ \n"),
    ("punctuation_attached", "a.b.c @user #tag $HOME C++ C# f(x)=y; e-mail: a_b@c.org (it's) [1,2] \"q\" 'q' <a href=\"/x?y=1&z=2\">"),
    ("contractions_lower", "I'm you're he's we've they'll I'd don't can't isn't y'all'd've o'clock 'tis rock'n'roll"),
    ("contractions_upper", "I'M YOU'RE HE'S WE'VE THEY'LL I'D DON'T CAN'T ISN'T Y'ALL'D'VE O'CLOCK 'TIS ROCK'N'ROLL"),
    ("contractions_mixed", "I'M you'Re He'S we'vE They'Ll i'D 'S 'T 're'VE'm ’s ’re it’s 'ſ 'K"),
    ("special_tokens_as_data", SPECIAL_AS_DATA),
    ("special_tokens_in_text", "a<|im_start|>b<|im_end|>\n<|endoftext|><|im_start|>system\n<|fim_prefix|><repo_name> <|unk|> <s></s>"),
    ("markup", "<h1>Title</h1>\n- **bold** _it_ `code`\n1. [link](https://example.org/a?b=c#d)\n| a | b |\n|---|---|\n"),
    ("json", '{"user_input": "q", "retrieved_contexts": ["a", "b\\n"], "score": 0.875, "ok": null}'),
    ("long_word", "pneumonoultramicroscopicsilicovolcanoconiosis" + "a" * 120 + "Antidisestablishmentarianism"),
    ("camel_and_snake", "getHTTPResponseCode snake_case_name SCREAMING_CASE kebab-case XMLHttpRequest iPhone"),
    ("control_characters", "nul\x00bell\x07esc\x1b[0m del\x7f end"),
    ("private_and_astral", "\ue000 \uf8ff \U0001f9ff \U00020000\U0002a6d6 \U000e0001 𝒜𝓑𝔠 𐍈𐎀 \ufffd \uffff"),
]

LONG_TEXT_CHARS = 10_000


def token_texts() -> list[tuple[str, str]]:
    """The short texts and one of LONG_TEXT_CHARS characters that mixes them all."""
    return [*_SHORT_TEXTS, ("mixed_10000", _mixed_text())]


def _mixed_text() -> str:
    # A linear congruential generator (Knuth's MMIX constants) picks pieces and joints: no library's RNG to agree with.
    state, out, n_chars = 20261130, [], 0
    pieces = [text for _, text in _SHORT_TEXTS if text.strip()]
    joints = ["", " ", "\n", "\n\n", "  ", "\t", " - ", "\r\n"]

    def draw(n: int) -> int:
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (state >> 33) % n

    while n_chars < LONG_TEXT_CHARS:
        piece = pieces[draw(len(pieces))]
        start = draw(len(piece))
        chunk = piece[start : start + 1 + draw(80)] + joints[draw(len(joints))]
        out.append(chunk)
        n_chars += len(chunk)
    return "".join(out)[:LONG_TEXT_CHARS]


# --- prompts for logits ------------------------------------------------------------------------------------------

# ChatML as both models' chat templates render it with a system message of our own.
def chat(user: str, system: str = "You are a careful evaluator.") -> str:
    """One system and one user message, then the opening of the assistant's answer."""
    return (
        f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n{user}<|im_end|>\n<|im_start|>assistant\n"
    )


ENGLISH_CONTEXT = (
    "The Harbour Light Company was founded in 1892 by two sisters, Clara and Edith Morrow, who had inherited a small "
    "glass workshop from their father. For the first ten years the workshop made lenses only for fishing boats. In "
    "1903 it won a contract to rebuild the lamp of the Cape Fallon lighthouse, and the new lens, almost two metres "
    "tall, could be seen from thirty kilometres away. The company moved to a larger hall near the railway in 1911. "
    "During the war most of its workers left, and the sisters kept the furnaces going with eleven apprentices. After "
    "1920 the demand for large lenses fell, because electric lamps were brighter and needed less glass, so the "
    "company began to make instruments for laboratories. Edith Morrow retired in 1927; Clara led the company until "
    "1934, when it was sold to a competitor from the capital. The hall burned down in 1951, but the lens of Cape "
    "Fallon is still in use, and visitors may see it on the first Sunday of each month."
)
ENGLISH_MORE = (
    "A small museum opened in the old railway office in 1988. Its three rooms show tools, order books, letters from "
    "ship owners and a model of the first furnace at a scale of 1:20. The order books list 4,317 lenses sold to "
    "twenty-six countries; the largest order, for forty lamps, came from Norway in 1908. School classes may melt and "
    "pour a small disc of glass themselves, under the eye of a volunteer, and take it home when it has cooled."
)
KOREAN_CONTEXT = (
    "하버라이트는 1892년에 모로 자매가 세운 유리 회사이다. 처음 십 년 동안은 어선에 쓰는 렌즈만 만들었다. "
    "1903년에 등대의 렌즈를 새로 만드는 계약을 따냈다."
)
YES_NO = "Answer with Yes or No only."


def _yes_no(context: str, question: str) -> str:
    return chat(f"Context: {context}\n\nQuestion: {question}\n{YES_NO}")


# (name, text); special tokens in these texts are parsed.
PROMPTS = [
    ("en_one_token", "The"),
    ("en_prose", "The capital of France is Paris, and the capital of Japan is"),
    ("en_chat", chat("Write one sentence about why the sky is blue.")),
    ("en_yes_no", _yes_no(f"{ENGLISH_CONTEXT}\n\n{ENGLISH_MORE}", "Was the Harbour Light Company founded by two sisters?")),
    ("ko_one_syllable", "한"),
    ("ko_prose", "대한민국의 수도는 서울이고, 일본의 수도는"),
    ("ko_chat", chat("하늘이 왜 파란지 한 문장으로 설명해 주세요.")),
    ("ko_yes_no", _yes_no(KOREAN_CONTEXT, "하버라이트는 자매가 세운 회사인가?")),
]

# --- yes/no questions --------------------------------------------------------------------------------------------

_SHORT_CONTEXT = (
    "Marie Curie was born in Warsaw in 1867. She won the Nobel Prize in Physics in 1903 and the Nobel Prize in "
    "Chemistry in 1911."
)

# (name, prompt text); special tokens are parsed.
QUESTIONS = [
    ("paris", chat(f"Is Paris the capital of France? {YES_NO}")),
    ("berlin", chat(f"Is Berlin the capital of Italy? {YES_NO}")),
    ("sum_right", chat(f"Is 2 + 2 equal to 4? {YES_NO}")),
    ("sum_wrong", chat(f"Is 2 + 2 equal to 5? {YES_NO}")),
    ("curie_supported", _yes_no(_SHORT_CONTEXT, "Is the claim `Marie Curie was born in Warsaw` supported by the context?")),
    ("curie_contradicted", _yes_no(_SHORT_CONTEXT, "Is the claim `Marie Curie was born in Paris` supported by the context?")),
    ("curie_not_stated", _yes_no(_SHORT_CONTEXT, "Is the claim `Marie Curie had two daughters` supported by the context?")),
    ("lens_long_context", _yes_no(ENGLISH_CONTEXT, "Is the lens of Cape Fallon still in use?")),
    ("hall_long_context", _yes_no(ENGLISH_CONTEXT, "Did Clara Morrow retire before Edith Morrow?")),
    ("no_system_words", chat(f"Do fish live in water? {YES_NO}", system="Answer truthfully.")),
    ("korean_supported", _yes_no(KOREAN_CONTEXT, "하버라이트는 1892년에 세워졌는가?")),
    ("korean_contradicted", _yes_no(KOREAN_CONTEXT, "하버라이트는 자동차를 만드는 회사인가?")),
]
ANSWERS = ["Yes", "yes", " Yes", "No", "no", " No"]

# --- sentences to embed ------------------------------------------------------------------------------------------

SENTENCES = [
    "a",
    "Hello",
    "lighthouse",
    "Hello, world!",
    "The cat sat on the mat.",
    "A cat was sitting on a mat.",
    "Stock prices fell sharply on Monday.",
    "What is the capital of France?",
    "Paris is the capital and largest city of France.",
    "Is it really there? The naïve reader trusts the answer; the CAREFUL one checks.",
    "Crème brûlée and Ångström: accents are stripped by an uncased vocabulary.",
    "def mean(xs):\n\treturn sum(xs) / len(xs)",
    "3.14159 1,000,000 2026-11-30 0x1F 50%",
    "   leading, doubled  and trailing   spaces   ",
    "An emoji 😀 and CJK 检索增强 in one sentence.",
    "antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis",
    ENGLISH,
    " ".join(ENGLISH_CONTEXT.split(". ")[:4]) + ".",
    ENGLISH_CONTEXT,
    "안녕하세요",
    "검색 증강 생성은 먼저 관련 문서를 찾습니다.",
    KOREAN,
    unicodedata.normalize("NFD", "검색 증강 생성은 먼저 관련 문서를 찾습니다."),
    "retrieval " * 60 + "end",
    f"{ENGLISH_CONTEXT} {ENGLISH_MORE}",  # longer than the model's 256 tokens: cut
    "",
]
