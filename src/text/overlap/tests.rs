//! What `overlap` promises beyond the golden vectors; the expected values were derived by hand or with the library that
//! the test names.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::*;

const MAX_ERROR: f64 = 1e-12;

fn check(ours: f64, expected: f64) {
    assert!((ours - expected).abs() <= MAX_ERROR, "{ours}, expected {expected}");
}

fn check_overlap(ours: Overlap, expected: [f64; 3]) {
    let ours = [ours.precision, ours.recall, ours.fmeasure];
    for (ours, expected) in ours.into_iter().zip(expected) {
        check(ours, expected);
    }
}

#[test]
fn bleu_of_nothing_and_of_less_than_four_words_is_0() {
    for (references, response) in [
        (&[][..], "a b c d"),
        (&[""], "a b c d"),
        (&[" "], "a b c d"),
        (&["a b c d"], ""),
        (&["a b c d"], "\n\t"),
        (&["a b c"], "a b c"),
        (&["w x y z"], "a b c d"),
    ] {
        assert_eq!(bleu(references, response), 0.0, "{references:?} {response:?}");
    }
    assert_eq!(bleu(&["🙂 🙂 🙂 🙂"], "🙂 🙂 🙂 🙂"), 1.0);
}

#[test]
fn bleu_takes_the_best_count_of_any_reference_and_the_closest_length() {
    // Precisions of "a a b c": 4/4, 2/3, and smoothed 1/(2*2), 1/(4*1). The lengths 3 and 5 are equally close, and the
    // shorter one is no penalty.
    let expected = (1.0_f64 * 2.0 / 3.0 / 4.0 / 4.0).powf(0.25);
    check(bleu(&["a a x", "b c a x y"], "a a b c"), expected);
    // Alone, the longer one is: 3/4, 1/3, 1/4, 1/4, and exp(1 - 5/4).
    let expected = (3.0_f64 / 4.0 / 3.0 / 4.0 / 4.0).powf(0.25) * (-0.25_f64).exp();
    check(bleu(&["b c a x y"], "a a b c"), expected);
}

#[test]
fn ragas_scores_the_first_sentence_alone() {
    assert_eq!(ragas_bleu("One two three four. Five.", "One two three four. All of this is wrong."), 1.0);
    assert_eq!(ragas_bleu("Zero. One two three four", "One two three four. Wrong."), 1.0);
    assert_eq!(ragas_bleu("One two three four.", ". One two three four."), 0.0);
    assert_eq!(ragas_bleu("", "One two three four."), 0.0);
}

#[test]
fn chrf_counts_characters_without_white_space() {
    check(chrf("a b\tc", "abc"), 1.0);
    check(chrf("한글", "한 글"), 1.0);
    assert_eq!(chrf("", ""), 0.0);
    assert_eq!(chrf(" \n", "abc"), 0.0);
    assert_eq!(chrf("abc", ""), 0.0);
    assert_eq!(chrf("abc", "xyz"), 0.0);
    // NFD has other characters, none of which is a syllable.
    assert_eq!(chrf("한글", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}"), 0.0);
    // One order, as 🙂 has no run of two: P = 1, R = 1/2, 5PR / (4P + R).
    check(chrf("🙂x", "🙂"), 5.0 * 0.5 / 4.5);
    // Orders 1 and 2: P = (2/3 + 1/2) / 2, R = (2/2 + 1/1) / 2.
    let precision = 7.0 / 12.0;
    check(chrf("ab", "abc"), 5.0 * precision / (4.0 * precision + 1.0));
}

#[test]
fn rouge_counts_words_in_any_and_in_one_order() {
    let split = |text: &'static str| text.split_whitespace().collect::<Vec<_>>();
    let (reference, response) = (split("a b c d a"), split("a c b a a e"));
    // a twice, b, c: 4 of 6 and 4 of 5.
    check_overlap(rouge_n(&reference, &response, 1), [4.0 / 6.0, 4.0 / 5.0, 8.0 / 11.0]);
    // No pair of neighbours is in both: ab bc cd da, ac cb ba aa ae.
    check_overlap(rouge_n(&reference, &response, 2), [0.0; 3]);
    // a b a: 3 of 6 and 3 of 5.
    check_overlap(rouge_l(&reference, &response), [3.0 / 6.0, 3.0 / 5.0, 6.0 / 11.0]);
    let nothing: &[&str] = &[];
    for overlap in [rouge_l(nothing, &response), rouge_l(&reference, nothing), rouge_n(nothing, nothing, 1)] {
        check_overlap(overlap, [0.0; 3]);
    }
    assert_eq!(rouge_n(&["one"], &["one"], 2).fmeasure, 0.0);
    assert_eq!(rouge_l(&["one"], &["one"]).fmeasure, 1.0);
}

#[test]
fn ascii_words_are_those_of_rouge_score() {
    for (text, expected) in [
        ("", &[][..]),
        (" \n", &[]),
        ("한글 🙂", &[]),
        ("Café", &["caf"]),
        (
            "The cats weren't running at 10:30, was it?",
            &["the", "cat", "weren", "t", "run", "at", "10", "30", "was", "it"],
        ),
        ("U.S.A. 1990s x_y", &["u", "s", "a", "1990", "x", "y"]),
        // The Kelvin sign becomes a k in lower case.
        ("\u{212a}ing", &["king"]),
    ] {
        assert_eq!(ascii_words(text), expected, "{text:?}");
    }
}

#[test]
fn words_lose_endings_and_particles_in_both_languages() {
    for (text, expected) in [
        ("", &[][..]),
        (" \n", &[]),
        ("🙂!", &[]),
        ("The cats' running", &["the", "cat", "run"]),
        ("Café", &["café"]),
        ("서울은 대한민국의 수도이다.", &["서울", "대한민국", "수"]),
        ("서울에서는 서울까지도 서울입니다", &["서울", "서울", "서울"]),
        ("고양이가 고양이", &["고양", "고양"]),
        ("Seoul은 Models를 2024년에", &["seoul", "model", "2024년"]),
        // Nothing is left before these.
        ("이다 에서 는", &["이다", "에서", "는"]),
        // In NFD.
        ("\u{1109}\u{1165}\u{110b}\u{116e}\u{11af}\u{110b}\u{1173}\u{11ab}", &["서울"]),
    ] {
        assert_eq!(words(text), expected, "{text:?}");
    }
}

#[test]
fn long_texts_are_scored_like_short_ones() {
    let long = "abcd efgh ".repeat(500);
    assert_eq!(bleu(&[&long], &long), 1.0);
    check(chrf(&long, &long), 1.0);
    assert_eq!(rouge_l(&words(&long), &words(&long)).fmeasure, 1.0);
    assert_eq!(rouge_n(&ascii_words(&long), &ascii_words(&long), 1).fmeasure, 1.0);
}

/// Made by `tests/golden/make_stems.py`.
const STEMS: &str = include_str!("../../../tests/data/golden/stems_nltk.json");

#[derive(Deserialize)]
struct Stems {
    stems: BTreeMap<String, String>,
}

#[test]
fn stems_are_those_of_nltk() {
    let file: Stems = serde_json::from_str(STEMS).expect("the file is JSON");
    assert!(file.stems.len() > 300);
    for (word, expected) in &file.stems {
        assert_eq!(&stem(word), expected, "{word}");
    }
}

#[test]
fn what_is_not_a_lower_case_english_word_is_its_own_stem() {
    for word in ["", "서울", "cafés", "🙂"] {
        assert_eq!(stem(word), word);
    }
}
