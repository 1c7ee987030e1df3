use super::*;

const BOUND: f64 = 1e-15;

fn check(found: Option<f64>, expected: f64) {
    let found = found.expect("there is a value");
    assert!((found - expected).abs() < BOUND, "{found}, expected {expected}");
}

/// Yes at 0.9, 0.6, 0.6, 0.2 and no at 0.6, 0.4, 0.1.
const MIXED: [(f64, bool); 7] =
    [(0.9, true), (0.6, false), (0.1, false), (0.6, true), (0.4, false), (0.2, true), (0.6, true)];

/// Forty rows with ties, by a rule.
fn many() -> Vec<(f64, bool)> {
    (0..40).map(|idx| (f64::from(idx * 7 % 20) / 20.0, idx * idx % 5 < 2)).collect()
}

#[test]
fn auc_counts_pairs() {
    // Of 12 pairs 0.9 wins 3, each 0.6 wins 2 and ties 1, 0.2 wins 1: (3 + 2.5 + 2.5 + 1) / 12.
    check(auc(&MIXED), 0.75);
    check(auc(&[(0.2, false), (0.3, true)]), 1.0);
    check(auc(&[(0.2, true), (0.3, false)]), 0.0);
    check(auc(&[(0.0, true), (-0.0, false)]), 0.5);
}

#[test]
fn auc_depends_on_the_order_of_scores_alone() {
    let rows = many();
    for rising in [|x: f64| x * x * x, |x: f64| 0.3 + x / 10.0, |x: f64| x.sqrt(), |x: f64| x.exp()] {
        let mapped: Vec<_> = rows.iter().map(|(score, is_yes)| (rising(*score), *is_yes)).collect();
        assert_eq!(auc(&mapped), auc(&rows));
    }
    let turned: Vec<_> = rows.iter().map(|(score, is_yes)| (-score, *is_yes)).collect();
    check(auc(&turned), 1.0 - auc(&rows).expect("both labels occur"));
}

#[test]
fn balanced_accuracy_is_the_mean_of_two_shares() {
    // From 0.6 on: three of four yes, two of three no. The threshold itself is yes.
    check(balanced_accuracy(&MIXED, 0.6), (3.0 / 4.0 + 2.0 / 3.0) / 2.0);
    check(balanced_accuracy(&MIXED, 0.61), (1.0 / 4.0 + 1.0) / 2.0);
    check(balanced_accuracy(&MIXED, 0.0), 0.5);
}

#[test]
fn what_needs_both_labels_is_missing_without_one() {
    for rows in [&[][..], &[(0.3, true)], &[(0.3, false), (0.9, false)]] {
        assert_eq!((auc(rows), balanced_accuracy(rows, 0.5), best_threshold(rows)), (None, None, None));
    }
}

#[test]
fn best_threshold_lies_between_scores() {
    // Between 0.4 and 0.6 it is 17/24; at 0.15 (1 + 1/3) / 2 = 16/24, at 0.3 (3/4 + 1/3) / 2, at 0.75 15/24.
    assert_eq!(best_threshold(&MIXED), Some(0.5));
    assert_eq!(best_threshold(&[(0.25, false), (0.5, true)]), Some(0.375));
}

#[test]
fn best_threshold_of_equally_good_ones_is_nearest_to_half() {
    // Yes from 0.25 on and yes from 0.875 on have one mistake each: (1 + 1/2) / 2 and (1/2 + 1) / 2.
    let rows = [(0.0, false), (0.5, true), (0.75, false), (1.0, true)];
    assert_eq!(best_threshold(&rows), Some(0.25));
    let rows = [(0.0, false), (0.125, true), (0.25, false), (1.0, true)];
    assert_eq!(best_threshold(&rows), Some(0.625));
}

#[test]
fn best_threshold_says_yes_to_all_where_no_other_is_better() {
    assert_eq!(best_threshold(&[(0.7, false), (0.7, true)]), Some(0.0));
    assert_eq!(best_threshold(&[(0.9, false), (0.1, true)]), Some(0.0));
}

#[test]
fn best_threshold_parts_scores_that_are_neighbours_in_f64() {
    // For some of these the midpoint is rounded to the lower one.
    let mut below = 0.7f64;
    for _ in 0..4 {
        let rows = [(below, false), (below.next_up(), true)];
        check(balanced_accuracy(&rows, best_threshold(&rows).expect("both labels occur")), 1.0);
        below = below.next_up();
    }
}

