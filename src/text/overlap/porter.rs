//! Porter's stemmer: what is left of an English word without its endings?

/// Words whose stem no rule finds.
const IRREGULAR: &[(&str, &str)] = &[
    ("skies", "sky"),
    ("sky", "sky"),
    ("dying", "die"),
    ("lying", "lie"),
    ("tying", "tie"),
    ("news", "news"),
    ("innings", "inning"),
    ("inning", "inning"),
    ("outings", "outing"),
    ("outing", "outing"),
    ("cannings", "canning"),
    ("canning", "canning"),
    ("howe", "howe"),
    ("proceed", "proceed"),
    ("exceed", "exceed"),
    ("succeed", "succeed"),
];

/// An ending and what takes its place.
type Rule = (&'static str, &'static str);

/// Step 1a, plurals. The third rule keeps the fourth from `caress`.
const PLURALS: &[Rule] = &[("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")];

/// Step 2, two endings in one.
const DOUBLE_ENDINGS: &[Rule] = &[
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("fulli", "ful"),
    (LOGI, "log"),
];

/// The ending whose `l` counts as part of what is before it: `geologi` has a long enough beginning.
const LOGI: &str = "logi";

/// Step 3.
const ENDINGS_BEFORE_LAST: &[Rule] =
    &[("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", "")];

/// Step 4. Of endings that end alike the longest is first, since the first that fits decides.
const LAST_ENDINGS: &[&str] = &[
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", ION, "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
];

/// The ending that is one after `s` or `t` only: `adoption`, and not `champion`.
const ION: &str = "ion";

/// The stem of a lower-case word of ASCII letters and digits; one of other characters is its own stem.
///
/// Source: M. F. Porter, "An algorithm for suffix stripping", 1980, as NLTK 3.10 has it in `PorterStemmer` with its
/// default `NLTK_EXTENSIONS`: a list of irregular words, no change to words of up to two letters, and the rules marked
/// below.
pub fn stem(word: &str) -> String {
    if let Some((_, stem)) = IRREGULAR.iter().find(|(irregular, _)| *irregular == word) {
        return (*stem).to_owned();
    }
    if word.len() <= 2 || !word.is_ascii() {
        return word.to_owned();
    }
    let word = without_plural(word);
    let word = without_past(&word);
    let word = with_final_i(&word);
    let word = with_one_ending(&word);
    let word = replaced(&word, ENDINGS_BEFORE_LAST, |beginning, _| measure(beginning) > 0);
    let word = without_last_ending(&word);
    without_final_e_and_l(&word)
}

/// The word with the first ending that it has replaced, if the condition holds for what is before it and that ending.
fn replaced(word: &str, rules: &[Rule], is_ending: impl Fn(&str, &str) -> bool) -> String {
    for (ending, shorter) in rules {
        if let Some(beginning) = word.strip_suffix(ending) {
            return if is_ending(beginning, ending) { format!("{beginning}{shorter}") } else { word.to_owned() };
        }
    }
    word.to_owned()
}

/// Step 1a: `cats` to `cat`.
fn without_plural(word: &str) -> String {
    // NLTK: `flies` to `fli`, but `dies` to `die`.
    if word.len() == 4 && word.ends_with("ies") {
        return word[..3].to_owned();
    }
    replaced(word, PLURALS, |_, _| true)
}

/// Step 1b: `agreed` to `agree`, `hopping` to `hop`, `hoping` to `hope`.
fn without_past(word: &str) -> String {
    // NLTK: `spied` to `spi`, but `died` to `die`.
    if let Some(beginning) = word.strip_suffix("ied") {
        return format!("{beginning}{}", if word.len() == 4 { "ie" } else { "i" });
    }
    if let Some(beginning) = word.strip_suffix("eed") {
        return if measure(beginning) > 0 { format!("{beginning}ee") } else { word.to_owned() };
    }
    let beginning = word.strip_suffix("ed").or_else(|| word.strip_suffix("ing"));
    match beginning.filter(|beginning| has_vowel(beginning)) {
        Some(beginning) => repaired(beginning),
        None => word.to_owned(),
    }
}

