//! Places: where in a text does a character stand?

/// The places of every character of a text, as bits: those of place `idx` are bit `idx % 64` of word `idx / 64`.
///
/// A look-up is two indexings, whatever the script: a hash table took a third of the time for Korean.
pub struct Places {
    /// The number of characters.
    n_chars: usize,
    /// For each block of 256 code points, the index in `rows` of its first one; 0 if the text has none of them.
    blocks: Vec<u32>,
    /// For each code point of the blocks that occur, the index in `words` of its places divided by `n_words`.
    rows: Vec<u32>,
    /// The places, `n_words` for each character that occurs, after as many zeros for all others.
    words: Vec<u64>,
}

/// Code points in a block.
const BLOCK: usize = 256;

impl Places {
    /// Finds the places of all characters.
    pub fn of(text: &[char]) -> Self {
        let n_blocks = char::MAX as usize / BLOCK + 1;
        let n_words = text.len().div_ceil(64);
        let mut places =
            Self { n_chars: text.len(), blocks: vec![0; n_blocks], rows: vec![0; BLOCK], words: vec![0; n_words] };
        for (idx, &c) in text.iter().enumerate() {
            let row = places.row(c);
            places.words[row * n_words + idx / 64] |= 1 << (idx % 64);
        }
        places
    }

    /// The row of a character, which is made if it has none.
    fn row(&mut self, c: char) -> usize {
        let block = &mut self.blocks[c as usize / BLOCK];
        if *block == 0 {
            *block = u32::try_from(self.rows.len()).expect("there are fewer code points");
            self.rows.resize(self.rows.len() + BLOCK, 0);
        }
        let row = &mut self.rows[*block as usize + c as usize % BLOCK];
        if *row == 0 {
            let n_words = self.n_chars.div_ceil(64);
            *row = u32::try_from(self.words.len() / n_words).expect("there are fewer code points");
            self.words.resize(self.words.len() + n_words, 0);
        }
        *row as usize
    }

    /// The number of characters in the text.
    pub fn n_chars(&self) -> usize {
        self.n_chars
    }

    /// The places of a character, 64 to a word; bits after the end of the text are 0.
    pub fn get(&self, c: char) -> &[u64] {
        let n_words = self.n_chars.div_ceil(64);
        let row = self.rows[self.blocks[c as usize / BLOCK] as usize + c as usize % BLOCK] as usize;
        &self.words[row * n_words..][..n_words]
    }
}
