//! Pulls from a hub on this machine.

use std::time::{Duration, Instant};

use super::server::{Hub, REVISION};
use super::*;

fn hub_source(name: &str) -> Source {
    Source::Hub { repo: "owner/name".to_owned(), revision: REVISION.to_owned(), file: name.to_owned() }
}

/// A model of these files, each pinned with its content and to be had at the hub only.
fn at_hub(files: &[(&str, &[u8])]) -> Manifest {
    model(files.iter().map(|(name, content)| pinned(name, content, vec![hub_source(name)])).collect())
}

/// Pulls file `w`, pinned as "abc", from the hub, and checks the reason that it cannot be had.
fn check_refused(hub: Hub, expected: &str) -> Bench {
    let mut bench = Bench::new();
    (bench.settings.hub.endpoint, _) = hub.serve();
    let (message, _) = bench.fail(&at_hub(&[("w", b"abc")]));
    let expected = expected.replace("ENDPOINT", &bench.settings.hub.endpoint);
    let expected = format!("no source delivered `w` of model `m`\n  hub `owner/name` at 01234567: {expected}");
    assert_eq!(message, expected);
    assert!(bench.listing("m").is_empty());
    bench
}

#[test]
fn file_is_downloaded_and_verified() {
    let mut bench = Bench::new();
    let large: Vec<u8> = (0..100_000_u32).map(|n| n as u8).collect();
    let hub = Hub::with(vec![("w", large.clone()), ("sub/config", b"{}".to_vec())]);
    (bench.settings.hub.endpoint, _) = hub.serve();
    let manifest = at_hub(&[("w", &large), ("sub/config", b"{}")]);
    bench.pull(&manifest).unwrap();
    assert_eq!(bench.content("w"), large);
    assert_eq!(bench.content("sub/config"), b"{}");
    assert_eq!(bench.listing(""), ["m"]);
    assert!(bench.was_told(&["Reached { bytes: 100000 }"]));
}

#[test]
fn wrong_bytes_are_refused_and_nothing_of_them_is_kept() {
    let (expected, computed) = (sha256(b"abc"), sha256(b"abd"));
    let reason = format!(
        "`w` as delivered does not have the pinned SHA-256\n    expected: {expected}\n    computed: {computed}"
    );
    let bench = check_refused(Hub::with(vec![("w", b"abd".to_vec())]), &reason);
    assert!(bench.listing("m.partial/files").is_empty());
    assert!(bench.listing("m.partial/hub").is_empty());
}

#[test]
fn absent_file_is_named_with_the_status() {
    check_refused(Hub::with(Vec::new()), "cannot download `w` from `ENDPOINT`: request error: http status: 404");
}

#[test]
fn other_size_is_refused_before_the_download() {
    check_refused(Hub::with(vec![("w", b"abcd".to_vec())]), "the hub's `w` has 4 bytes, expected 3");
}

#[test]
fn endless_body_is_stopped_at_the_pinned_end() {
    let hub = Hub { told_size: Some(3), ..Hub::with(vec![("w", vec![0; 1 << 20])]) };
    check_refused(hub, "the hub sent more than the 3 bytes that are pinned");
}

#[test]
fn other_revision_is_refused() {
    let commit = "ffffffffffffffffffffffffffffffffffffffff";
    let hub = Hub { commit, ..Hub::with(vec![("w", b"abc".to_vec())]) };
    check_refused(hub, &format!("the hub has revision `{commit}`, expected `{REVISION}`"));
}

#[test]
fn name_of_content_cannot_lead_out_of_the_store() {
    let hub = Hub { etag: "../../x", ..Hub::with(vec![("w", b"abc".to_vec())]) };
    check_refused(hub, "the hub names the content `../../x`, expected letters, digits and `-`");
}

#[test]
fn broken_download_is_resumed_where_it_broke() {
    let mut bench = Bench::new();
    let content: Vec<u8> = (0..50_000_u32).map(|n| (n / 7) as u8).collect();
    let files = vec![("done", b"done".to_vec()), ("w", content.clone())];
    let manifest = at_hub(&[("done", b"done"), ("w", &content)]);
    (bench.settings.hub.endpoint, _) = Hub { break_after: 20_000, ..Hub::with(files.clone()) }.serve();
    let (message, _) = bench.fail(&manifest);
    assert!(message.contains(": cannot download `w` from `http://127.0.0.1:"), "{message}");
    assert_eq!(bench.listing("m"), ["done", "done.verified.json"]);

    let (endpoint, requests) = Hub::with(files).serve();
    bench.settings.hub.endpoint = endpoint;
    bench.pull(&manifest).unwrap();
    assert_eq!(bench.content("w"), content);
    let url_path = format!("/owner/name/resolve/{REVISION}/w");
    assert_eq!(
        *requests.lock().unwrap(),
        [0, 0, 20_000].map(|first| match first {
            0 => format!("{url_path} 0-0"),
            first => format!("{url_path} {first}-"),
        })
    );
}

