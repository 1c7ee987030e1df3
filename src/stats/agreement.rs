//! How well does a judge agree with people: with their yes and no, their grades, their preferences?
//!
//! A row is a score of the judge in [0, 1] and a label, `true` for yes. Scores are finite; equal scores are ties.

use serde::Serialize;

/// The rows whose scores lie in one interval, and how often people said yes there.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ReliabilityBin {
    /// The number of rows.
    pub n_rows: usize,
    /// The mean score, in [0, 1]; `None` without rows.
    pub mean_score: Option<f64>,
    /// The share of rows labelled yes, in [0, 1]; `None` without rows.
    pub share_yes: Option<f64>,
}

/// The area under the ROC curve: how often a row of yes scores higher than one of no, where ties count half.
///
/// AUC = (R - y (y + 1) / 2) / (y n), with y rows of yes, n of no, and R the sum of the ranks of yes. In [0, 1]: 1 if
/// all yes are above all no, 0.5 by chance. `None` if one label does not occur. Source: Mann and Whitney, "On a test
/// of whether one of two random variables is stochastically larger than the other", 1947; Hanley and McNeil, 1982.
pub fn auc(rows: &[(f64, bool)]) -> Option<f64> {
    let (n_yes, n_no) = both_labels(rows)?;
    let (n_yes, n_no) = (n_yes as f64, n_no as f64);
    let scores: Vec<f64> = rows.iter().map(|row| row.0).collect();
    let yes_ranks: f64 = ranks(&scores).iter().zip(rows).filter(|(_, row)| row.1).map(|(rank, _)| rank).sum();
    Some((yes_ranks - n_yes * (n_yes + 1.0) / 2.0) / (n_yes * n_no))
}

/// The mean of two shares: of yes that scores at least `threshold`, and of no that scores less.
///
/// In [0, 1]; 0.5 for a judge that always says the same. `None` if one label does not occur, where scikit-learn takes
/// the other share alone. Source: Brodersen et al., "The balanced accuracy and its posterior distribution", 2010.
pub fn balanced_accuracy(rows: &[(f64, bool)], threshold: f64) -> Option<f64> {
    let (n_yes, n_no) = both_labels(rows)?;
    let n_yes_right = rows.iter().filter(|(score, is_yes)| *is_yes && *score >= threshold).count();
    let n_no_right = rows.iter().filter(|(score, is_yes)| !*is_yes && *score < threshold).count();
    Some((n_yes_right as f64 / n_yes as f64 + n_no_right as f64 / n_no as f64) / 2.0)
}

/// The threshold with the largest balanced accuracy, in [0, 1].
///
/// Candidates are 0 and the midpoints between neighbouring scores. 1 is never better: it parts the rows as a midpoint
/// below it does or calls all of them no, which is worth as much as calling all yes. Of equally good ones it is the
/// one nearest to 0.5, of two equally near the lower; so 0 if all scores are equal. `None` if one label does not
/// occur.
pub fn best_threshold(rows: &[(f64, bool)]) -> Option<f64> {
    let (n_yes, n_no) = both_labels(rows)?;
    let mut sorted = rows.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut n_yes_right, mut n_no_right) = (n_yes, 0);
    // Balanced accuracy times 2 n_yes n_no is an integer, so that equally good ones are equal.
    let mut best = (n_yes * n_no, 0.0);
    for pair in sorted.windows(2) {
        let ((below, is_yes), (above, _)) = (pair[0], pair[1]);
        n_yes_right -= usize::from(is_yes);
        n_no_right += usize::from(!is_yes);
        if below == above {
            continue;
        }
        let candidate = (n_yes_right * n_no + n_no_right * n_yes, threshold_between(below, above));
        if candidate.0 > best.0 || (candidate.0 == best.0 && is_nearer_half(candidate.1, best.1)) {
            best = candidate;
        }
    }
    Some(best.1)
}

