//! Do agreement, calibration and intervals equal those of scikit-learn and scipy?

use serde::Deserialize;

use super::agreement::*;
use super::bootstrap;
use super::platt::Platt;

/// Made by `tests/golden/make_agreement.py`, which describes its fields.
const SETS: &str = include_str!("../../tests/data/golden/agreement.json");

/// Sums in another order differ by some 1e-16.
const ROUNDING: f64 = 1e-12;
/// A fit ends at a gradient of 1e-5, and the second derivatives of these sets are above 1.
const FIT: f64 = 1e-5;
/// What the ends of an interval differ by between seeds: they are percentiles of 4,000 and of 20,000 resamples.
const RESAMPLING: f64 = 0.01;

#[derive(Deserialize)]
struct Set {
    name: String,
    rows: Vec<(f64, f64)>,
    auc: f64,
    brier: f64,
    kappa: f64,
    balanced_accuracy: f64,
    best_threshold: f64,
    reliability: Vec<(usize, Option<f64>, Option<f64>)>,
    ece: f64,
    pairwise_accuracy: f64,
    spearman: Option<f64>,
    pearson: Option<f64>,
    platt: Option<(f64, f64)>,
    interval: Option<(f64, f64)>,
    interval_auc: Option<(f64, f64)>,
}

impl Set {
    fn labelled(&self) -> Vec<(f64, bool)> {
        self.rows.iter().map(|(score, grade)| (*score, *grade >= 0.5)).collect()
    }

    fn groups(&self) -> Vec<Vec<(f64, bool)>> {
        self.labelled().chunks_exact(4).map(<[_]>::to_vec).collect()
    }
}

fn sets() -> Vec<Set> {
    let sets: Vec<Set> = serde_json::from_str(SETS).expect("the file is as described");
    assert_eq!(sets.len(), 10);
    sets
}

fn check(name: &str, found: Option<f64>, expected: Option<f64>, bound: f64) {
    let is_equal = match (found, expected) {
        (Some(found), Some(expected)) => (found - expected).abs() <= bound,
        (found, expected) => found == expected,
    };
    assert!(is_equal, "{name}: {found:?}, expected {expected:?}");
}

#[test]
fn agreement_is_that_of_scikit_learn_and_scipy() {
    for set in sets() {
        let (name, rows) = (&set.name, set.labelled());
        check(name, auc(&rows), Some(set.auc), ROUNDING);
        check(name, brier(&rows), Some(set.brier), ROUNDING);
        check(name, cohens_kappa(&rows, 0.5), Some(set.kappa), ROUNDING);
        check(name, balanced_accuracy(&rows, 0.5), Some(set.balanced_accuracy), ROUNDING);
        check(name, best_threshold(&rows), Some(set.best_threshold), ROUNDING);
        check(name, spearman(&set.rows), set.spearman, ROUNDING);
        check(name, pearson(&set.rows), set.pearson, ROUNDING);
    }
}

#[test]
fn reliability_is_that_of_scikit_learn() {
    for set in sets() {
        let rows = set.labelled();
        let bins = reliability(&rows, 10);
        assert_eq!(bins.len(), set.reliability.len());
        for (bin, (n_rows, mean_score, share_yes)) in bins.iter().zip(&set.reliability) {
            assert_eq!(bin.n_rows, *n_rows, "{}", set.name);
            check(&set.name, bin.mean_score, *mean_score, ROUNDING);
            check(&set.name, bin.share_yes, *share_yes, ROUNDING);
        }
        check(&set.name, expected_calibration_error(&rows, 10), Some(set.ece), ROUNDING);
    }
}

#[test]
fn pairwise_accuracy_of_all_pairs_is_the_auc() {
    for set in sets() {
        let rows = set.labelled();
        let of = |label: bool| rows.iter().filter(move |row| row.1 == label).map(|row| row.0);
        let pairs: Vec<(f64, f64)> = of(true).flat_map(|yes| of(false).map(move |no| (yes, no))).collect();
        check(&set.name, pairwise_accuracy(&pairs), Some(set.pairwise_accuracy), ROUNDING);
    }
}

#[test]
fn platt_is_where_scipy_finds_the_optimum() {
    for set in sets() {
        let found = Platt::fit(&set.labelled());
        check(&set.name, found.map(|platt| platt.slope), set.platt.map(|platt| platt.0), FIT);
        check(&set.name, found.map(|platt| platt.intercept), set.platt.map(|platt| platt.1), FIT);
    }
}

#[test]
fn intervals_are_those_of_scipy() {
    let check_interval = |name: &str, found: Option<(f64, f64)>, expected: (f64, f64)| {
        check(name, found.map(|ends| ends.0), Some(expected.0), RESAMPLING);
        check(name, found.map(|ends| ends.1), Some(expected.1), RESAMPLING);
    };
    for set in sets() {
        let mean = |rows: &[&(f64, bool)]| super::mean(&rows.iter().map(|row| row.0).collect::<Vec<_>>());
        let auc = |rows: &[&(f64, bool)]| auc(&rows.iter().map(|row| **row).collect::<Vec<_>>());
        if let Some(expected) = set.interval {
            check_interval(&set.name, bootstrap::interval(&set.groups(), mean, 4000, 1), expected);
        }
        if let Some(expected) = set.interval_auc {
            check_interval(&set.name, bootstrap::interval(&set.groups(), auc, 4000, 1), expected);
        }
    }
}
