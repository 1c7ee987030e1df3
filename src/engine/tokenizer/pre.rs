//! Pre-tokenizers: where may no token cross?

use regex::Regex;

/// How a family of models cuts text into words before merging.
///
/// The families and their patterns are those of llama.cpp (`src/llama-vocab.cpp`). Its patterns end in
/// `\s+(?!\S)|\s+`: white space leaves its last character to the word that follows. Here that is done by
/// [`PreTokenizer::split`], so that the patterns need no look-ahead and take linear time on any text.
#[derive(Debug)]
pub(super) struct PreTokenizer {
    /// The values of `tokenizer.ggml.pre` that mean this one.
    names: &'static [&'static str],
    /// What a word is.
    pub words: &'static str,
    /// Whether each digit is a word, cut out before anything else.
    cuts_digits: bool,
    /// Whether line ends are cut from the white space after them; they then never belong to the word that follows.
    cuts_lines: bool,
    /// Whether a word that is a token is that token, whatever the merges say.
    pub prefers_whole_words: bool,
    /// Whether prompts start with the token under `tokenizer.ggml.bos_token_id` unless the metadata says otherwise.
    pub adds_bos: bool,
}

/// GPT-2's words.
const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+";
/// Words of Llama 3: up to three digits together, line ends after punctuation.
const LLAMA3: &str = concat!(
    r"'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+"
);
/// Words of Qwen 2: those of Llama 3 with single digits.
const QWEN2: &str = concat!(
    r"'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+"
);

/// Every pre-tokenizer.
static PRE_TOKENIZERS: [PreTokenizer; 5] = [
    PreTokenizer {
        names: &["gpt-2", "phi-2", "mpt", "olmo", "exaone4", "a.x-4.0", "trillion", "gigachat", "granite-docling"],
        words: GPT2,
        cuts_digits: false,
        cuts_lines: false,
        prefers_whole_words: false,
        adds_bos: false,
    },
    PreTokenizer {
        names: &["smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b", "mellum2"],
        words: GPT2,
        cuts_digits: true,
        cuts_lines: false,
        prefers_whole_words: false,
        adds_bos: false,
    },
    PreTokenizer {
        names: &["llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"],
        words: LLAMA3,
        cuts_digits: false,
        cuts_lines: true,
        prefers_whole_words: true,
        adds_bos: true,
    },
    PreTokenizer {
        names: &["dbrx", "smaug-bpe", "chatglm-bpe", "glm4"],
        words: LLAMA3,
        cuts_digits: false,
        cuts_lines: true,
        prefers_whole_words: false,
        adds_bos: false,
    },
    PreTokenizer {
        names: &["qwen2", "deepseek-r1-qwen", "stablelm2", "hunyuan", "solar-open", "megrez", "kormo", "grok-2"],
        words: QWEN2,
        cuts_digits: false,
        cuts_lines: true,
        prefers_whole_words: false,
        adds_bos: false,
    },
];

impl PreTokenizer {
    /// The pre-tokenizer of this name, or what is wrong with the name.
    pub(super) fn named(name: &str) -> Result<&'static Self, String> {
        PRE_TOKENIZERS.iter().find(|pre| pre.names.contains(&name)).ok_or_else(|| {
            let known: Vec<&str> = PRE_TOKENIZERS.iter().flat_map(|pre| pre.names).copied().collect();
            format!("key `tokenizer.ggml.pre` is `{name}`, expected one of {}", known.join(", "))
        })
    }

    /// Calls `word` for each word of the text, in order; together they are the text.
    pub(super) fn split<'a>(&self, text: &'a str, words: &Regex, mut word: impl FnMut(&'a str)) {
        let mut rest = text;
        if self.cuts_digits {
            while let Some((start, digit)) = rest.char_indices().find(|(_, letter)| letter.is_numeric()) {
                let (before, after) = rest.split_at(start);
                self.split_part(before, words, &mut word);
                let (digit, after) = after.split_at(digit.len_utf8());
                word(digit);
                rest = after;
            }
        }
        self.split_part(rest, words, &mut word);
    }

    /// Calls `word` for each word of a text without digits to cut out.
    fn split_part<'a>(&self, text: &'a str, words: &Regex, word: &mut impl FnMut(&'a str)) {
        let mut start = 0;
        while let Some(found) = words.find_at(text, start) {
            let end = if found.end() < text.len() { self.leave_last_space(found.as_str()) } else { found.len() };
            let end = found.start() + end;
            word(&text[start..end]);
            start = end;
        }
    }

    /// The length of a word that something follows: without its last character if it is white space of two or more.
    fn leave_last_space(&self, word: &str) -> usize {
        let is_line_end = self.cuts_lines && word.ends_with(['\r', '\n']);
        let mut letters = word.chars();
        let last = letters.next_back();
        let is_space = !is_line_end && word.chars().all(char::is_whitespace);
        match last {
            Some(last) if is_space && letters.next().is_some() => word.len() - last.len_utf8(),
            Some(_) | None => word.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the words of a text, written with `|` between them.
    fn check(pre: &str, expected: &str) {
        let pre = PreTokenizer::named(pre).expect("is in the table");
        let words = Regex::new(pre.words).expect("is a pattern");
        let text = expected.replace('|', "");
        let mut found = Vec::new();
        pre.split(&text, &words, |word| found.push(word));
        assert_eq!(found.join("|"), expected);
    }

    #[test]
    fn every_pattern_of_the_table_compiles() {
        for pre in &PRE_TOKENIZERS {
            assert!(Regex::new(pre.words).is_ok(), "{}", pre.words);
        }
    }

    /// Derived by hand from llama.cpp's patterns.
    #[test]
    fn white_space_leaves_its_last_character_to_the_next_word() {
        for pre in ["gpt-2", "smollm", "llama-bpe", "qwen2"] {
            check(pre, "a|  | b");
            check(pre, " \u{3000}\u{3000}");
            check(pre, "a|   ");
            check(pre, "");
        }
        check("gpt-2", " \u{3000}|\u{3000}|가");
        check("qwen2", " \u{3000}|\u{3000}가");
    }

    #[test]
    fn line_ends_stand_alone_in_the_newer_families_only() {
        check("gpt-2", "a|\n\n|\n|b");
        check("qwen2", "a|\n\n\n|b");
        check("qwen2", "a|  \n|  | b");
        check("gpt-2", "a|  \n  | b");
        check("qwen2", "end|.\n\n|Next");
        check("gpt-2", "end|.|\n|\n|Next");
    }

    #[test]
    fn digits_are_cut_as_the_family_cuts_them() {
        check("gpt-2", "in| 2024|,");
        check("smollm", "in| |2|0|2|4|,");
        check("smollm", "in|  |2|½|  ");
        check("llama-bpe", "in| |202|4|,");
        check("qwen2", "in| |2|0|2|4|,");
    }

    #[test]
    fn contractions_are_words_in_capitals_in_the_newer_families_only() {
        check("gpt-2", "it|'s| IT|'|S");
        check("llama-bpe", "it|'s| IT|'S");
        check("llama-bpe", "a|'ſ");
    }
}
