//! How sure is a number that was computed from these rows and might have been computed from others?

use rayon::prelude::*;

/// The share of the resampled values that lies below the interval, and the share above it: 95 % lie inside.
const TAIL: f64 = 0.025;

/// The 95 % percentile interval of a statistic, by resampling whole groups of rows.
///
/// Rows of one group (one document, one pair) are not independent, so they are drawn together: each of `n_resamples`
/// resamples takes as many groups as there are, with replacement, and hands their rows to `statistic`. The interval
/// reaches from the 2.5th to the 97.5th percentile of its values, interpolated linearly between neighbouring ones (as
/// numpy and scipy do by default).
///
/// A resample for which the statistic is `None` is left out. `None` if more than a tenth are, if there are no
/// resamples, and of less than two groups: all resamples of one group are alike, and an interval without width would
/// claim to be sure. The statistic is never NaN. The result depends on the groups in their order, on `n_resamples` and
/// on `seed`, not on threads.
///
/// Source: Efron, "Bootstrap methods: another look at the jackknife", 1979; by groups: Davison and Hinkley, "Bootstrap
/// methods and their application", 1997, section 3.8.
pub fn interval<T: Sync>(
    groups: &[Vec<T>],
    statistic: impl Fn(&[&T]) -> Option<f64> + Sync,
    n_resamples: usize,
    seed: u64,
) -> Option<(f64, f64)> {
    if groups.len() < 2 {
        return None;
    }
    // Each resample has a generator of its own, so that it does not matter which thread draws it.
    let mut seeds = SplitMix64(seed);
    let seeds: Vec<u64> = (0..n_resamples).map(|_| seeds.next()).collect();
    let mut values: Vec<f64> =
        seeds.par_iter().filter_map(|seed| statistic(&resample(groups, SplitMix64(*seed)))).collect();
    let n_left_out = n_resamples - values.len();
    if values.is_empty() || 10 * n_left_out > n_resamples {
        return None;
    }
    values.sort_by(f64::total_cmp);
    Some((quantile(&values, TAIL), quantile(&values, 1.0 - TAIL)))
}

/// The rows of as many groups as there are, each drawn from all of them.
fn resample<T>(groups: &[Vec<T>], mut random: SplitMix64) -> Vec<&T> {
    (0..groups.len()).flat_map(|_| &groups[random.below(groups.len())]).collect()
}

/// The value below which this share of sorted values lies, between two of them by linear interpolation.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let position = share * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[position.floor() as usize], sorted[position.ceil() as usize]);
    below + (above - below) * position.fract()
}

/// Random numbers: SplitMix64, of Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number in 0..n: the upper half of the product with n. Uneven by n in 2^64, far less than resampling shows.
    fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores 0.00, 0.01, .. 0.99 in groups of this many.
    fn grouped(group_size: usize) -> Vec<Vec<f64>> {
        let scores: Vec<f64> = (0..100).map(|percent| f64::from(percent) / 100.0).collect();
        scores.chunks(group_size).map(<[f64]>::to_vec).collect()
    }

    fn mean(rows: &[&f64]) -> Option<f64> {
        crate::stats::mean(&rows.iter().map(|row| **row).collect::<Vec<_>>())
    }

    #[test]
    fn random_numbers_are_those_of_the_published_generator() {
        // The first three for the seed 1234567, as given with the Rosetta Code task "Pseudo-random numbers/Splitmix64".
        let mut random = SplitMix64(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([random.next(), random.next(), random.next()], expected);
    }

    #[test]
    fn quantiles_are_interpolated() {
        // 0.25 * 3 = 0.75 of the way from 1 to 2; 0.5 * 3 = 1.5: half way from 2 to 4.
        let sorted = [1.0, 2.0, 4.0, 8.0];
        assert_eq!([0.0, 0.25, 0.5, 1.0].map(|share| quantile(&sorted, share)), [1.0, 1.75, 3.0, 8.0]);
        assert_eq!(quantile(&[3.0], 0.025), 3.0);
    }

    #[test]
    fn mean_of_two_groups_reaches_from_one_to_the_other() {
        // Means 0, 1/2, 1 with chances 1/4, 1/2, 1/4: both ends lie beyond the tails of 2.5 %, in either order.
        assert_eq!(interval(&[vec![0.0], vec![1.0]], mean, 1000, 1), Some((0.0, 1.0)));
        assert_eq!(interval(&[vec![1.0], vec![0.0]], mean, 1000, 1), Some((0.0, 1.0)));
    }

    #[test]
    fn rows_of_a_group_stay_together() {
        // The mean of 100 rows of variance 1/12 is known to 1.96 * sqrt(1 / 1200) = 0.057 either way, that of ten
        // groups with means 0.045, 0.145, .. of variance 33/400 to 1.96 * sqrt(33 / 4000) = 0.178.
        for (group_size, half_width) in [(1, 0.057), (10, 0.178)] {
            let (low, high) = interval(&grouped(group_size), mean, 4000, 5).expect("there are groups");
            assert!((low - (0.495 - half_width)).abs() < 0.01, "{group_size}: {low}");
            assert!((high - (0.495 + half_width)).abs() < 0.01, "{group_size}: {high}");
        }
    }

    #[test]
    fn order_of_groups_moves_an_interval_no_more_than_the_seed() {
        let (groups, mut reversed) = (grouped(5), grouped(5));
        reversed.reverse();
        let (low, high) = interval(&groups, mean, 4000, 1).expect("there are groups");
        for other in [interval(&reversed, mean, 4000, 1), interval(&groups, mean, 4000, 2)] {
            let other = other.expect("there are groups");
            assert_ne!(other, (low, high));
            assert!((other.0 - low).abs() < 0.01 && (other.1 - high).abs() < 0.01, "{other:?}");
        }
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let with_threads = |n_threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().expect("threads can be started");
            pool.install(|| interval(&grouped(3), mean, 500, 9))
        };
        assert!(with_threads(1).is_some());
        assert_eq!(with_threads(1), with_threads(3));
    }

    #[test]
    fn fewer_than_two_groups_or_no_resamples_have_no_interval() {
        assert_eq!(interval(&[], mean, 100, 1), None);
        assert_eq!(interval(&[vec![0.25, 0.75]], mean, 100, 1), None);
        assert_eq!(interval(&grouped(5), mean, 0, 1), None);
    }

    #[test]
    fn statistic_may_be_missing_for_a_tenth_of_the_resamples() {
        // Without the first of n groups: (1 - 1/n)^n, about 0.36. Without any of three of ten: 0.7^10, about 0.03.
        let has_any = |rows: &[&f64], below: f64| rows.iter().any(|row| **row < below).then_some(0.5);
        assert_eq!(interval(&grouped(10), |rows| has_any(rows, 0.1), 1000, 1), None);
        assert_eq!(interval(&grouped(10), |rows| has_any(rows, 0.3), 1000, 1), Some((0.5, 0.5)));
    }
}
