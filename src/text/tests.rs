//! What `text` promises, as tables; the expected values were written by hand.

use super::*;

/// The table's texts, each split where the bars are; the bars are no part of the text.
///
/// White space around a bar stays in the text and is trimmed from the sentences.
fn check(table: &[&str]) {
    for marked in table {
        let text = marked.replace('¦', "");
        let expected: Vec<&str> = marked.split('¦').map(str::trim).collect();
        assert_eq!(sentences(&text), expected, "in {text:?}");
    }
}

#[test]
fn full_stops_end_english_sentences_but_not_those_in_words_and_numbers() {
    check(&[
        "It rains. ¦It pours.",
        "Is it on? ¦Yes! ¦Good.",
        "The dose is 3.5 mg. ¦Take it twice.",
        "It costs $1,299.99 today. ¦Tomorrow it costs more.",
        "Dr. Kim met Mrs. Lee at St. Mary's. ¦They talked.",
        "Use a solvent, e.g. acetone, i.e. a ketone. ¦Ventilate.",
        "See Fig. 3 and No. 5 on pp. 12-14. ¦The rest is text.",
        "May I? ¦No. ¦You may not.",
        "The U.S. Army moved. ¦He lives in the U.S. ¦He likes it.",
        "J. R. R. Tolkien wrote it. ¦J. K. Rowling did not.",
        "It opens at 9 a.m. and closes at 5 p.m. ¦Visitors must leave.",
        "Pens, paper, etc. ¦Everything is there.",
        "Pens, paper, etc. are there.",
        "It weighs 2 lb. 5 oz. net. ¦Ships at 3 lb. ¦무게는 약 2 lb. ¦색은 두 가지다.",
        "Acme Inc. sells it. ¦It was made by Acme Inc. ¦The price is low.",
        "Well... I am not sure… maybe. ¦Ask again.",
        "Go to https://a.example/x.html?q=1.5&r=2. ¦Then click.",
        "Run v1.2.3 of setup.exe on node.js. ¦Reboot.",
        "It was founded in 2020. ¦The founder left in 2021. ¦Nobody knew.",
        "what is this?! ¦it is nothing.",
        "The limit (see sec. 4.) is 5. ¦It holds.",
        "It works (really!) and is fast. ¦Good.",
        "(This is an aside. It has two sentences.) ¦This is not.",
    ]);
}

#[test]
fn closing_quotes_stay_with_their_english_sentence() {
    check(&[
        "She said \"Stop.\" ¦He stopped.",
        "\"Stop!\" he said. ¦She stopped.",
        "\"I came. I saw.\" ¦Then he left.",
        "“Who is it?” she asked. ¦‘Nobody.’ ¦It was true.",
        "Don't touch the dogs' bowls. ¦It's theirs.",
        "A 5\" pipe fits. ¦An 8\" pipe does not.",
        "An \"unmatched quote. ¦The next sentence.",
        "**Important.** ¦Read this.",
        "Ships in 3 days.[1] ¦Returns are free. [2, 3] ¦Keep the box.",
        "This is true.¹ ¦That is not.",
    ]);
}

#[test]
fn korean_sentences_end_with_and_without_a_space() {
    check(&[
        "밥을 먹었다. ¦그리고 잤다.",
        "밥을 먹었다.¦그리고 잤다.",
        "신청하세요.¦접수는 3일 걸려요.¦문의 주시죠.¦괜찮을까?¦네.",
        "정말입니까? ¦그렇습니다! ¦다행이네요.",
        "정말입니까?¦그렇습니다!¦다행이네요.",
        "금리는 연 3.5%이다. ¦한도는 1,000만 원이다.",
        "제품 v2.1.0을 설치했다.¦재부팅한다.",
        "결과입니다.pdf 파일을 여세요. ¦끝입니다.",
        "자세한 내용은 https://a.example/안내다.가나 를 보세요. ¦감사합니다.",
        "글쎄요... 잘 모르겠다. ¦다음에 보자…",
        "2024. 3. 15. 시행한다. ¦개정은 2025. 1. 1.부터 적용된다.",
        "개정일은 2024.03.15.이다. ¦이후 변경은 없다.",
        "확인함. ¦이상 없음.¦조치 완료됨.",
        "한도를 초과했다。¦다시 시도한다！¦정말인가？¦그렇다.",
        "합니다. ¦iPhone은 제외입니다.",
        "담당자는 Dr. Kim이다. ¦연락처는 No. 5이다.",
        "배송됩니다.[1] ¦반품은 무료입니다. [2] ¦상자를 보관하세요.",
        "작동한다(정말이다!) 그리고 빠르다. ¦좋다.",
        "(자세한 내용은 3장을 보라.) ¦다음은 4장이다.",
        "네. ¦맞습니다.",
    ]);
}

