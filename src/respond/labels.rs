//! From label words to P(yes): how do the tokens of several spellings make one probability?

use std::collections::BTreeMap;

/// The spellings of yes and no as a trie of tokens.
///
/// P(yes) is the sum over the spellings of yes of the product of branch probabilities on the way; at each branch the
/// probabilities are renormalised over the tokens that some spelling takes. Where all spellings agree on the next
/// token it is forced and costs nothing. Spellings of the same answer need not be told apart.
#[derive(Debug, Default, PartialEq)]
pub struct LabelTrie {
    children: BTreeMap<u32, LabelTrie>,
    /// The answer of a spelling that ends here: whether it is yes.
    ends: Option<bool>,
}

impl LabelTrie {
    /// The trie of token sequences with their answers. A spelling that begins with another of the same answer adds
    /// nothing and is left out.
    ///
    /// # Errors
    /// If a spelling has no token, if one spelling of yes begins with one of no or the other way round, or if either
    /// answer has no spelling.
    pub fn new(spellings: &[(Vec<u32>, bool)]) -> Result<Self, String> {
        let mut trie = Self::default();
        for (tokens, is_yes) in spellings {
            trie.insert(tokens, *is_yes)?;
        }
        match trie.answers() {
            (true, true) => Ok(trie),
            _ => Err("the labels have no spelling for one of the answers".to_owned()),
        }
    }

    fn insert(&mut self, tokens: &[u32], is_yes: bool) -> Result<(), String> {
        let mut node = self;
        for token in tokens {
            if node.ends.is_some() {
                break;
            }
            node = node.children.entry(*token).or_default();
        }
        let answers = node.answers();
        let clashes = if is_yes { answers.1 } else { answers.0 };
        if tokens.is_empty() || clashes {
            return Err(format!("the label of tokens {tokens:?} is empty or begins one of the other answer"));
        }
        node.children.clear();
        node.ends = Some(is_yes);
        Ok(())
    }

    /// Whether spellings of yes, and of no, pass this node.
    fn answers(&self) -> (bool, bool) {
        let own = (self.ends == Some(true), self.ends == Some(false));
        self.children.values().map(Self::answers).fold(own, |a, b| (a.0 || b.0, a.1 || b.1))
    }

    /// The places at which a probability is needed, each with the tokens that may follow: the path from the root,
    /// then the candidates. In the order in which [`LabelTrie::p_yes`] takes their logits.
    pub fn branches(&self) -> Vec<(Vec<u32>, Vec<u32>)> {
        let mut branches = Vec::new();
        self.add_branches(&mut Vec::new(), &mut branches);
        branches
    }

    fn add_branches(&self, path: &mut Vec<u32>, branches: &mut Vec<(Vec<u32>, Vec<u32>)>) {
        if self.is_decided() {
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

    fn is_decided(&self) -> bool {
        self.answers() != (true, true)
    }

    /// Tokens of the longest spelling.
    pub fn depth(&self) -> usize {
        self.children.values().map(|child| 1 + child.depth()).max().unwrap_or(0)
    }

    /// P(yes) from the logits at each of the [`LabelTrie::branches`].
    pub fn p_yes(&self, logits: &[Vec<f32>]) -> f64 {
        self.p_yes_below(&mut logits.iter())
    }

    fn p_yes_below<'a>(&self, logits: &mut impl Iterator<Item = &'a Vec<f32>>) -> f64 {
        if self.is_decided() {
            return if self.answers().0 { 1.0 } else { 0.0 };
        }
        let weights = if self.children.len() > 1 {
            softmax(logits.next().expect("there are logits for every branch"))
        } else {
            vec![1.0]
        };
        // A child takes its logits from the iterator, so the order is that of `add_branches`.
        let mut p_yes = 0.0;
        for (child, weight) in self.children.values().zip(weights) {
            p_yes += weight * child.p_yes_below(logits);
        }
        p_yes
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

    fn trie(spellings: &[(&[u32], bool)]) -> LabelTrie {
        let owned: Vec<(Vec<u32>, bool)> = spellings.iter().map(|(tokens, yes)| (tokens.to_vec(), *yes)).collect();
        LabelTrie::new(&owned).unwrap()
    }

    #[test]
    fn spellings_of_one_answer_are_summed() {
        let trie = trie(&[(&[1], true), (&[2], true), (&[3], false)]);
        assert_eq!(trie.branches(), [(vec![], vec![1, 2, 3])]);
        // Weights 1, 2, 1: P(yes) = 3/4.
        let p_yes = trie.p_yes(&[vec![0.0, 2f32.ln(), 0.0]]);
        assert!((p_yes - 0.75).abs() < 1e-7);
    }

    #[test]
    fn shared_tokens_are_forced_and_later_branches_multiply() {
        // Both begin with 9, as the bytes of 예 and 아 do; then 5 is yes, and 6 leads to 7 (no) or 8 (yes).
        let trie = trie(&[(&[9, 5], true), (&[9, 6, 7], false), (&[9, 6, 8, 4], true)]);
        assert_eq!(trie.branches(), [(vec![9], vec![5, 6]), (vec![9, 6], vec![7, 8])]);
        // First branch 1 : 3, second 1 : 1. P(yes) = 1/4 + 3/4 * 1/2 = 0.625.
        let p_yes = trie.p_yes(&[vec![0.0, 3f32.ln()], vec![1.0, 1.0]]);
        assert!((p_yes - 0.625).abs() < 1e-7);
    }

    #[test]
    fn longer_spelling_of_the_same_answer_adds_nothing() {
        let first = trie(&[(&[1], true), (&[1, 2], true), (&[3], false)]);
        let last = trie(&[(&[1, 2], true), (&[1], true), (&[3], false)]);
        assert_eq!(first, last);
        assert_eq!(first.branches(), [(vec![], vec![1, 3])]);
    }

    #[test]
    fn contradicting_labels_are_refused() {
        assert!(LabelTrie::new(&[(vec![1], true), (vec![1, 2], false)]).is_err());
        assert!(LabelTrie::new(&[(vec![1, 2], true), (vec![1], false)]).is_err());
        assert!(LabelTrie::new(&[(vec![], true), (vec![1], false)]).is_err());
        assert!(LabelTrie::new(&[(vec![1], true)]).is_err());
    }
}