/// How much more often judge and people agree than by chance: (a - e) / (1 - e).
///
/// The judge says yes from `threshold` on; a is the share of rows where both say the same, e that share if each said
/// as many yes as it does, but at random. In [-1, 1]; 1 if they always agree, 0 by chance and for a judge that always
/// says the same. `None` of nothing, and if all of both say the same one thing, where chance is already perfect.
/// Source: Cohen, "A coefficient of agreement for nominal scales", 1960.
pub fn cohens_kappa(rows: &[(f64, bool)], threshold: f64) -> Option<f64> {
    let count = |is_counted: fn(bool, bool) -> bool| {
        rows.iter().filter(|(score, is_yes)| is_counted(*score >= threshold, *is_yes)).count() as f64
    };
    let n = rows.len() as f64;
    let (n_judge_yes, n_people_yes) = (count(|judge, _| judge), count(|_, people| people));
    // All times n^2, which keeps them integers: a judge that always says the same has exactly 0.
    let chance = n_judge_yes * n_people_yes + (n - n_judge_yes) * (n - n_people_yes);
    let agreement = n * count(|judge, people| judge == people);
    (chance < n * n).then(|| (agreement - chance) / (n * n - chance))
}

/// The mean square of the distance from score to label, yes being 1 and no 0.
///
/// In [0, 1], and less is better; a judge that always says 0.5 has 0.25. `None` of nothing. Source: Brier,
/// "Verification of forecasts expressed in terms of probability", 1950, halved as is usual for two classes.
pub fn brier(rows: &[(f64, bool)]) -> Option<f64> {
    let errors: Vec<f64> = rows.iter().map(|(score, is_yes)| (score - label(*is_yes)).powi(2)).collect();
    super::mean(&errors)
}

/// The rows by their scores, in `n_bins` bins of equal width from 0 up: does a judge that says 0.8 have 80 % of yes?
///
/// Bin k of K holds the scores in (k / K, (k + 1) / K], the first one 0 too. Of nothing all bins are empty. Source: Guo
/// et al., "On calibration of modern neural networks", 2017, section 2; scikit-learn, `calibration_curve`, which leaves
/// out empty bins.
///
/// # Panics
/// If `n_bins` is 0.
pub fn reliability(rows: &[(f64, bool)], n_bins: usize) -> Vec<ReliabilityBin> {
    assert!(n_bins > 0, "a row needs a bin");
    let mut bins = vec![Vec::new(); n_bins];
    for row in rows {
        // Compared with k / K, which is the number nearest to it, so that 0.07 of 100 bins lies in the seventh.
        let bin_idx = (1..n_bins).take_while(|edge| row.0 > *edge as f64 / n_bins as f64).count();
        bins[bin_idx].push(*row);
    }
    bins.iter().map(|rows| reliability_bin(rows)).collect()
}

/// The mean distance between what the judge says and how often it is so, over the bins of [`reliability`].
///
/// ECE = sum over bins of n_rows / n * |share_yes - mean_score|. In [0, 1], and less is better. `None` of nothing.
/// Source: Guo et al., 2017, equation 3.
///
/// # Panics
/// If `n_bins` is 0.
pub fn expected_calibration_error(rows: &[(f64, bool)], n_bins: usize) -> Option<f64> {
    let bins = reliability(rows, n_bins);
    let gap = |bin: &ReliabilityBin| Some(bin.n_rows as f64 * (bin.share_yes? - bin.mean_score?).abs());
    (!rows.is_empty()).then(|| bins.iter().filter_map(gap).sum::<f64>() / rows.len() as f64)
}

/// How often the first of a pair, which people hold to be better, scores higher than the second; ties count half.
///
/// In [0, 1]; 0.5 by chance. `None` of nothing. Source: Es et al., "RAGAS: automated evaluation of retrieval augmented
/// generation", 2023, which judges its metrics so on WikiEval; that ties count half is the rule of [`auc`].
pub fn pairwise_accuracy(pairs: &[(f64, f64)]) -> Option<f64> {
    let worth = |&(better, worse): &(f64, f64)| {
        if better == worse {
            return 0.5;
        }
        label(better > worse)
    };
    super::mean(&pairs.iter().map(worth).collect::<Vec<_>>())
}

