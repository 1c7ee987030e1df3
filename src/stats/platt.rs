//! Which probability does a score stand for, going by people's labels?

use super::sigmoid;
use serde::{Deserialize, Serialize};

/// Scores are cut to [`CUT`, 1 - `CUT`], so that their logits are finite, within 13.8.
const CUT: f64 = 1e-6;

/// Added to the diagonal of the Hessian, so that it can be inverted; as in the pseudo code of Lin et al.
const RIDGE: f64 = 1e-12;

/// Platt scaling: probability = sigmoid(slope * logit(score) + intercept).
///
/// Slope 1 and intercept 0 change nothing; a slope above 1 makes scores more extreme, an intercept below 0 lowers them.
///
/// Sources: Platt, "Probabilistic outputs for support vector machines", 1999; Lin, Lin and Weng, "A note on Platt's
/// probabilistic outputs for support vector machines", 2007. Theirs is 1 / (1 + exp(A f + B)) with A = -slope and
/// B = -intercept, of any f; here f is the logit of the score, so that the identity can be expressed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Platt {
    /// The factor of the logit; above 0 where it comes from [`Platt::fit`].
    pub slope: f64,
    /// What is added to the logit.
    pub intercept: f64,
}

/// The loss at a point, and its derivatives by slope and intercept.
struct Loss {
    value: f64,
    gradient: [f64; 2],
    /// By slope twice, by slope and intercept, by intercept twice.
    hessian: [f64; 3],
}

impl Platt {
    /// The most likely slope and intercept, of scores in [0, 1] and labels.
    ///
    /// The targets are Platt's, (y + 1) / (y + 2) for the y rows of yes and 1 / (n + 2) for the n of no in place of 1
    /// and 0: the optimum is finite even where a threshold parts the labels. The loss is convex, so there is one. Same
    /// rows in the same order give the same bits on every machine.
    ///
    /// `None` if one label does not occur, if all scores are equal (once cut), and if the best slope is not above 0. The judge
    /// then ranks the rows by chance or the wrong way round, and a calibration must keep the order of scores: to turn
    /// it would hide that the judge is wrong.
    pub fn fit(rows: &[(f64, bool)]) -> Option<Self> {
        let n_yes = rows.iter().filter(|row| row.1).count() as f64;
        let n_no = rows.len() as f64 - n_yes;
        if n_yes == 0.0 || n_no == 0.0 {
            return None;
        }
        let (target_yes, target_no) = ((n_yes + 1.0) / (n_yes + 2.0), 1.0 / (n_no + 2.0));
        let points: Vec<(f64, f64)> =
            rows.iter().map(|(score, is_yes)| (logit(*score), if *is_yes { target_yes } else { target_no })).collect();
        if points.iter().all(|point| point.0 == points[0].0) {
            return None;
        }
        let start = Self { slope: 0.0, intercept: libm::log((n_yes + 1.0) / (n_no + 1.0)) };
        let best = minimum(&points, start);
        (best.slope > 0.0).then_some(best)
    }

    /// The probability of yes that a score in [0, 1] stands for, in (0, 1).
    pub fn apply(&self, p: f64) -> f64 {
        sigmoid(self.slope * logit(p) + self.intercept)
    }

    /// The loss of (logit, target) pairs: the sum of log(1 + exp(z)) - target z, with z = slope * logit + intercept.
    fn loss(&self, points: &[(f64, f64)]) -> Loss {
        let mut loss = Loss { value: 0.0, gradient: [0.0; 2], hessian: [RIDGE, 0.0, RIDGE] };
        for (x, target) in points {
            let z = self.slope * x + self.intercept;
            let p = sigmoid(z);
            // log(1 + exp(z)) without overflow.
            loss.value += z.max(0.0) + libm::log1p(libm::exp(-z.abs())) - target * z;
            loss.gradient[0] += (p - target) * x;
            loss.gradient[1] += p - target;
            let weight = p * (1.0 - p);
            loss.hessian[0] += weight * x * x;
            loss.hessian[1] += weight * x;
            loss.hessian[2] += weight;
        }
        loss
    }
}

/// The lowest point of the loss, by Newton's method with backtracking: the pseudo code of Lin et al., appendix C.
fn minimum(points: &[(f64, f64)], start: Platt) -> Platt {
    // Their constants. Slope and intercept are then right to about 1e-5 or better.
    const MAX_STEPS: usize = 100;
    const SMALL_GRADIENT: f64 = 1e-5;
    let mut at = start;
    for _ in 0..MAX_STEPS {
        let loss = at.loss(points);
        if loss.gradient.iter().all(|slope| slope.abs() < SMALL_GRADIENT) {
            break;
        }
        let Some(next) = newton_step(points, at, &loss) else { break };
        at = next;
    }
    at
}

