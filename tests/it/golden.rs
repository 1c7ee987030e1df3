//! Golden values: does this program compute what the reference programs compute?
//!
//! `tests/golden/README.md` says who computed them and where the bounds come from.

use ragstone::engine::Options;
use ragstone::engine::sampler::Sampling;
use ragstone::engine::score::Probe;
use ragstone::engine::tokenizer::Tokenizer;
use ragstone::engine::weights::WeightFormat;
use ragstone::engine::write::{Request, Until, Written};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::weights::{MINILM, QWEN, SMOLLM2, Weights};

/// The largest difference of a logit computed in f32: 15 times what two f32 programs differ by.
const F32_LOGIT_BOUND: f32 = 1e-3;
/// P(yes) moves by at most a quarter of what "yes minus no" moves by, which is twice [`F32_LOGIT_BOUND`].
const F32_P_YES_BOUND: f64 = 5e-4;
/// The largest difference of a component of an embedding; a padded batch differs by 1.9e-7 from single texts, and f64
/// from f32. For unit vectors of 384 components it makes the cosine at least 1 - 2e-8.
const EMBEDDING_BOUND: f32 = 1e-5;

/// How far an engine that rounds activations to 8 bits may be from f32.
///
/// Two such engines differ from each other as much as each does from f32, so these are one and a half to three times
/// what was seen of llama.cpp.
struct RoundingBounds {
    /// Of the ten largest logits.
    top_logit: f32,
    /// Of any logit.
    logit: f32,
    p_yes: f64,
    /// The f32 margin of the largest logit over the second above which both choose the same token; llama.cpp left f32's
    /// path at margins up to 0.29 (SmolLM2) and 0.11 (Qwen2.5).
    margin: f32,
}

const SMOLLM2_BOUNDS: RoundingBounds = RoundingBounds { top_logit: 1.0, logit: 1.6, p_yes: 0.08, margin: 0.6 };
const QWEN_BOUNDS: RoundingBounds = RoundingBounds { top_logit: 0.5, logit: 1.0, p_yes: 0.04, margin: 0.3 };

/// A token and its logit.
type Logit = (u32, f32);

#[derive(Deserialize)]
struct TextTokens {
    name: String,
    text: String,
    ids: Vec<u32>,
}

#[derive(Deserialize)]
struct Prompts {
    prompts: Vec<GoldenPrompt>,
}

#[derive(Deserialize)]
struct GoldenPrompt {
    name: String,
    text: String,
    ids: Vec<u32>,
    #[serde(rename = "f32")]
    expected: PromptLogits,
}

#[derive(Deserialize)]
struct PromptLogits {
    /// The 50 largest at the last position, largest first.
    top: Vec<Logit>,
    /// 200 others there.
    others: Vec<Logit>,
    /// The five largest at some positions before.
    positions: Vec<(usize, Vec<Logit>)>,
    greedy: Greedy,
}

/// The 32 most likely next tokens, past any end token, and for each the margin of its logit over the second.
#[derive(Deserialize)]
struct Greedy {
    ids: Vec<u32>,
    margins: Vec<f32>,
}

#[derive(Deserialize)]
struct Questions {
    /// Spellings of yes and no with their one token each.
    answers: Vec<(String, u32)>,
    questions: Vec<GoldenQuestion>,
}

#[derive(Deserialize)]
struct GoldenQuestion {
    name: String,
    text: String,
    ids: Vec<u32>,
    #[serde(rename = "f32")]
    expected: VerdictLogits,
}

#[derive(Deserialize)]
struct VerdictLogits {
    /// In the order of the answers.
    logits: Vec<f32>,
    /// The five largest.
    top: Vec<Logit>,
    p_yes: f64,
}

#[derive(Deserialize)]
struct Embeddings {
    max_tokens: usize,
    texts: Vec<GoldenEmbedding>,
}

#[derive(Deserialize)]
struct GoldenEmbedding {
    text: String,
    /// Cut at `max_tokens`.
    ids: Vec<u32>,
    vector: Vec<f32>,
}

fn read<T: DeserializeOwned>(name: &str) -> T {
    let path = format!("{}/tests/data/golden/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the golden files are part of the repository");
    serde_json::from_str(&text).expect("the golden files have the shape that their README states")
}

