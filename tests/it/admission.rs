//! Writing within a small cache: which texts are let in, and when?

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

use ragstone::engine::sampler::Sampling;
use ragstone::engine::write::{Request, Until, Written};
use ragstone::engine::{Engine, Options};

use crate::golden::long_text_tokens;
use crate::invariance::{BLOCK, SMOLLM2_SLOT_BYTES};
use crate::weights::SMOLLM2;

/// Tokens a text may have; small models do not end one that soon.
const MAX_TOKENS: usize = 4;

/// An engine whose cache has `n_blocks` blocks; one of them is for texts that cannot go on in their prompt's.
fn engine(n_blocks: usize) -> Option<Engine> {
    let kv_bytes = n_blocks * BLOCK * SMOLLM2_SLOT_BYTES;
    let engine = SMOLLM2.engine(Options { kv_bytes, ..Options::default() })?;
    // An eighth is kept for beginnings without data.
    assert_eq!(engine.max_tokens(), (n_blocks - n_blocks / 8 - 1) * BLOCK);
    Some(engine)
}

/// A request for text after a part of the long golden text.
fn request(range: std::ops::Range<usize>) -> Request {
    let prompt = long_text_tokens(&SMOLLM2)[range].to_vec();
    Request { prompt, n_static: 0, max_tokens: MAX_TOKENS, until: Until::RepeatedLine, sampling: Sampling::Greedy }
}

/// Writes, and counts the forwards after which a token was drawn for every text.
fn write(engine: &mut Engine, requests: &[Request]) -> (Vec<Written>, usize) {
    let mut n_steps = 0;
    let written = engine.write(requests, &mut |_| n_steps += 1).unwrap();
    (written, n_steps)
}

/// The texts as they are written with room to spare, one by one.
fn alone(requests: &[Request]) -> Vec<Written> {
    let mut engine = engine(60).expect("the caller has loaded one");
    requests.iter().flat_map(|request| write(&mut engine, slice::from_ref(request)).0).collect()
}

#[test]
fn texts_that_fill_the_cache_exactly_are_written_side_by_side() {
    let requests = [request(0..20), request(100..130)];
    // Two blocks for each prompt, at most one more for tokens 20 to 23, and two for tokens 30 to 33.
    let Some(mut exact) = engine(7) else { return };
    let (side_by_side, n_steps) = write(&mut exact, &requests);
    assert_eq!(side_by_side, alone(&requests));
    assert_eq!(n_steps, MAX_TOKENS - 1);
    let (one_by_one, n_steps) = write(&mut engine(6).unwrap(), &requests);
    assert_eq!(one_by_one, side_by_side);
    assert_eq!(n_steps, 2 * (MAX_TOKENS - 1));
}

#[test]
fn text_that_fills_the_cache_alone_is_written() {
    let requests = [request(0..4 * BLOCK - MAX_TOKENS)];
    let Some(mut exact) = engine(5) else { return };
    assert_eq!(write(&mut exact, &requests).0, alone(&requests));
    // The cache is given back whole: the same again fits.
    assert_eq!(write(&mut exact, &requests).0, alone(&requests));
}

#[test]
fn prefix_in_the_way_of_a_text_that_only_fits_alone_is_computed_again() {
    // The first and the last share 45 tokens, whose three blocks are kept unless the second needs its six.
    let requests = [request(0..45), request(200..280), request(0..50)];
    let Some(mut large) = engine(20) else { return };
    let (expected, _) = write(&mut large, &requests);
    assert_eq!(expected, alone(&requests));
    let mut small = engine(7).unwrap();
    assert_eq!(write(&mut small, &requests).0, expected);
    assert_eq!(small.counts().computed, large.counts().computed + 45);
}

#[test]
fn text_that_never_fits_is_a_bug_and_not_waited_for() {
    let Some(mut engine) = engine(4) else { return };
    let write = AssertUnwindSafe(|| engine.write(&[request(0..50)], &mut |_| ()));
    assert!(catch_unwind(write).is_err());
}
