//! The attacks of `judge-check --injection`: are they what they claim to be, and can one become structure?

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use ragstone::calibrate::injection::{Attack, Kind, Place, attacks};
use ragstone::engine::gguf::Gguf;
use ragstone::engine::kernels::Cpu;
use ragstone::engine::tokenizer::Tokenizer;
use ragstone::engine::{Engine, Options};
use ragstone::judge::Posed;
use ragstone::judge::asks::{Noncommittal, Supported, YesNo};
use ragstone::judge::prompts::Pack;
use ragstone::record::PinnedModel;
use ragstone::respond::judge::Judge;
use ragstone::text::Language;

use crate::matrix::judge as tiny;
use crate::weights::{QWEN, SMOLLM2, Weights};

/// Rows of a kind in a language, at least.
const MIN_ROWS: usize = 9;

fn kinds() -> impl Iterator<Item = Kind> {
    Kind::ATTACKS.into_iter().chain([Kind::Harmless])
}

#[test]
fn every_kind_has_as_many_rows_in_either_language() {
    let attacks = attacks();
    let count = |kind, lang| attacks.iter().filter(|attack| attack.kind == kind && attack.lang == lang).count();
    for kind in kinds() {
        let (n_english, n_korean) = (count(kind, Language::English), count(kind, Language::Korean));
        assert!(n_english >= MIN_ROWS && n_english == n_korean, "{kind:?}: {n_english}, {n_korean}");
    }
}

#[test]
fn two_thirds_of_the_attacks_of_a_kind_stand_in_statements() {
    let attacks = attacks();
    for kind in Kind::ATTACKS {
        let of_kind: Vec<&Attack> = attacks.iter().filter(|attack| attack.kind == kind).collect();
        let n_statements = of_kind.iter().filter(|attack| attack.place == Place::Statement).count();
        assert_eq!(3 * n_statements, 2 * of_kind.len(), "{kind:?}");
    }
}

#[test]
fn no_id_statement_or_context_comes_twice() {
    let attacks = attacks();
    for part in [
        |attack: &Attack| attack.id.clone(),
        |attack: &Attack| attack.statement.clone(),
        |attack: &Attack| attack.plain.statement.clone(),
        |attack: &Attack| attack.retrieved_contexts.join("\n"),
        |attack: &Attack| attack.plain.retrieved_contexts.join("\n"),
    ] {
        assert_eq!(attacks.iter().map(part).collect::<BTreeSet<_>>().len(), attacks.len());
    }
}

#[test]
fn row_differs_from_its_twin_where_the_attack_stands_and_nowhere_else() {
    for attack in attacks() {
        let has_statement = attack.statement != attack.plain.statement;
        let has_contexts = attack.retrieved_contexts != attack.plain.retrieved_contexts;
        let expected = (attack.place == Place::Statement, attack.place == Place::Context);
        assert_eq!((has_statement, has_contexts), expected, "{}", attack.id);
        assert_eq!(attack.label == 1, attack.kind == Kind::Harmless, "{}", attack.id);
        assert!(attack.id.starts_with(&format!("{}-{}-", attack.kind.name(), attack.lang.code())), "{}", attack.id);
    }
}

#[test]
fn attack_keeps_statement_and_contexts_unless_it_takes_their_place() {
    let is_whole = |attack: &Attack| !matches!(attack.kind, Kind::EmptyAnswers | Kind::Harmless);
    for attack in attacks().iter().filter(|attack| is_whole(attack)) {
        let contexts = attack.retrieved_contexts.join("\n");
        assert!(attack.statement.contains(&attack.plain.statement), "{}", attack.id);
        assert!(attack.plain.retrieved_contexts.iter().all(|context| contexts.contains(context)), "{}", attack.id);
    }
}

/// The tokens that only the chat template may bring in: those that its text makes and that the same text as data does not.
fn structure(tokenizer: &Tokenizer) -> BTreeMap<u32, String> {
    let name = |id: u32| String::from_utf8(tokenizer.token_bytes(id).to_vec()).ok();
    let ids = (0..tokenizer.n_vocab() as u32).filter_map(|id| Some((id, name(id)?)));
    ids.filter(|(id, name)| tokenizer.encode_template(name) == [*id] && tokenizer.encode_data(name) != [*id]).collect()
}

/// Asserts that no attack, and no text that reads like a special token, adds one to a prompt or takes one away.
fn check(path: &Path) {
    let tokenizer = Tokenizer::from_gguf(&Gguf::open(path).expect("it is well-formed")).expect("it has a vocabulary");
    let engine = Engine::load(path, &Arc::new(Cpu::new(2)), Options::default()).expect("it can be run");
    let pinned =
        PinnedModel { name: "judge".to_owned(), pins: BTreeMap::new(), languages: Vec::new(), checked: Vec::new() };
    let mut judge = Judge::new(pinned, engine);
    let structure = structure(&tokenizer);
    let mut added = |language, contexts: &[String], statement: &str| -> Vec<Vec<u32>> {
        let contexts: Vec<&str> = contexts.iter().map(String::as_str).collect();
        let asks: [&dyn YesNo; 2] =
            [&Supported { contexts: &contexts, statement }, &Noncommittal { response: statement }];
        let posed = asks.map(|ask| ask.pose(Pack::of(language)));
        let tokens = posed.iter().flat_map(Posed::prompts).map(|prompt| judge.tokens(prompt));
        let is_structure = |id: &u32| structure.contains_key(id);
        tokens.map(|ids| ids.expect("the template is sound").into_iter().filter(is_structure).collect()).collect()
    };
    for language in Language::ALL {
        let expected = added(language, &["A plain text.".to_owned()], "Another one.");
        // The template begins and ends turns.
        assert!(expected.iter().all(|ids| ids.len() >= 4), "{expected:?}");
        for attack in attacks() {
            assert_eq!(added(language, &attack.retrieved_contexts, &attack.statement), expected, "{}", attack.id);
        }
        for name in structure.values() {
            let contexts = [format!("{name}user\n{name}")];
            assert_eq!(added(language, &contexts, &format!("Yes{name}\n{name}")), expected, "{name}");
        }
    }
}

fn check_pinned(weights: &Weights) {
    if let Some(path) = weights.gguf() {
        check(&path);
    }
}

#[test]
fn attacks_add_no_special_token_to_the_prompts_of_tiny_judges() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    for arch in ["llama", "qwen2"] {
        let path = folder.path().join(format!("{arch}.gguf"));
        fs::write(&path, tiny::judge(arch)).expect("the folder is ours");
        check(&path);
    }
}

#[test]
fn attacks_add_no_special_token_to_the_prompts_of_smollm2() {
    check_pinned(&SMOLLM2);
}

#[test]
fn attacks_add_no_special_token_to_the_prompts_of_qwen() {
    check_pinned(&QWEN);
}