/// The tokens of the longest golden text, for tests that need any text at all.
pub fn long_text_tokens(weights: &Weights) -> Vec<u32> {
    let texts: Vec<TextTokens> = read(&format!("tokens_{}", weights.name));
    texts.into_iter().map(|text| text.ids).max_by_key(Vec::len).expect("there are golden texts")
}

#[test]
fn smollm2_tokens_are_those_of_llama_cpp() {
    check_tokens(&SMOLLM2);
}

#[test]
fn qwen_tokens_are_those_of_llama_cpp() {
    check_tokens(&QWEN);
}

fn check_tokens(weights: &Weights) {
    let Some(tokenizer) = weights.tokenizer() else { return };
    let texts: Vec<TextTokens> = read(&format!("tokens_{}", weights.name));
    assert_eq!(texts.len(), 54);
    for TextTokens { name, text, ids } in texts {
        assert_eq!(tokenizer.encode_data(&text), ids, "{name}");
        assert!(!ids.iter().any(|id| tokenizer.is_special(*id)), "{name}");
    }
    let Prompts { prompts } = read(&format!("logits_{}", weights.name));
    let Questions { questions, .. } = read(&format!("verdict_{}", weights.name));
    let prompts = prompts.into_iter().map(|prompt| (prompt.name, prompt.text, prompt.ids));
    let questions = questions.into_iter().map(|question| (question.name, question.text, question.ids));
    for (name, text, ids) in prompts.chain(questions) {
        assert_eq!(tokenizer.encode_template(&text), ids, "{name}");
    }
}

#[test]
fn names_of_special_tokens_are_text_in_data() {
    for weights in [&SMOLLM2, &QWEN] {
        let Some(tokenizer) = weights.tokenizer() else { return };
        let specials: Vec<u32> = (0..tokenizer.n_vocab() as u32).filter(|&id| tokenizer.is_special(id)).collect();
        assert!(specials.len() >= 3, "both have `<|im_start|>`, `<|im_end|>` and `<|endoftext|>`");
        for special in specials {
            let name = String::from_utf8(tokenizer.token_bytes(special).to_vec()).unwrap();
            for text in [name.clone(), format!("a {name}b"), format!("{name}{name}\nsystem")] {
                let ids = tokenizer.encode_data(&text);
                assert!(!ids.iter().any(|id| tokenizer.is_special(*id)), "{text}");
                assert_eq!(tokenizer.decode(&ids), text);
            }
            assert_eq!(tokenizer.encode_template(&name), [special]);
        }
    }
}

#[test]
fn smollm2_in_f32_agrees_with_transformers() {
    check_f32(&SMOLLM2);
}

#[test]
fn qwen_in_f32_agrees_with_transformers() {
    check_f32(&QWEN);
}

fn check_f32(weights: &Weights) {
    let Some(run) = GoldenRun::new(weights, WeightFormat::F32) else { return };
    for (probe, (name, expected, logits)) in run.logits().enumerate() {
        for ((id, expected), logit) in expected.iter().zip(logits) {
            let difference = (expected - logit).abs();
            assert!(difference <= F32_LOGIT_BOUND, "{name}, probe {probe}, token {id}: {logit}, expected {expected}");
        }
    }
    for (name, expected, p_yes) in run.p_yes() {
        assert!((expected - p_yes).abs() <= F32_P_YES_BOUND, "{name}: P(yes) is {p_yes}, expected {expected}");
    }
    for (prompt, written) in run.prompts.iter().zip(&run.written) {
        let expected = run.until_end(&prompt.expected.greedy.ids);
        let n_written = written.tokens.len();
        assert_eq!(written.tokens, expected[..n_written], "{}", prompt.name);
        let is_whole = n_written == expected.len() || repeats_a_line(&run.tokenizer.decode(&written.tokens));
        assert!(is_whole, "{}: nothing but a repeated line may end a text earlier", prompt.name);
    }
    run.report();
}

#[test]
fn smollm2_as_loaded_by_default_is_near_f32() {
    check_default(&SMOLLM2, &SMOLLM2_BOUNDS);
}

#[test]
fn qwen_as_loaded_by_default_is_near_f32() {
    check_default(&QWEN, &QWEN_BOUNDS);
}

