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

/// Where a prompt's part of the tree begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Root {
    /// The kept beginning that it goes on from; `None` for the beginning of the prompt.
    pub kept: Option<usize>,
    /// The tokens of that.
    pub len: usize,
}

/// A run of tokens that some prompts share.
#[derive(Debug, PartialEq, Eq)]
pub struct Node {
    /// The node before this one; `None` at a root.
    pub parent: Option<usize>,
    /// For a node without a parent the kept beginning before it, if there is one.
    pub kept: Option<usize>,
    /// At least one token.
    pub tokens: Vec<u32>,
    /// Prompts that go through or end with this node.
    pub n_prompts: usize,
}

impl PrefixTree {
    /// Merges prompts, each from its root on; two prompts have the same root only if they are equal up to there.
    ///
    /// # Panics
    /// If a prompt ends at its root: there would be no position to ask for its logits.
    pub fn new(prompts: &[&[u32]], roots: &[Root]) -> Self {
        let is_longer = |(prompt, root): (&&[u32], &Root)| prompt.len() > root.len;
        assert!(prompts.iter().zip(roots).all(is_longer), "a prompt has a token after its root");
        let mut tree = Self { nodes: Vec::new(), ends: vec![0; prompts.len()] };
        let mut rest: Vec<usize> = (0..prompts.len()).collect();
        while let Some(&first) = rest.first() {
            let root = roots[first];
            let (members, others) = rest.into_iter().partition(|&idx: &usize| roots[idx] == root);
            rest = others;
            tree.add_children(None, root, prompts, &members);
        }
        tree
    }

    /// Keeps each prompt apart, for comparison with [`PrefixTree::new`]: the results must be the same.
    pub fn separate(prompts: &[&[u32]]) -> Self {
        let node = |prompt: &&[u32]| Node { parent: None, kept: None, tokens: prompt.to_vec(), n_prompts: 1 };
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

    /// Adds the nodes for `members`, prompts that are equal up to where `at` ends.
    fn add_children(&mut self, parent: Option<usize>, at: Root, prompts: &[&[u32]], members: &[usize]) {
        let start = at.len;
        let mut rest: Vec<usize> = members.iter().copied().filter(|&idx| prompts[idx].len() > start).collect();
        while let Some(&first) = rest.first() {
            let token = prompts[first][start];
            let (group, others): (Vec<usize>, Vec<usize>) =
                rest.into_iter().partition(|&idx| prompts[idx][start] == token);
            rest = others;
            self.add_node(parent, at, prompts, &group);
        }
    }

    /// Adds one node for `group`, prompts that are equal up to and including the position after `at`, and all below it.
    fn add_node(&mut self, parent: Option<usize>, at: Root, prompts: &[&[u32]], group: &[usize]) {
        let start = at.len;
        let first = &prompts[group[0]][start..];
        let common = |idx: &usize| first.iter().zip(&prompts[*idx][start..]).take_while(|(a, b)| a == b).count();
        let len = group.iter().map(common).min().expect("a group has a member");
        let node = self.nodes.len();
        self.nodes.push(Node { parent, kept: at.kept, tokens: first[..len].to_vec(), n_prompts: group.len() });
        for &idx in group.iter().filter(|&&idx| prompts[idx].len() == start + len) {
            self.ends[idx] = node;
        }
        self.add_children(Some(node), Root { kept: None, len: start + len }, prompts, group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(parent: Option<usize>, tokens: &[u32], n_prompts: usize) -> Node {
        Node { parent, kept: None, tokens: tokens.to_vec(), n_prompts }
    }

    fn merge(prompts: &[&[u32]]) -> PrefixTree {
        PrefixTree::new(prompts, &vec![Root::default(); prompts.len()])
    }

    #[test]
    fn equal_beginnings_are_one_node() {
        let tree = merge(&[&[1, 2, 3, 4], &[1, 2, 5], &[1, 2, 3, 6], &[7]]);
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
        let tree = merge(&[&[1, 2, 3], &[1], &[1, 2, 3]]);
        let nodes = vec![node(None, &[1], 3), node(Some(0), &[2, 3], 2)];
        assert_eq!(tree, PrefixTree { nodes, ends: vec![1, 0, 1] });
    }

    #[test]
    fn prompts_with_a_kept_beginning_share_what_comes_after_it() {
        let root = Root { kept: Some(4), len: 2 };
        let tree = PrefixTree::new(&[&[1, 2, 3, 4], &[1, 2, 5], &[1, 2, 3, 6]], &[root, Root::default(), root]);
        let nodes = vec![
            Node { kept: Some(4), ..node(None, &[3], 2) },
            node(Some(0), &[4], 1),
            node(Some(0), &[6], 1),
            node(None, &[1, 2, 5], 1),
        ];
        assert_eq!(tree, PrefixTree { nodes, ends: vec![1, 3, 2] });
    }

    #[test]
    fn separate_prompts_share_nothing() {
        let tree = PrefixTree::separate(&[&[1, 2], &[1, 2]]);
        assert_eq!(tree.nodes, [node(None, &[1, 2], 1), node(None, &[1, 2], 1)]);
        assert!(tree.is_end(0) && tree.is_end(1));
    }

    #[test]
    fn no_prompts_make_no_nodes() {
        assert_eq!(merge(&[]), PrefixTree::default());
    }
}
