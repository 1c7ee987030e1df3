//! Tests of the tokenizer on small vocabularies. That real vocabularies give llama.cpp's numbers is tested with the
//! pinned models.

use std::fs;
use std::time::{Duration, Instant};

use super::fixture::vocabulary;
use super::*;
use crate::engine::gguf::fixture::GgufBuilder;

/// Merges of the small vocabulary; the tokens they make are 256 to 261.
const MERGES: [&str; 6] = ["h e", "l l", "he ll", "hell o", "Ġ hello", "e l"];
/// Tokens 262 to 265.
const EXTRA: [(&str, i32); 4] = [("<|im_start|>", 3), ("<|im_end|>", 3), ("<tool>", 4), ("<|im_end|>s", 3)];
/// A text that takes longer than this is not encoded in linear time.
const MAX_TIME: Duration = Duration::from_secs(2);

/// The tokenizer of a file.
fn open(file: &GgufBuilder) -> Result<Tokenizer> {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("model.gguf");
    fs::write(&path, file.build()).expect("the folder is new");
    Tokenizer::from_gguf(&Gguf::open(&path)?)
}

/// The small vocabulary.
fn small() -> Tokenizer {
    open(&vocabulary("gpt-2", &MERGES, &EXTRA)).expect("is well formed")
}

/// Checks the tokens of a text from a data set, and that they decode to it.
fn check_data(text: &str, expected: &[u32]) {
    let tokenizer = small();
    assert_eq!(tokenizer.encode_data(text), expected, "{text:?}");
    assert_eq!(tokenizer.decode(expected), text);
}

/// Checks the tokens of a template.
fn check_template(text: &str, expected: &[u32]) {
    assert_eq!(small().encode_template(text), expected, "{text:?}");
}

/// Checks the message for a file that is refused.
fn check_refused(file: &GgufBuilder, expected: &str) {
    let Err(error) = open(file) else { panic!("must be refused: {expected}") };
    assert!(error.to_string().contains(expected), "{error}");
}

/// `l l` comes before `e l`, so `hello` is `he`, `ll`, `o` and then one token.
#[test]
fn merges_apply_in_their_order_and_inside_words() {
    check_data("", &[]);
    check_data("hello", &[259]);
    check_data("hello hello", &[259, 260]);
    check_data("elb", &[261, 98]);
    check_data("hel", &[256, 108]);
    check_data("h ello", &[104, 32, 101, 257, 111]);
}

#[test]
fn every_text_has_tokens() {
    check_data("é가", &[0xc3, 0xa9, 0xea, 0xb0, 0x80]);
    check_data("\0\t\n\u{7f}\u{ad}", &[0, 9, 10, 0x7f, 0xc2, 0xad]);
}

#[test]
fn data_never_has_special_or_added_tokens() {
    let text = "<|im_end|><tool>";
    let bytes: Vec<u32> = text.bytes().map(u32::from).collect();
    check_data(text, &bytes);
    check_template(text, &[263, 264]);
}

#[test]
fn templates_have_special_tokens_and_the_longer_one_wins() {
    check_template("<|im_start|>hello<|im_end|>\n", &[262, 259, 263, 10]);
    check_template("<|im_end|>s<|im_end|>", &[265, 263]);
    check_template("<|im_end|", &"<|im_end|".bytes().map(u32::from).collect::<Vec<_>>());
    check_template("", &[]);
}

#[test]
fn decoding_skips_special_tokens_and_replaces_what_is_not_utf8() {
    let tokenizer = small();
    assert_eq!(tokenizer.decode(&[262, 259, 263]), "hello");
    assert_eq!(tokenizer.decode(&[264]), "<tool>");
    assert_eq!(tokenizer.decode(&[0xea, 0xb0]), "\u{fffd}");
    assert_eq!(tokenizer.decode(&[u32::MAX]), "");
    assert_eq!(tokenizer.token_bytes(260), b" hello");
    assert_eq!(tokenizer.token_bytes(262), b"<|im_start|>");
    assert_eq!(tokenizer.token_bytes(266), b"");
    assert_eq!(tokenizer.n_vocab(), 266);
    assert!(tokenizer.is_special(262) && !tokenizer.is_special(264) && !tokenizer.is_special(259));
}

/// Token 257 is `</s>` and ordinary, as in vocabularies of program text; 258 is `<|eot_id|>`, wrongly called ordinary.
#[test]
fn ends_are_known_by_number_and_by_text() {
    let file = vocabulary("gpt-2", &["< /s>"], &[]);
    assert!(open(&file).is_err(), "`/s>` is no token");
    let merges = ["/ s", "/s >", "< /s>"];
    let extra = [("<|eot_id|>", 1), ("<|im_end|>", 3), ("<stop>", 3), ("<|other|>", 3)];
    let tokenizer = open(&vocabulary("gpt-2", &merges, &extra).u32("tokenizer.ggml.eos_token_id", 261));
    let tokenizer = tokenizer.expect("is well formed");
    let ends: Vec<u32> = (0..tokenizer.n_vocab() as u32).filter(|id| tokenizer.is_end(*id)).collect();
    assert_eq!(ends, [259, 260, 261]);
    assert!(tokenizer.is_special(259));
    assert_eq!(tokenizer.decode(&[258]), "</s>");
}

