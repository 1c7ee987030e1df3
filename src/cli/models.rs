//! `ragstone models`, and loading models by name or path.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::args::ModelsCommand;
use super::{Done, print, tell};
use crate::embed::{self, Embedder};
use crate::engine::kernels::Cpu;
use crate::engine::{Device, Engine, Options};
use crate::error::{Error, Result};
use crate::model::{Manifest, Role};
use crate::record::PinnedModel;
use crate::respond::judge::Judge;
use crate::store::{self, Store};

/// The judge that is used unless one is named.
pub const DEFAULT_JUDGE: &str = "qwen2.5-coder-1.5b-instruct-q4_k_m";

/// The embedder that is used unless one is named.
pub const DEFAULT_EMBEDDER: &str = "all-minilm-l6-v2";

/// Files of an embedder's folder that shape its vectors.
const EMBEDDER_FILES: &[&str] =
    &["model.safetensors", "config.json", "tokenizer.json", "sentence_bert_config.json", "1_Pooling/config.json"];

/// Runs `ragstone models`.
pub fn run(store: &Store, command: &ModelsCommand) -> Result<Done> {
    match command {
        ModelsCommand::List => list(store),
        #[cfg(feature = "pull")]
        ModelsCommand::Pull { name } => {
            pull(store, &store::find(name)?)?;
            Ok(Done::Well)
        }
        ModelsCommand::Path { name } => {
            let folder = store.locate(&store::find(name)?)?;
            print(&format!("{}\n", folder.display()))
        }
        ModelsCommand::Verify { names } => verify(store, names),
    }
}

fn list(store: &Store) -> Result<Done> {
    let mut text = format!("store: {}\n", store.home().display());
    for manifest in store::catalog() {
        let bytes: u64 = manifest.files.iter().map(|file| file.bytes).sum();
        let state = if store.has(&manifest) { "in the store" } else { "not in the store" };
        text += &format!(
            "\n{}\n  {}\n  {}, {:.0} MB, {}, licence {}\n  {state}\n",
            manifest.name,
            manifest.summary,
            manifest.role.name(),
            bytes as f64 / 1e6,
            manifest.languages.join(" "),
            manifest.licence,
        );
    }
    print(&text)
}

fn verify(store: &Store, names: &[String]) -> Result<Done> {
    let manifests = if names.is_empty() {
        store::catalog().into_iter().filter(|manifest| store.has_part(manifest)).collect()
    } else {
        names.iter().map(|name| store::find(name)).collect::<Result<Vec<_>>>()?
    };
    if manifests.is_empty() {
        return print("there is no model in the store\n");
    }
    for manifest in manifests {
        store.verify(&manifest)?;
        print(&format!("{}: every file is as pinned\n", manifest.name))?;
    }
    Ok(Done::Well)
}

/// Fetches a model, with a progress bar; says nothing if it is there.
#[cfg(feature = "pull")]
pub fn pull(store: &Store, manifest: &Manifest) -> Result<()> {
    if store.locate(manifest).is_ok() {
        return Ok(());
    }
    tell(format_args!("{}: licence {}", manifest.name, manifest.licence));
    let mut bar = super::progress::PullBar::default();
    store.pull(manifest, &mut |event| bar.show(&event))?;
    Ok(())
}

/// A judge by its name in the catalogue or the path of a GGUF file.
pub fn load_judge(store: &Store, name: &str, cpu: &Arc<Cpu>, options: Options) -> Result<Judge> {
    let start = Instant::now();
    let (path, known) = match local_path(name) {
        Some(path) => (path, None),
        None => {
            let manifest = manifest_for(name, Role::Judge)?;
            (store.locate(&manifest)?.join(&manifest.files[0].path), Some(pinned(&manifest)))
        }
    };
    // A path may lead anywhere: only what proved to be a model is read to its end.
    let device = options.device;
    let engine = Engine::load(&path, cpu, options)?;
    let mut model = known.map_or_else(|| pinned_path(&path, std::slice::from_ref(&path)), Ok)?;
    let more = [
        ("tokenizer", engine.tokenizer().sha256()),
        ("chat_template", engine.chat().sha256()),
        ("arithmetic", device.arithmetic().to_owned()),
        ("device", device.name().to_owned()),
    ];
    model.pins.extend(more.map(|(key, value)| (key.to_owned(), value)));
    tell(format_args!("judge {} loaded in {:.1} s", model.name, start.elapsed().as_secs_f64()));
    Ok(Judge::new(model, engine))
}

/// An embedder by its name in the catalogue or the path of a folder.
pub fn load_embedder(store: &Store, name: &str, cpu: &Arc<Cpu>, device: Device) -> Result<(PinnedModel, Embedder)> {
    let (folder, known) = match local_path(name) {
        Some(folder) => (folder, None),
        None => {
            let manifest = manifest_for(name, Role::Embedder)?;
            (store.locate(&manifest)?, Some(pinned(&manifest)))
        }
    };
    let embedder = Embedder::load(&folder, cpu, device)?;
    let files: Vec<PathBuf> = EMBEDDER_FILES.iter().map(|file| folder.join(file)).collect();
    let mut model = known.map_or_else(|| pinned_path(&folder, &files), Ok)?;
    model.pins.insert("arithmetic".to_owned(), embed::arithmetic(device).to_owned());
    Ok((model, embedder))
}

/// The path, if the name is one: it is not in the catalogue, and has a separator or a model file's ending, or exists.
fn local_path(name: &str) -> Option<PathBuf> {
    if store::find(name).is_ok() {
        return None;
    }
    let looks_so = name.contains(['/', '\\']) || name.ends_with(".gguf");
    (looks_so || Path::new(name).exists()).then(|| PathBuf::from(name))
}

fn manifest_for(name: &str, role: Role) -> Result<Manifest> {
    let manifest = store::find(name)?;
    if manifest.role == role {
        return Ok(manifest);
    }
    let names: Vec<String> =
        store::catalog().into_iter().filter(|known| known.role == role).map(|known| known.name).collect();
    let message = format!("`{name}` is of role {}, expected {}", manifest.role.name(), role.name());
    Err(Error::usage(message, format!("there are `{}`", names.join("`, `"))))
}

fn pinned(manifest: &Manifest) -> PinnedModel {
    let pins = manifest.files.iter().map(|file| (file.path.clone(), file.sha256.clone())).collect();
    PinnedModel {
        name: manifest.name.clone(),
        pins,
        languages: manifest.languages.clone(),
        checked: manifest.checked.clone(),
    }
}

/// What is known of a model that has no manifest: the hashes of its files.
fn pinned_path(path: &Path, files: &[PathBuf]) -> Result<PinnedModel> {
    let file_name = |path: &Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let mut pins = BTreeMap::new();
    for file in files {
        pins.insert(file_name(file), store::sha256_of(file)?);
    }
    Ok(PinnedModel { name: file_name(path), pins, languages: Vec::new(), checked: Vec::new() })
}
