//! From label words to probabilities: how do the tokens of several spellings make one distribution over answers?

use std::collections::BTreeMap;

/// The spellings of two or more answers as a trie of tokens.
///
/// The probability of an answer is the sum over its spellings of the product of branch probabilities on the way; at each
/// branch the probabilities are renormalised over the tokens that some spelling takes. Where all spellings agree on the
/// next token it is forced and costs nothing. Spellings of the same answer need not be told apart.
#[derive(Debug, Default, PartialEq)]
pub struct LabelTrie {
    children: BTreeMap<u32, LabelTrie>,
    /// The answer of a spelling that ends here.
    ends: Option<usize>,
    /// Answers with a spelling that passes here, a bit each.
    answers: u32,
}

impl LabelTrie {
    /// The trie of each answer's spellings as tokens. A spelling that begins with another of the same answer adds
    /// nothing and is left out.
    ///
    /// # Errors
    /// If a spelling has no token, if one begins with one of another answer, or if an answer has no spelling.
    ///
    /// # Panics
    /// If there are more than 32 answers.
    pub fn new(answers: &[Vec<Vec<u32>>]) -> Result<Self, String> {
        assert!(answers.len() <= 32, "answers are bits");
        let mut trie = Self::default();
        for (answer, spellings) in answers.iter().enumerate() {
            if spellings.is_empty() {
                return Err("the labels have no spelling for one of the answers".to_owned());
            }
            spellings.iter().try_for_each(|tokens| trie.insert(tokens, answer))?;
        }
        trie.note_answers();
        Ok(trie)
    }

    fn insert(&mut self, tokens: &[u32], answer: usize) -> Result<(), String> {
        let mut node = self;
        for token in tokens {
            if node.ends.is_some() {
                break;
            }
            node = node.children.entry(*token).or_default();
        }
        if tokens.is_empty() || node.note_answers() & !(1 << answer) != 0 {
            return Err(format!("the label of tokens {tokens:?} is empty or begins one of another answer"));
        }
        node.children.clear();
        node.ends = Some(answer);
        Ok(())
    }

    /// Brings `answers` up to date, here and below.
    fn note_answers(&mut self) -> u32 {
        let own = self.ends.map_or(0, |answer| 1 << answer);
        self.answers = self.children.values_mut().map(Self::note_answers).fold(own, |a, b| a | b);
        self.answers
    }

    /// The places at which a probability is needed, each with the tokens that may follow: the path from the root,
    /// then the candidates. In the order in which [`LabelTrie::probabilities`] takes their logits.
    pub fn branches(&self) -> Vec<(Vec<u32>, Vec<u32>)> {
        let mut branches = Vec::new();
        self.add_branches(&mut Vec::new(), &mut branches);
        branches
    }

    fn add_branches(&self, path: &mut Vec<u32>, branches: &mut Vec<(Vec<u32>, Vec<u32>)>) {
        if self.decided().is_some() {
            return;
        }
        if self.children.len() > 1 {
            branches.push((path.clone(), self.children.keys().copied().collect()));
        }
        for (token, child) in &self.children {
            path.push(*token);
            child.add_branches(path, branches);
            path.pop();
        }
    }

    /// The answer, if all spellings below are of one.
    fn decided(&self) -> Option<usize> {
        self.answers.is_power_of_two().then(|| self.answers.trailing_zeros() as usize)
    }

    /// Tokens of the longest spelling.
    pub fn depth(&self) -> usize {
        self.children.values().map(|child| 1 + child.depth()).max().unwrap_or(0)
    }

    /// The probability of each answer from the logits at each of the [`LabelTrie::branches`].
    pub fn probabilities(&self, logits: &[Vec<f32>]) -> Vec<f64> {
        let n_answers = 32 - self.answers.leading_zeros() as usize;
        let mut probabilities = vec![0.0; n_answers];
        self.add_probabilities(1.0, &mut logits.iter(), &mut probabilities);
        probabilities
    }