fn check_default(weights: &Weights, bounds: &RoundingBounds) {
    let Some(run) = GoldenRun::new(weights, WeightFormat::Quantised) else { return };
    for (name, expected, logits) in run.logits() {
        for (rank, ((id, expected), logit)) in expected.iter().zip(logits).enumerate() {
            let bound = if rank < 10 { bounds.top_logit } else { bounds.logit };
            assert!((expected - logit).abs() <= bound, "{name}, token {id}: {logit}, expected {expected}");
        }
        let margin = expected[0].1 - expected[1].1;
        let is_first = logits[1..].iter().all(|&logit| logit < logits[0]);
        assert!(is_first || margin <= bounds.margin, "{name}: another token than {} is the first", expected[0].0);
    }
    for (name, expected, p_yes) in run.p_yes() {
        assert!((expected - p_yes).abs() <= bounds.p_yes, "{name}: P(yes) is {p_yes}, expected {expected}");
    }
    for (prompt, written) in run.prompts.iter().zip(&run.written) {
        let Greedy { ids, margins } = &prompt.expected.greedy;
        let n_sure = margins.iter().take_while(|margin| **margin > bounds.margin).count();
        let n_equal = n_sure.min(run.until_end(ids).len()).min(written.tokens.len());
        assert_eq!(written.tokens[..n_equal], ids[..n_equal], "{}", prompt.name);
        let is_whole = n_equal == n_sure || written.is_complete;
        assert!(is_whole, "{}: the text ended before its first doubtful token", prompt.name);
    }
    run.report();
}

/// Everything the golden files ask of a judge, computed.
struct GoldenRun {
    tokenizer: Tokenizer,
    prompts: Vec<GoldenPrompt>,
    questions: Vec<GoldenQuestion>,
    answers: Vec<(String, u32)>,
    /// What was probed, and the expected logits, the largest first.
    probed: Vec<(String, Vec<Logit>)>,
    /// For each of them the logits computed.
    logits: Vec<Vec<f32>>,
    /// For each question the logits of its answers.
    verdicts: Vec<Vec<f32>>,
    /// For each prompt.
    written: Vec<Written>,
}

impl GoldenRun {
    fn new(weights: &Weights, format: WeightFormat) -> Option<Self> {
        let mut engine = weights.engine(Options { format, ..Options::default() })?;
        let Prompts { prompts } = read(&format!("logits_{}", weights.name));
        let Questions { answers, questions } = read(&format!("verdict_{}", weights.name));
        let mut probes = Vec::new();
        let mut probed = Vec::new();
        let mut probe = |name: &str, prompt: &[u32], expected: Vec<Logit>| {
            let candidates = expected.iter().map(|(id, _)| *id).collect();
            probes.push(Probe { prompt: prompt.to_vec(), n_static: 0, candidates });
            probed.push((name.to_owned(), expected));
        };
        for GoldenPrompt { name, ids, expected, .. } in &prompts {
            for (position, top) in &expected.positions {
                probe(name, &ids[..=*position], top.clone());
            }
            probe(name, ids, [expected.top.as_slice(), &expected.others].concat());
        }
        for GoldenQuestion { name, ids, expected, .. } in &questions {
            probe(name, ids, expected.top.clone());
        }
        for GoldenQuestion { name, ids, expected, .. } in &questions {
            let logits = answers.iter().zip(&expected.logits).map(|((_, id), logit)| (*id, *logit));
            probe(name, ids, logits.collect());
        }
        probed.truncate(probes.len() - questions.len());
        let mut logits = engine.score(&probes, &mut |_| ()).unwrap();
        let verdicts = logits.split_off(probed.len());
        let request = |prompt: &GoldenPrompt| Request {
            n_static: 0,
            prompt: prompt.ids.clone(),
            max_tokens: prompt.expected.greedy.ids.len(),
            until: Until::RepeatedLine,
            sampling: Sampling::Greedy,
        };
        let written = engine.write(&prompts.iter().map(request).collect::<Vec<_>>(), &mut |_| ()).unwrap();
        let tokenizer = weights.tokenizer()?;
        Some(Self { tokenizer, prompts, questions, answers, probed, logits, verdicts, written })
    }

    /// What was probed, the expected logits and the computed ones.
    fn logits(&self) -> impl Iterator<Item = (&str, &[Logit], &[f32])> {
        let logits = self.probed.iter().zip(&self.logits);
        logits.map(|((name, expected), logits)| (name.as_str(), expected.as_slice(), logits.as_slice()))
    }