#[test]
fn the_first_token_is_given_where_the_model_wants_one() {
    let bos = |file: GgufBuilder| open(&file.u32("tokenizer.ggml.bos_token_id", 262)).expect("is well formed").bos();
    let file = |pre| vocabulary(pre, &MERGES, &EXTRA);
    assert_eq!(bos(file("gpt-2")), None);
    assert_eq!(bos(file("gpt-2").bool("tokenizer.ggml.add_bos_token", true)), Some(262));
    assert_eq!(bos(file("llama-bpe")), Some(262));
    assert_eq!(bos(file("llama-bpe").bool("tokenizer.ggml.add_bos_token", false)), None);
}

/// Without merges for it, `hel` can be one token only as a whole word.
#[test]
fn llama_3_prefers_whole_words_to_merges() {
    let ids = |pre| open(&vocabulary(pre, &MERGES, &[("hel", 1)])).expect("is well formed").encode_data("hel");
    assert_eq!(ids("llama-bpe"), [262]);
    assert_eq!(ids("qwen2"), [256, 108]);
}

/// The vocabulary has no token for the byte 4, and nothing merges across the gap.
#[test]
fn bytes_without_a_token_are_left_out() {
    let gguf = GgufBuilder::new()
        .text("tokenizer.ggml.model", "gpt2")
        .text("tokenizer.ggml.pre", "gpt-2")
        .strings("tokenizer.ggml.tokens", &["!", "!!"])
        .strings("tokenizer.ggml.merges", &["! !"]);
    let tokenizer = open(&gguf).expect("is well formed");
    assert_eq!(tokenizer.encode_data("!\u{4}!"), [0, 0]);
    assert_eq!(tokenizer.encode_data("!!"), [1]);
}

#[test]
fn of_equal_merges_the_first_counts() {
    let file = |merges: &[&str]| {
        GgufBuilder::new()
            .text("tokenizer.ggml.model", "gpt2")
            .text("tokenizer.ggml.pre", "gpt-2")
            .strings("tokenizer.ggml.tokens", &["a", "b", "c", "ab", "bc"])
            .strings("tokenizer.ggml.merges", merges)
    };
    let ids = |merges: &[&str]| open(&file(merges)).expect("is well formed").encode_data("abc");
    assert_eq!(ids(&["a b", "b c", "a b"]), [3, 2]);
    assert_eq!(ids(&["b c", "a b"]), [0, 4]);
}

#[test]
fn vocabularies_that_cannot_be_read_are_refused() {
    let good = || vocabulary("gpt-2", &MERGES, &EXTRA);
    let model = GgufBuilder::new().text("tokenizer.ggml.model", "llama");
    let no_pre = GgufBuilder::new().text("tokenizer.ggml.model", "gpt2");
    check_refused(&GgufBuilder::new(), "has no key `tokenizer.ggml.model`");
    check_refused(&model, "key `tokenizer.ggml.model` is `llama`, expected `gpt2` (byte-level BPE)");
    check_refused(&no_pre, "has no key `tokenizer.ggml.pre`");
    check_refused(&vocabulary("new", &[], &[]), "key `tokenizer.ggml.pre` is `new`, expected one of gpt-2, ");
    check_refused(&vocabulary("qwen2", &["a zz"], &[]), "has `a zz`, but `zz` is no text token");
    check_refused(&vocabulary("qwen2", &["ab"], &[]), "has `ab`, expected two parts with a space between");
    check_refused(&vocabulary("qwen2", &[], &[("a", 1)]), "key `tokenizer.ggml.tokens` has `a` twice, as 97 and 256");
    check_refused(&good().u32("tokenizer.ggml.eos_token_id", 266), "is 266, but there are only 266 tokens");
    check_refused(&good().text("tokenizer.ggml.eot_token_id", "2"), "is a string, expected a whole number");
}

#[test]
fn a_merge_may_not_make_a_special_token() {
    let file = GgufBuilder::new()
        .text("tokenizer.ggml.model", "gpt2")
        .text("tokenizer.ggml.pre", "gpt-2")
        .strings("tokenizer.ggml.tokens", &["a", "b", "ab"])
        .strings("tokenizer.ggml.merges", &["a b"]);
    assert!(open(&file).is_ok());
    check_refused(&file.clone().i32s("tokenizer.ggml.token_type", &[1, 1, 3]), "has `a b`, but `ab` is no text token");
    check_refused(&file.i32s("tokenizer.ggml.token_type", &[1, 1]), "has 2 types for 3 tokens");
}

#[test]
fn long_texts_take_linear_time() {
    let tokenizer = small();
    for unit in ["a", " ", "hello", "\n", " \n", "!", "'", "7", "가", "\u{3000}", "<|im_end|", " a"] {
        let text = unit.repeat(100_000);
        let start = Instant::now();
        let ids = tokenizer.encode_data(&text);
        assert!(start.elapsed() < MAX_TIME, "{unit:?} took {:?}", start.elapsed());
        assert_eq!(tokenizer.decode(&ids), text);
    }
}

/// Computed with Python's `hashlib` from the layout that [`Tokenizer::sha256`] describes, for two tokens and one merge.
#[test]
fn the_fingerprint_has_the_layout_that_is_documented() {
    let file = GgufBuilder::new()
        .text("tokenizer.ggml.model", "gpt2")
        .text("tokenizer.ggml.pre", "gpt-2")
        .strings("tokenizer.ggml.tokens", &["!", "!!"])
        .strings("tokenizer.ggml.merges", &["! !"]);
    let expected = "0f0135e989acd9fabe16c280af77fc20cbdf0eb1caba7dad67577e73faff2c75";
    assert_eq!(open(&file).expect("is well formed").sha256(), expected);
}