#[test]
fn korean_quotations_belong_to_the_sentence_that_reports_them() {
    check(&[
        "그는 \"밥을 먹었다.\" 라고 말했다. ¦그리고 갔다.",
        "그는 \"밥을 먹었다.\"라고 말했다.¦그리고 갔다.",
        "그는 “가자. 빨리 가자.”라며 일어섰다. ¦비가 왔다.",
        "‘왜 안 되나요?’ 하고 물었다. ¦대답은 없었다.",
        "왜 안 되나요?라고 물었다. ¦대답은 없었다.",
        "\"알겠습니다.\" ¦그는 나갔다.",
        "「규정을 따른다.」고 적혀 있다. ¦예외는 없다.",
        "그가 말했다.¦\"늦었다.\" ¦그녀는 웃었다.",
        "갔다. ¦하고 싶은 말이 많았다.",
        "《안내서》를 참고한다. ¦〈부록〉은 없다.",
    ]);
}

#[test]
fn lists_tables_and_headings_keep_one_line_each() {
    check(&[
        "Bring:\n¦- a passport\n¦- two photos\n¦* the form",
        "1. Open the lid.\n¦2. Press start. ¦Wait.\n¦3) Close it",
        "준비물\n¦• 신분증\n¦•통장 사본\n¦① 신청서\n¦② 도장",
        "가. 신청 방법\n¦나. 접수 기간\n¦1.제출 서류",
        "(1) 첫째 항목\n¦(가) 둘째 항목\n¦a) third item",
        "# 휴가 규정. 총칙\n¦연차는 15일이다.\n¦| 구분 | 일수. |\n¦| 병가 | 60일. 유급 |\n¦끝",
        "Room\tOpens\n¦A. 1\t9 a.m. sharp. Yes",
        "- a long item that is\n  wrapped over two lines\n¦- the next",
        "Steps: 1. Open it. ¦2. Press it. ¦3. Close it.",
    ]);
}

#[test]
fn a_line_break_splits_only_after_a_sentence_and_a_blank_line_always() {
    check(&[
        "This sentence is\nwrapped. ¦This one\nis too.",
        "The first line ends.\n¦and this starts small",
        "It was signed by Dr.\nKim in May.",
        "No full stop here\n\n¦None here",
        "문장이 다음 줄로\n이어진다. ¦새 문장이\r\n있다.",
        "사과보다\n배가 좋다.",
        "확인했습니다\n¦다음 주에 뵐게요\n¦감사합니다",
        "첫 문단\r\n\r\n¦둘째 문단\n \t\n¦셋째 문단",
    ]);
}

#[test]
fn what_holds_no_word_is_no_sentence() {
    for empty in ["", " \n\t ", "...", "?!", "---\n***\n|---|---|", "😀"] {
        assert!(sentences(empty).is_empty(), "in {empty:?}");
    }
    check(&["Thanks. 😀", "좋아요! ¦다음에 봐요. ~~", "!!! Wow. ¦Nice."]);
}

#[test]
fn sentences_are_slices_of_the_text() {
    let text = "  하나다.  둘이다. ";
    let found = sentences(text);
    // Two spaces, then three syllables of three bytes each and a full stop.
    assert_eq!(found[0].as_ptr(), text[2..].as_ptr());
    assert_eq!(found, ["하나다.", "둘이다."]);
}

#[test]
fn long_input_takes_linear_time() {
    // A quadratic scan of any of these would take minutes.
    for piece in ["(", "\" ", ". ", "a.", "다.a", "[1]", "다.[", "'a ", "…", "- a\n"] {
        sentences(&piece.repeat(400_000));
    }
}

#[test]
fn a_quarter_of_hangul_letters_makes_a_text_korean() {
    use Language::{English, Korean};
    let table = [
        ("", English),
        ("123 ... 😀", English),
        ("How long does it take?", English),
        ("얼마나 걸리나요?", Korean),
        ("abc가", Korean),   // 1 of 4
        ("abcd가", English), // 1 of 5
        // Hangul: 를 재시작하세요, 7; Latin: KubernetesPod, 13.
        ("Kubernetes Pod를 재시작하세요", Korean),
        ("The word 정 (jeong) has no English equivalent.", English),
        ("ㅋㅋㅋ", Korean),
        ("日本語のテキスト", English),
    ];
    for (text, expected) in table {
        assert_eq!(detect(text), expected, "in {text:?}");
    }
    assert_eq!((English.code(), Korean.code()), ("en", "ko"));
}

#[test]
fn decomposed_hangul_counts_as_composed() {
    // 각 decomposed is ᄀ ᅡ ᆨ: still one letter of five, and one of four.
    assert_eq!(detect("abcd\u{1100}\u{1161}\u{11A8}"), Language::English);
    assert_eq!(detect("abc\u{1100}\u{1161}\u{11A8}"), Language::Korean);
}

#[test]
fn nfc_composes_and_borrows_what_is_composed() {
    assert!(matches!(nfc("각 café"), Cow::Borrowed("각 café")));
    assert!(matches!(nfc("\u{1100}\u{1161}\u{11A8} cafe\u{301}"), Cow::Owned(text) if text == "각 café"));
}