/// Pearson's correlation of scores and grades: are they on one line?
///
/// r = sum (x - mean x)(y - mean y) / sqrt(sum (x - mean x)^2 sum (y - mean y)^2). In [-1, 1]; 1 on a rising line, 0
/// without a linear relation. `None` if either is constant, so too of less than two rows. Source: Pearson, "Regression,
/// heredity, and panmixia", 1896.
pub fn pearson(rows: &[(f64, f64)]) -> Option<f64> {
    let (xs, ys): (Vec<f64>, Vec<f64>) = rows.iter().copied().unzip();
    let (xs, ys) = (deviations(&xs)?, deviations(&ys)?);
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let norms = product(&xs, &xs).sqrt() * product(&ys, &ys).sqrt();
    // Numbers that differ by less than 1e-154 have squares of 0, and count as constant.
    (norms > 0.0).then(|| (product(&xs, &ys) / norms).clamp(-1.0, 1.0))
}

/// Spearman's rank correlation of scores and grades, Pearson's of their ranks: do they sort alike?
///
/// Equal numbers share the mean of their ranks. In [-1, 1]; 1 if both sort the rows alike, -1 if in opposite orders.
/// `None` if either is constant, so too of less than two rows. Source: Spearman, "The proof and measurement of
/// association between two things", 1904.
pub fn spearman(rows: &[(f64, f64)]) -> Option<f64> {
    let (xs, ys): (Vec<f64>, Vec<f64>) = rows.iter().copied().unzip();
    pearson(&ranks(&xs).into_iter().zip(ranks(&ys)).collect::<Vec<_>>())
}

/// The numbers of yes and of no; `None` if one is 0.
fn both_labels(rows: &[(f64, bool)]) -> Option<(usize, usize)> {
    let n_yes = rows.iter().filter(|row| row.1).count();
    (n_yes > 0 && n_yes < rows.len()).then_some((n_yes, rows.len() - n_yes))
}

/// 1 for yes, 0 for no.
fn label(is_yes: bool) -> f64 {
    if is_yes { 1.0 } else { 0.0 }
}

/// The rank of each value, from 1 for the lowest; equal ones share the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut n_below = 0;
    for equal in order.chunk_by(|a, b| values[*a] == values[*b]) {
        for idx in equal {
            // The mean of n_below + 1 ..= n_below + equal.len().
            ranks[*idx] = n_below as f64 + (equal.len() + 1) as f64 / 2.0;
        }
        n_below += equal.len();
    }
    ranks
}

/// The midpoint of two scores, or the upper one if no number lies between: the lower one must stay below.
fn threshold_between(below: f64, above: f64) -> f64 {
    let midpoint = f64::midpoint(below, above);
    if midpoint > below { midpoint } else { above }
}

fn is_nearer_half(threshold: f64, other: f64) -> bool {
    (threshold - 0.5).abs() < (other - 0.5).abs()
}

fn reliability_bin(rows: &[(f64, bool)]) -> ReliabilityBin {
    let (scores, labels): (Vec<f64>, Vec<f64>) = rows.iter().map(|(score, is_yes)| (*score, label(*is_yes))).unzip();
    ReliabilityBin { n_rows: rows.len(), mean_score: super::mean(&scores), share_yes: super::mean(&labels) }
}

/// Each value less the mean; `None` if all are equal, which their rounded mean would hide.
fn deviations(values: &[f64]) -> Option<Vec<f64>> {
    let mean = super::mean(values)?;
    values.iter().any(|value| *value != values[0]).then(|| values.iter().map(|value| value - mean).collect())
}

#[cfg(test)]
mod tests;