#[test]
fn kappa_is_agreement_beyond_chance() {
    // From 0.5 on judge and people say yes to four each of seven; they agree on five. By chance (16 + 9) / 49.
    check(cohens_kappa(&MIXED, 0.5), (5.0 / 7.0 - 25.0 / 49.0) / (1.0 - 25.0 / 49.0));
    check(cohens_kappa(&[(0.9, true), (0.1, false)], 0.5), 1.0);
    check(cohens_kappa(&[(0.9, false), (0.1, true)], 0.5), -1.0);
}

#[test]
fn kappa_of_constant_answers_is_zero() {
    for threshold in [0.0, 1.0] {
        assert_eq!(cohens_kappa(&many(), threshold), Some(0.0));
    }
    // People who always say the same, too; if both do, chance explains everything.
    assert_eq!(cohens_kappa(&[(0.9, true), (0.1, true)], 0.5), Some(0.0));
    assert_eq!(cohens_kappa(&[(0.9, true), (0.8, true)], 0.5), None);
    assert_eq!(cohens_kappa(&[], 0.5), None);
}

#[test]
fn brier_is_a_mean_square() {
    // (0.5^2 + 0.25^2) / 2
    check(brier(&[(0.5, true), (0.25, false)]), 0.15625);
    assert_eq!(brier(&[]), None);
}

#[test]
fn bins_hold_their_upper_ends() {
    let rows = [(0.0, false), (0.5, true), (0.5, false), (0.75, true), (1.0, true)];
    let bins = reliability(&rows, 2);
    // (0 + 0.5 + 0.5) / 3, one of three yes; (0.75 + 1) / 2, both.
    assert_eq!(bins[0], ReliabilityBin { n_rows: 3, mean_score: Some(1.0 / 3.0), share_yes: Some(1.0 / 3.0) });
    assert_eq!(bins[1], ReliabilityBin { n_rows: 2, mean_score: Some(0.875), share_yes: Some(1.0) });
    // 0 * 3 / 5 + 0.125 * 2 / 5
    check(expected_calibration_error(&rows, 2), 0.05);
}

#[test]
fn edge_of_hundred_bins_is_compared_exactly() {
    // 0.07 * 100 is 7.000000000000001, which would be the eighth.
    let bins = reliability(&[(0.07, true)], 100);
    assert_eq!(bins.iter().position(|bin| bin.n_rows == 1), Some(6));
}

#[test]
fn every_row_is_in_one_bin() {
    for n_bins in [1, 2, 7, 10, 64] {
        let bins = reliability(&many(), n_bins);
        assert_eq!(bins.len(), n_bins);
        assert_eq!(bins.iter().map(|bin| bin.n_rows).sum::<usize>(), 40);
    }
}

#[test]
fn bins_of_nothing_are_empty() {
    assert_eq!(reliability(&[], 2), [ReliabilityBin { n_rows: 0, mean_score: None, share_yes: None }; 2]);
    assert_eq!(expected_calibration_error(&[], 2), None);
}

#[test]
fn ties_of_pairs_count_half() {
    // (1 + 0.5 + 0) / 3
    check(pairwise_accuracy(&[(0.9, 0.1), (0.5, 0.5), (0.2, 0.3)]), 0.5);
    assert_eq!(pairwise_accuracy(&[]), None);
}

#[test]
fn equal_values_share_their_ranks() {
    // The two 0.5 are second and third.
    assert_eq!(ranks(&[0.5, 0.1, 0.9, 0.5]), [2.5, 1.0, 4.0, 2.5]);
}

#[test]
fn correlations_follow_their_formulas() {
    // Deviations -1, 0, 1 and -4/3, -1/3, 5/3: 3 / sqrt(2 * 42/9).
    let rows = [(1.0, 0.0), (2.0, 1.0), (3.0, 3.0)];
    check(pearson(&rows), 3.0 / (2.0f64 * 42.0 / 9.0).sqrt());
    check(spearman(&rows), 1.0);
    // Ranks 1, 2, 3, 4 and 1.5, 1.5, 4, 3: products of deviations 1.5 + 0.5 + 0.75 + 0.75 = 3.5, squares 5 and 4.5.
    check(spearman(&[(0.1, 0.0), (0.2, 0.0), (0.3, 1.0), (0.4, 0.5)]), 3.5 / (5.0f64 * 4.5).sqrt());
    check(spearman(&[(0.1, 2.0), (0.2, 1.0)]), -1.0);
}

#[test]
fn constants_have_no_correlation() {
    // The mean of three 0.1 is rounded, and is not 0.1.
    for rows in [&[][..], &[(0.5, 0.5)], &[(0.1, 0.2), (0.1, 0.4), (0.1, 0.9)], &[(0.3, 0.1), (0.1, 0.1), (0.2, 0.1)]] {
        assert_eq!((pearson(rows), spearman(rows)), (None, None));
    }
}
