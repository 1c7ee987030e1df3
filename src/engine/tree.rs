//! Prompts as a tree of tokens: which parts of the prompts are equal, so that they are computed once?

/// Prompts merged by their common beginnings.
///
/// Nodes stand in the order of the prompts that first needed them, each parent before its children, and the nodes
/// below one node stand together: computing them in order keeps no more than one path of them waiting.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PrefixTree {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// For each prompt the node it ends with.
    pub ends: Vec<usize>,
}

/// A run of tokens that some prompts share.
#[derive(Debug, PartialEq, Eq)]
pub struct Node {
    /// The node before this one; `None` at the beginning of a prompt.
    pub parent: Option<usize>,
    /// At least one token.
    pub tokens: Vec<u32>,
    /// Prompts that go through or end with this node.
    pub n_prompts: usize,
}

impl PrefixTree {
    /// Merges prompts; none of them may be empty.
    ///
    /// # Panics
    /// If a prompt is empty: there would be no position to ask for its logits.
    pub fn new(prompts: &[&[u32]]) -> Self {
        assert!(prompts.iter().all(|prompt| !prompt.is_empty()), "a prompt has at least one token");
        let mut tree = Self { nodes: Vec::new(), ends: vec![0; prompts.len()] };
        let all: Vec<usize> = (0..prompts.len()).collect();
        tree.add_children(None, 0, prompts, &all);
        tree
    }

    /// Keeps each prompt apart, for comparison with [`PrefixTree::new`]: the results must be the same.
    pub fn separate(prompts: &[&[u32]]) -> Self {
        let node = |prompt: &&[u32]| Node { parent: None, tokens: prompt.to_vec(), n_prompts: 1 };
        Self { nodes: prompts.iter().map(node).collect(), ends: (0..prompts.len()).collect() }
    }

    /// The nodes from the beginning to `node`, itself included.
    pub fn path(&self, node: usize) -> Vec<usize> {
        let mut path: Vec<usize> = std::iter::successors(Some(node), |&node| self.nodes[node].parent).collect();
        path.reverse();
        path
    }

    /// Whether a prompt ends at `node`.
    pub fn is_end(&self, node: usize) -> bool {
        self.ends.contains(&node)
    }

    /// Tokens of all nodes: what must be computed.
    pub fn n_tokens(&self) -> usize {
        self.nodes.iter().map(|node| node.tokens.len()).sum()
    }

    /// Adds the nodes for `members`, prompts that are equal before position `start`.
    fn add_children(&mut self, parent: Option<usize>, start: usize, prompts: &[&[u32]], members: &[usize]) {
        let mut rest: Vec<usize> = members.iter().copied().filter(|&idx| prompts[idx].len() > start).collect();
        while let Some(&first) = rest.first() {
            let token = prompts[first][start];
            let (group, others): (Vec<usize>, Vec<usize>) =
                rest.into_iter().partition(|&idx| prompts[idx][start] == token);
            rest = others;
            self.add_node(parent, start, prompts, &group);
        }
    }

    /// Adds one node for `group`, prompts that are equal up to and including position `start`, and all below it.
    fn add_node(&mut self, parent: Option<usize>, start: usize, prompts: &[&[u32]], group: &[usize]) {
        let first = &prompts[group[0]][start..];
        let common = |idx: &usize| first.iter().zip(&prompts[*idx][start..]).take_while(|(a, b)| a == b).count();
        let len = group.iter().map(common).min().expect("a group has a member");
        let node = self.nodes.len();
        self.nodes.push(Node { parent, tokens: first[..len].to_vec(), n_prompts: group.len() });
        for &idx in group.iter().filter(|&&idx| prompts[idx].len() == start + len) {
            self.ends[idx] = node;
        }
        self.add_children(Some(node), start + len, prompts, group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(parent: Option<usize>, tokens: &[u32], n_prompts: usize) -> Node {
        Node { parent, tokens: tokens.to_vec(), n_prompts }
    }

    #[test]
    fn equal_beginnings_are_one_node() {
        let tree = PrefixTree::new(&[&[1, 2, 3, 4], &[1, 2, 5], &[1, 2, 3, 6], &[7]]);
        let nodes = vec![
            node(None, &[1, 2], 3),
            node(Some(0), &[3], 2),
            node(Some(1), &[4], 1),
            node(Some(1), &[6], 1),
            node(Some(0), &[5], 1),
            node(None, &[7], 1),
        ];
        assert_eq!(tree, PrefixTree { nodes, ends: vec![2, 4, 3, 5] });
        assert_eq!(tree.n_tokens(), 7);
        assert_eq!(tree.path(3), [0, 1, 3]);
    }

    #[test]
    fn prompt_that_begins_another_ends_inside_the_path() {
        let tree = PrefixTree::new(&[&[1, 2, 3], &[1], &[1, 2, 3]]);
        let nodes = vec![node(None, &[1], 3), node(Some(0), &[2, 3], 2)];
        assert_eq!(tree, PrefixTree { nodes, ends: vec![1, 0, 1] });
    }

    #[test]
    fn separate_prompts_share_nothing() {
        let tree = PrefixTree::separate(&[&[1, 2], &[1, 2]]);
        assert_eq!(tree.nodes, [node(None, &[1, 2], 1), node(None, &[1, 2], 1)]);
        assert!(tree.is_end(0) && tree.is_end(1));
    }

    #[test]
    fn no_prompts_make_no_nodes() {
        assert_eq!(PrefixTree::new(&[]), PrefixTree::default());
    }
}