/// The next point, which is lower by a share of what the gradient promises; `None` if the loss, as rounded, is lowest.
fn newton_step(points: &[(f64, f64)], at: Platt, loss: &Loss) -> Option<Platt> {
    const MIN_STEP: f64 = 1e-10;
    const PROMISED_SHARE: f64 = 1e-4;
    let ([by_slope, by_intercept], [h11, h21, h22]) = (loss.gradient, loss.hessian);
    let determinant = h11 * h22 - h21 * h21;
    let d_slope = -(h22 * by_slope - h21 * by_intercept) / determinant;
    let d_intercept = -(h11 * by_intercept - h21 * by_slope) / determinant;
    let promised = by_slope * d_slope + by_intercept * d_intercept;
    let mut step = 1.0;
    while step >= MIN_STEP {
        let next = Platt { slope: at.slope + step * d_slope, intercept: at.intercept + step * d_intercept };
        if next.loss(points).value < loss.value + PROMISED_SHARE * step * promised {
            return Some(next);
        }
        step /= 2.0;
    }
    None
}

/// The logit of a probability, which is cut to 1e-6 and 1 - 1e-6 so that it is finite.
pub fn logit(p: f64) -> f64 {
    let p = p.clamp(CUT, 1.0 - CUT);
    libm::log(p) - libm::log(1.0 - p)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fit ends at a gradient of 1e-5.
    const BOUND: f64 = 1e-5;

    #[test]
    fn one_label_or_one_score_cannot_be_fitted() {
        assert_eq!(Platt::fit(&[]), None);
        assert_eq!(Platt::fit(&[(0.2, true), (0.8, true)]), None);
        assert_eq!(Platt::fit(&[(0.2, false), (0.8, false)]), None);
        assert_eq!(Platt::fit(&[(0.7, false), (0.7, true), (0.7, true)]), None);
        assert_eq!(Platt::fit(&[(0.0, false), (1e-7, true)]), None);
    }

    #[test]
    fn judge_that_is_wrong_is_not_turned_round() {
        assert_eq!(Platt::fit(&[(0.9, false), (0.8, false), (0.2, true), (0.1, true)]), None);
        assert!(Platt::fit(&[(0.9, true), (0.8, true), (0.2, false), (0.1, false)]).is_some());
    }

    #[test]
    fn two_scores_are_mapped_to_the_means_of_their_targets() {
        // With two scores the fit is exact: each gets the mean target of its rows. Three of yes and three of no have
        // targets 4/5 and 1/5. At 0.8 two of yes and one of no: (4/5 + 4/5 + 1/5) / 3 = 3/5; at 0.2 the mirror, 2/5.
        // logit 0.8 = log 4, logit 0.6 = log 1.5: slope log 1.5 / log 4, intercept 0.
        let rows = [(0.8, true), (0.8, true), (0.8, false), (0.2, false), (0.2, false), (0.2, true)];
        let platt = Platt::fit(&rows).expect("it ranks yes higher");
        assert!((platt.slope - 1.5f64.ln() / 4f64.ln()).abs() < BOUND, "{platt:?}");
        assert!(platt.intercept.abs() < BOUND, "{platt:?}");
        assert!((platt.apply(0.8) - 0.6).abs() < BOUND && (platt.apply(0.2) - 0.4).abs() < BOUND);
    }

    #[test]
    fn labels_that_a_threshold_parts_have_a_finite_fit() {
        // 0 and 1 are cut to logits of -13.8 and 13.8, with targets 1/3 and 2/3: slope log 2 / 13.8, intercept 0.
        let platt = Platt::fit(&[(0.0, false), (1.0, true)]).expect("it ranks yes higher");
        assert!((platt.apply(1.0) - 2.0 / 3.0).abs() < BOUND, "{platt:?}");
        assert!((platt.apply(0.0) - 1.0 / 3.0).abs() < BOUND, "{platt:?}");
    }

    #[test]
    fn identity_changes_nothing_but_the_ends() {
        let identity = Platt { slope: 1.0, intercept: 0.0 };
        for p in [1e-6, 0.25, 0.5, 0.999_999] {
            assert!((identity.apply(p) - p).abs() < 1e-15, "{p}");
        }
        assert_eq!((identity.apply(0.0), identity.apply(1.0)), (identity.apply(1e-6), identity.apply(0.999_999)));
    }

    #[test]
    fn order_of_scores_is_kept() {
        let platt = Platt { slope: 0.3, intercept: -2.0 };
        let calibrated: Vec<f64> = (1..100).map(|percent| platt.apply(f64::from(percent) / 100.0)).collect();
        assert!(calibrated.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn it_is_stored_as_two_named_numbers() {
        let platt = Platt { slope: 1.5, intercept: -0.25 };
        let json = serde_json::to_string(&platt).expect("numbers can be written");
        assert_eq!(json, r#"{"slope":1.5,"intercept":-0.25}"#);
        assert_eq!(serde_json::from_str::<Platt>(&json).expect("it was written so"), platt);
    }
}
