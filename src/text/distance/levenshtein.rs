//! Levenshtein's distance: how many characters must be inserted, deleted or replaced?

use super::places::Places;

/// The fewest insertions, deletions and replacements that make one text of the other, and the other's length.
///
/// G. Myers, "A fast bit-vector algorithm for approximate string matching based on dynamic programming", 1999, in the
/// form of H. Hyyrö, "A bit-vector algorithm for computing Levenshtein and Damerau edit distances", 2003. In the table
/// of the distances between all beginnings of the two texts, neighbours differ by -1, 0 or 1. A column is kept as two
/// bits for each place of the pattern, whether the distance rises or falls from the place before.
pub fn changes(pattern: &Places, other: &str) -> (usize, usize) {
    // From nothing to the beginnings of the pattern, the distance rises with each character.
    let mut column = vec![(!0_u64, 0_u64); pattern.n_chars().div_ceil(64)];
    let mut n_other = 0;
    for c in other.chars() {
        n_other += 1;
        // Along the first row it rises, too. From word to word, the change along the last row of the one is handed on.
        let (mut row_rises, mut row_falls) = (1, 0);
        for (equal, (rises, falls)) in pattern.get(c).iter().zip(&mut column) {
            let equal = equal | row_falls;
            let diagonal_stays = ((equal & *rises).wrapping_add(*rises) ^ *rises) | equal | *falls;
            let across_rises = *falls | !(diagonal_stays | *rises);
            let across_falls = diagonal_stays & *rises;
            let rises_above = across_rises << 1 | row_rises;
            let falls_above = across_falls << 1 | row_falls;
            (row_rises, row_falls) = (across_rises >> 63, across_falls >> 63);
            *rises = falls_above | !(diagonal_stays | rises_above);
            *falls = rises_above & diagonal_stays;
        }
    }
    // The distance of the whole texts is that of the empty beginning and the other, and all changes down the column.
    let (mut n_rises, mut n_falls) = (0, 0);
    for (idx, (rises, falls)) in column.iter().enumerate() {
        let used = !0_u64 >> (64 - (pattern.n_chars() - 64 * idx).min(64));
        n_rises += (rises & used).count_ones() as usize;
        n_falls += (falls & used).count_ones() as usize;
    }
    (n_other + n_rises - n_falls, n_other)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table cell by cell.
    fn slow_changes(a: &[char], b: &[char]) -> usize {
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (i, x) in a.iter().enumerate() {
            let mut diagonal = i;
            row[0] = i + 1;
            for (j, y) in b.iter().enumerate() {
                let replaced = diagonal + usize::from(x != y);
                diagonal = row[j + 1];
                row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
            }
        }
        row[b.len()]
    }

    #[test]
    fn bits_give_what_the_table_gives() {
        let mut seed = 1_u32;
        let mut letter = |letters: &str| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            letters.chars().nth((seed >> 16) as usize % letters.chars().count()).expect("it is in range")
        };
        let lengths = [0, 1, 2, 63, 64, 65, 127, 130, 200, 321];
        // Two letters make close texts, and many make distant ones.
        for letters in ["ab", "abcdefgh가나다라마바사🙂🙃é"] {
            for (n_a, n_b) in lengths.iter().flat_map(|n_a| lengths.map(|n_b| (*n_a, n_b))) {
                let a: Vec<char> = (0..n_a).map(|_| letter(letters)).collect();
                let b: Vec<char> = (0..n_b).map(|_| letter(letters)).collect();
                let ours = changes(&Places::of(&a), &b.iter().collect::<String>());
                assert_eq!(ours, (slow_changes(&a, &b), n_b), "{a:?} {b:?}");
            }
        }
    }
}