#[test]
fn full_download_of_a_killed_pull_does_not_block_the_next() {
    let mut bench = Bench::new();
    (bench.settings.hub.endpoint, _) = Hub::with(vec![("w", b"abc".to_vec())]).serve();
    let blobs = bench.path("home/models/m.partial/hub").join(sha256(b"abc")).join("models--owner--name/blobs");
    fs::create_dir_all(&blobs).unwrap();
    fs::write(blobs.join("0a1b.part"), "abc").unwrap();
    bench.pull(&at_hub(&[("w", b"abc")])).unwrap();
    assert_eq!(bench.content("w"), b"abc");
}

#[test]
fn hub_that_cannot_be_reached_is_asked_once_and_the_next_source_delivers() {
    let mut bench = Bench::new();
    // RFC 5737 reserves this address for documentation: nothing answers there.
    bench.settings.hub.endpoint = "https://192.0.2.1".to_owned();
    bench.settings.hub.connect = Duration::from_millis(500);
    let mut files = Vec::new();
    for name in ["a", "b", "c"] {
        let from = bench.path(name);
        fs::write(&from, name).unwrap();
        files.push(pinned(name, name.as_bytes(), vec![hub_source(name), file_source(&from)]));
    }
    let start = Instant::now();
    bench.pull(&model(files)).unwrap();
    // Half a second for the first file and none for the others; asking for each would take three times as long.
    assert!(start.elapsed() < Duration::from_millis(1500), "{:?}", start.elapsed());
    assert_eq!(bench.content("c"), b"c");
    assert!(bench.was_told(&["Failed", "file: \"c\"", "192.0.2.1"]));
}

#[test]
fn hub_that_falls_silent_is_given_up_and_not_asked_again() {
    let mut bench = Bench::new();
    (bench.settings.hub.endpoint, _) = Hub { is_mute: true, ..Hub::with(Vec::new()) }.serve();
    bench.settings.hub.stall = Duration::from_millis(50);
    let from = bench.path("a");
    fs::write(&from, "a").unwrap();
    let a = pinned("a", b"a", vec![hub_source("a"), file_source(&from)]);
    let b = pinned("b", b"b", vec![hub_source("b")]);
    let (message, _) = bench.fail(&model(vec![a, b]));
    assert!(message.ends_with("hub `owner/name` at 01234567: the hub sent nothing for 50ms"), "{message}");
    assert_eq!(bench.content("a"), b"a");
}

#[test]
fn hub_where_nobody_listens_is_named() {
    let mut bench = Bench::new();
    let (message, _) = bench.fail(&at_hub(&[("w", b"abc")]));
    assert!(message.contains("hub `owner/name` at 01234567: cannot connect to `127.0.0.1:9`: "), "{message}");
}

#[test]
fn offline_hub_is_not_asked() {
    let mut bench = Bench::new();
    let (endpoint, requests) = Hub::with(vec![("w", b"abc".to_vec())]).serve();
    bench.settings.hub.endpoint = endpoint;
    bench.settings.hub.is_offline = true;
    let (message, _) = bench.fail(&at_hub(&[("w", b"abc")]));
    let expected = ": the file is not in the hub's cache, and `HF_HUB_OFFLINE` forbids to download it";
    assert!(message.ends_with(expected), "{message}");
    assert!(requests.lock().unwrap().is_empty());
}

/// Puts file `w` of the pinned revision into the cache that the hub's own tools would keep.
fn add_cached(bench: &mut Bench, content: &str) -> PathBuf {
    let snapshot = bench.path("hf/models--owner--name/snapshots").join(REVISION);
    fs::create_dir_all(&snapshot).unwrap();
    fs::write(snapshot.join("w"), content).unwrap();
    bench.settings.hub.cache = Some(bench.path("hf"));
    snapshot.join("w")
}

#[test]
fn file_in_the_hub_s_own_cache_is_copied_without_the_network() {
    let mut bench = Bench::new();
    bench.settings.hub.is_offline = true;
    let cached = add_cached(&mut bench, "abc");
    bench.pull(&at_hub(&[("w", b"abc")])).unwrap();
    assert_eq!(bench.content("w"), b"abc");
    assert_eq!(fs::read(cached).unwrap(), b"abc");
}

#[test]
fn wrong_file_in_the_hub_s_own_cache_is_passed_over() {
    let mut bench = Bench::new();
    (bench.settings.hub.endpoint, _) = Hub::with(vec![("w", b"abc".to_vec())]).serve();
    add_cached(&mut bench, "abd");
    bench.pull(&at_hub(&[("w", b"abc")])).unwrap();
    assert_eq!(bench.content("w"), b"abc");
}
