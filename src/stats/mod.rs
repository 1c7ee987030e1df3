//! Arithmetic over numbers and verdicts: what is their mean, how good is a ranking, does a judge agree with people?

pub mod agreement;
pub mod bootstrap;
pub mod platt;

#[cfg(test)]
mod golden;

/// The mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

/// Average precision of a ranking: the mean, over the relevant items, of the precision at their rank.
///
/// In [0, 1]; 1 if all relevant items come first, 0 if none is relevant. Irrelevant items after the last relevant
/// one do not count. Source: Ragas 0.4.3, `_calculate_average_precision`, without its epsilon of 1e-10 in the
/// denominator: a perfect ranking is 1 here and 0.9999999999 there.
pub fn average_precision(is_relevant: &[bool]) -> f64 {
    let mut n_relevant = 0;
    let mut total = 0.0;
    for (idx, _) in is_relevant.iter().enumerate().filter(|(_, is_relevant)| **is_relevant) {
        n_relevant += 1;
        total += f64::from(n_relevant) / (idx + 1) as f64;
    }
    if n_relevant == 0 { 0.0 } else { total / f64::from(n_relevant) }
}

/// Average precision as Ragas 0.4.3 computes it (`_calculate_average_precision`): with 1e-10 added to the denominator,
/// so that a perfect ranking of one is 0.9999999999.
pub fn ragas_average_precision(is_relevant: &[bool]) -> f64 {
    let n_relevant = is_relevant.iter().filter(|is_relevant| **is_relevant).count() as f64;
    average_precision(is_relevant) * n_relevant / (n_relevant + 1e-10)
}

/// F = (1 + b^2) P R / (b^2 P + R), the weighted harmonic mean of precision and recall; 0 if both are 0.
///
/// With b above 1 recall weighs more. In [0, 1]. Source: van Rijsbergen, "Information Retrieval", 1979, chapter 7.
pub fn f_measure(precision: f64, recall: f64, beta: f64) -> f64 {
    let weight = beta * beta;
    let denominator = weight * precision + recall;
    if denominator == 0.0 { 0.0 } else { (1.0 + weight) * precision * recall / denominator }
}

/// The share of some in all; `None` of nothing.
pub fn share(n_some: usize, n_all: usize) -> Option<f64> {
    (n_all > 0).then(|| n_some as f64 / n_all as f64)
}

/// Wilson's 95 % interval of a share, in [0, 1]; `None` of nothing.
///
/// With p the share, n the number of all, and z the 97.5th percentile of the normal distribution:
/// (p + z^2 / 2n +- z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n). Unlike the interval of Wald it has a width where the
/// share is 0 or 1. Source: Wilson, "Probable inference, the law of succession, and statistical inference", 1927.
pub fn wilson(n_some: usize, n_all: usize) -> Option<(f64, f64)> {
    const Z: f64 = 1.959_963_984_540_054;
    let (p, n) = (share(n_some, n_all)?, n_all as f64);
    let centre = p + Z * Z / (2.0 * n);
    let half_width = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let end = |x: f64| (x / (1.0 + Z * Z / n)).clamp(0.0, 1.0);
    Some((end(centre - half_width), end(centre + half_width)))
}

/// 1 / (1 + e^-x), in [0, 1]: the probability of this logit.
pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-x))
}

/// The cosine of the angle between two vectors of equal length, in [-1, 1]; `None` if one of them is zero.
pub fn cosine(a: &[f32], b: &[f32]) -> Option<f64> {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
    let norms = dot(a, a).sqrt() * dot(b, b).sqrt();
    (norms > 0.0).then(|| (dot(a, b) / norms).clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_of_nothing_is_nothing() {
        assert_eq!(mean(&[]), None);
        assert_eq!(mean(&[0.25, 0.75]), Some(0.5));
    }

    #[test]
    fn average_precision_follows_the_ranks() {
        let cases: [(&[bool], f64); 7] = [
            (&[], 0.0),
            (&[false, false], 0.0),
            (&[true], 1.0),
            (&[true, true, false], 1.0),
            // Precision 1/3 at the only relevant rank.
            (&[false, false, true], 1.0 / 3.0),
            // (1/1 + 2/3) / 2
            (&[true, false, true], 5.0 / 6.0),
            // (1/2 + 2/3) / 2
            (&[false, true, true], 7.0 / 12.0),
        ];
        for (is_relevant, expected) in cases {
            assert!((average_precision(is_relevant) - expected).abs() < 1e-15, "{is_relevant:?}");
        }
    }

    #[test]
    fn f_measure_follows_its_formula() {
        // (1 + 1) * 0.5 * 1 / (0.5 + 1) = 2/3; b = 2: 5 * 0.5 * 1 / (2 + 1) = 5/6.
        assert!((f_measure(0.5, 1.0, 1.0) - 2.0 / 3.0).abs() < 1e-15);
        assert!((f_measure(0.5, 1.0, 2.0) - 5.0 / 6.0).abs() < 1e-15);
        assert_eq!((f_measure(0.0, 0.0, 1.0), f_measure(0.0, 1.0, 1.0)), (0.0, 0.0));
    }

    #[test]
    fn wilsons_interval_is_that_of_the_published_examples() {
        // Newcombe, "Two-sided confidence intervals for the single proportion", 1998, table I, method 3, to its digits.
        for (n_some, n_all, low, high) in
            [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)]
        {
            let found = wilson(n_some, n_all).expect("there are some");
            assert!((found.0 - low).abs() < 5e-5 && (found.1 - high).abs() < 5e-5, "{n_some} of {n_all}: {found:?}");
        }
        assert_eq!(wilson(0, 0), None);
        // All of 20 is the mirror image of none of 20.
        assert!((wilson(20, 20).expect("there are some").0 - (1.0 - 0.1611)).abs() < 5e-5);
    }

    #[test]
    fn cosine_of_hand_made_vectors() {
        // 3-4-5 triangles: (3 * 4 + 4 * 3) / 25
        assert_eq!(cosine(&[3.0, 4.0], &[4.0, 3.0]), Some(24.0 / 25.0));
        assert_eq!(cosine(&[1.0, 0.0], &[-2.0, 0.0]), Some(-1.0));
        assert_eq!(cosine(&[0.0, 0.0], &[1.0, 0.0]), None);
    }
}