    fn add_probabilities<'a>(
        &self,
        weight: f64,
        logits: &mut impl Iterator<Item = &'a Vec<f32>>,
        probabilities: &mut [f64],
    ) {
        if let Some(answer) = self.decided() {
            probabilities[answer] += weight;
            return;
        }
        let weights = if self.children.len() > 1 {
            softmax(logits.next().expect("there are logits for every branch"))
        } else {
            vec![1.0]
        };
        // A child takes its logits from the iterator, so the order is that of `add_branches`.
        for (child, branch) in self.children.values().zip(weights) {
            child.add_probabilities(weight * branch, logits, probabilities);
        }
    }
}

fn softmax(logits: &[f32]) -> Vec<f64> {
    let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let weights: Vec<f64> = logits.iter().map(|&logit| libm::exp(f64::from(logit) - f64::from(max))).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO: usize = 0;
    const YES: usize = 1;

    fn spellings(of: &[(&[u32], usize)]) -> Vec<Vec<Vec<u32>>> {
        let n_answers = of.iter().map(|(_, answer)| answer + 1).max().unwrap();
        let mut answers = vec![Vec::new(); n_answers];
        of.iter().for_each(|(tokens, answer)| answers[*answer].push(tokens.to_vec()));
        answers
    }

    fn trie(of: &[(&[u32], usize)]) -> LabelTrie {
        LabelTrie::new(&spellings(of)).unwrap()
    }

    #[test]
    fn spellings_of_one_answer_are_summed() {
        let trie = trie(&[(&[1], YES), (&[2], YES), (&[3], NO)]);
        assert_eq!(trie.branches(), [(vec![], vec![1, 2, 3])]);
        // Weights 1, 2, 1: P(yes) = 3/4.
        let p = trie.probabilities(&[vec![0.0, 2f32.ln(), 0.0]]);
        assert!((p[YES] - 0.75).abs() < 1e-7);
    }

    #[test]
    fn shared_tokens_are_forced_and_later_branches_multiply() {
        // Both begin with 9, as the bytes of 예 and 아 do; then 5 is yes, and 6 leads to 7 (no) or 8 (yes).
        let trie = trie(&[(&[9, 5], YES), (&[9, 6, 7], NO), (&[9, 6, 8, 4], YES)]);
        assert_eq!(trie.branches(), [(vec![9], vec![5, 6]), (vec![9, 6], vec![7, 8])]);
        // First branch 1 : 3, second 1 : 1. P(yes) = 1/4 + 3/4 * 1/2 = 0.625.
        let p = trie.probabilities(&[vec![0.0, 3f32.ln()], vec![1.0, 1.0]]);
        assert!((p[YES] - 0.625).abs() < 1e-7);
    }

    #[test]
    fn levels_share_the_probability_of_their_spellings() {
        // A level a token, and level 2 with a space before it as well: weights 1, 2, 3, 2 of 8.
        let trie = trie(&[(&[10], 0), (&[11], 1), (&[12], 2), (&[5, 12], 2)]);
        assert_eq!(trie.branches(), [(vec![], vec![5, 10, 11, 12])]);
        let p = trie.probabilities(&[vec![2f32.ln(), 0.0, 2f32.ln(), 3f32.ln()]]);
        for (p, expected) in p.iter().zip([1.0 / 8.0, 2.0 / 8.0, 5.0 / 8.0]) {
            assert!((p - expected).abs() < 1e-7, "{p}");
        }
    }

    #[test]
    fn longer_spelling_of_the_same_answer_adds_nothing() {
        let first = trie(&[(&[1], YES), (&[1, 2], YES), (&[3], NO)]);
        let last = trie(&[(&[1, 2], YES), (&[1], YES), (&[3], NO)]);
        assert_eq!(first, last);
        assert_eq!(first.branches(), [(vec![], vec![1, 3])]);
    }

    #[test]
    fn contradicting_labels_are_refused() {
        for of in [
            [(&[1][..], YES), (&[1, 2], NO)].as_slice(),
            &[(&[1, 2], YES), (&[1], NO)],
            &[(&[], YES), (&[1], NO)],
            &[(&[1], YES)],
        ] {
            assert!(LabelTrie::new(&spellings(of)).is_err(), "{of:?}");
        }
    }
}