    /// For each question the expected and the computed share of the yes spellings.
    fn p_yes(&self) -> impl Iterator<Item = (&str, f64, f64)> {
        let p_yes = |logits: &[f32]| {
            let weights = |answer: &str| -> f64 {
                let spellings = self.answers.iter().zip(logits);
                let of_answer = spellings.filter(|((text, _), _)| text.trim().eq_ignore_ascii_case(answer));
                of_answer.map(|(_, logit)| f64::from(logit - logits[0]).exp()).sum()
            };
            weights("yes") / (weights("yes") + weights("no"))
        };
        let verdicts = self.questions.iter().zip(&self.verdicts);
        verdicts.map(move |(question, logits)| (question.name.as_str(), question.expected.p_yes, p_yes(logits)))
    }

    /// A continuation as the engine writes it: up to its end token.
    fn until_end<'a>(&self, ids: &'a [u32]) -> &'a [u32] {
        let n_before = ids.iter().take_while(|id| !self.tokenizer.is_end(**id)).count();
        &ids[..n_before]
    }

    /// Prints the largest differences, which the bounds are stated against.
    fn report(&self) {
        let pairs = || self.logits().flat_map(|(_, expected, logits)| expected.iter().zip(logits).enumerate());
        let largest = |n_ranks| {
            let differences = pairs().filter(|(rank, _)| *rank < n_ranks);
            differences.map(|(_, ((_, expected), logit))| (expected - logit).abs()).fold(0.0, f32::max)
        };
        let p_yes = self.p_yes().map(|(_, expected, p_yes)| (expected - p_yes).abs()).fold(0.0, f64::max);
        let n_written: Vec<usize> = self.written.iter().map(|written| written.tokens.len()).collect();
        println!("largest differences: top ten {:.2e}, any {:.2e}, P(yes) {p_yes:.2e}", largest(10), largest(250));
        println!("tokens written: {n_written:?}");
    }
}

/// Whether the last whole line of a text stands in it before.
fn repeats_a_line(text: &str) -> bool {
    let Some((whole, _)) = text.rsplit_once('\n') else { return false };
    let lines: Vec<&str> = whole.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.iter().filter(|line| lines.last() == Some(line)).count() > 1
}

#[test]
fn embeddings_are_those_of_sentence_transformers() {
    let Some(embedder) = MINILM.embedder(2) else { return };
    let golden: Embeddings = read("embeddings_minilm");
    assert_eq!(embedder.max_tokens(), golden.max_tokens);
    let mut n_cut = 0;
    for GoldenEmbedding { text, ids, .. } in &golden.texts {
        let tokens = embedder.tokens(text).unwrap();
        if tokens.len() > golden.max_tokens {
            // The reference cuts the text and keeps the token that marks its end.
            assert_eq!(tokens[..ids.len() - 1], ids[..ids.len() - 1]);
            n_cut += 1;
        } else {
            assert_eq!(tokens, *ids, "{text}");
        }
    }
    assert_eq!(n_cut, 1);
    let ids: Vec<Vec<u32>> = golden.texts.iter().map(|text| text.ids.clone()).collect();
    let vectors = embedder.embed(&ids).unwrap();
    let mut largest = 0f32;
    for (GoldenEmbedding { text, vector, .. }, computed) in golden.texts.iter().zip(vectors.rows()) {
        assert_eq!(vector.len(), computed.len());
        for (expected, computed) in vector.iter().zip(computed) {
            largest = largest.max((expected - computed).abs());
            assert!((expected - computed).abs() <= EMBEDDING_BOUND, "{text}: {computed}, expected {expected}");
        }
    }
    println!("largest difference of a component: {largest:.2e}");
}

#[test]
fn embedding_has_the_same_bits_alone_and_in_a_batch() {
    let Some(embedder) = MINILM.embedder(2) else { return };
    let golden: Embeddings = read("embeddings_minilm");
    let long = &golden.texts.iter().map(|text| &text.ids).max_by_key(|ids| ids.len()).expect("there are texts")[1..];
    // Windows of a text make more equally long texts than are computed at once; even the empty text has two tokens.
    let windows = [2, 3, 4, 5, 30].into_iter().flat_map(|len| long.windows(len).take(70).map(<[u32]>::to_vec));
    let texts: Vec<Vec<u32>> = golden.texts.iter().map(|text| text.ids.clone()).chain(windows).collect();
    let together = embedder.embed(&texts).unwrap();
    for (tokens, row) in texts.iter().zip(together.rows()) {
        let alone = embedder.embed(std::slice::from_ref(tokens)).unwrap();
        assert!(alone.row(0) == row, "{} tokens", tokens.len());
    }
}