/// What is left before `ed` or `ing`, spelled as a word of its own.
fn repaired(beginning: &str) -> String {
    let takes_e = ["at", "bl", "iz"].iter().any(|ending| beginning.ends_with(ending));
    if takes_e {
        return format!("{beginning}e");
    }
    if ends_in_double_consonant(beginning) {
        let is_doubled = !beginning.ends_with(['l', 's', 'z']);
        return beginning[..beginning.len() - usize::from(is_doubled)].to_owned();
    }
    let is_short = measure(beginning) == 1 && ends_in_short_syllable(beginning);
    format!("{beginning}{}", if is_short { "e" } else { "" })
}

/// Step 1c: `happy` to `happi`. NLTK: after a consonant that is not the first letter, whether or not there is a vowel.
fn with_final_i(word: &str) -> String {
    let takes_i = |beginning: &str| beginning.len() > 1 && consonants(beginning).last() == Some(true);
    replaced(word, &[("y", "i")], |beginning, _| takes_i(beginning))
}

/// Step 2: `relational` to `relate`.
fn with_one_ending(word: &str) -> String {
    // NLTK: `alli` first, and what that leaves again, since it may end like `-bli`.
    if let Some(beginning) = word.strip_suffix("alli")
        && measure(beginning) > 0
    {
        return with_one_ending(&format!("{beginning}al"));
    }
    replaced(word, DOUBLE_ENDINGS, |beginning, ending| {
        let n_bytes = beginning.len() + usize::from(ending == LOGI);
        measure(&word[..n_bytes]) > 0
    })
}

/// Step 4: `adjustment` to `adjust`.
fn without_last_ending(word: &str) -> String {
    let Some(ending) = LAST_ENDINGS.iter().find(|ending| word.ends_with(**ending)) else { return word.to_owned() };
    let beginning = &word[..word.len() - ending.len()];
    let is_ending = measure(beginning) > 1 && (*ending != ION || beginning.ends_with(['s', 't']));
    if is_ending { beginning.to_owned() } else { word.to_owned() }
}

/// Step 5: `probate` to `probat`, `controll` to `control`.
fn without_final_e_and_l(word: &str) -> String {
    let mut word = word;
    if let Some(beginning) = word.strip_suffix('e') {
        let measure = measure(beginning);
        if measure > 1 || measure == 1 && !ends_in_short_syllable(beginning) {
            word = beginning;
        }
    }
    if word.ends_with("ll") && measure(&word[..word.len() - 1]) > 1 {
        word = &word[..word.len() - 1];
    }
    word.to_owned()
}

/// For each letter, whether it is a consonant: all but a, e, i, o, u, and a `y` after a consonant.
fn consonants(word: &str) -> impl Iterator<Item = bool> {
    let mut is_consonant = false;
    word.bytes().map(move |letter| {
        is_consonant = match letter {
            b'a' | b'e' | b'i' | b'o' | b'u' => false,
            b'y' => !is_consonant,
            _ => true,
        };
        is_consonant
    })
}

/// Porter's measure: how often a consonant follows a vowel, which is about the number of syllables.
fn measure(word: &str) -> usize {
    let consonants: Vec<bool> = consonants(word).collect();
    consonants.windows(2).filter(|pair| !pair[0] && pair[1]).count()
}

fn has_vowel(word: &str) -> bool {
    consonants(word).any(|is_consonant| !is_consonant)
}

fn ends_in_double_consonant(word: &str) -> bool {
    let is_double = matches!(word.as_bytes(), [.., a, b] if a == b);
    is_double && consonants(word).last() == Some(true)
}

/// Whether a word ends consonant, vowel, consonant, the last being none of w, x, y: `hop`, and not `snow`.
///
/// NLTK: or is a vowel and a consonant.
fn ends_in_short_syllable(word: &str) -> bool {
    let consonants: Vec<bool> = consonants(word).collect();
    match consonants[..] {
        [false, true] => true,
        [.., true, false, true] => !word.ends_with(['w', 'x', 'y']),
        _ => false,
    }
}
