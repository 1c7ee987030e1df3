"""Stems of English words by NLTK's Porter stemmer in its default mode: at least one for each rule, taken and refused.

    python make_stems.py stems_nltk.json

Writes `stems`, word to stem. The words are those below, in their order.

Packages: nltk==3.10.4.
"""

import argparse
import json

import nltk
from nltk.stem.porter import PorterStemmer

WORDS = {
    "irregular": "sky skies dying lying tying news innings inning outings outing cannings canning howe proceed exceed"
    " succeed proceeds exceeded succeeding",
    "short, digits": "a as is by ox was has its bus gas yes 1990s 2nd 10th 3ds v2s 007",
    "step 1a": "caresses ponies ties caress cats dies pies skis flies tries series species glass bias status analysis"
    " houses lenses",
    "step 1b, eed": "feed agreed bleed freed need exceedeed guaranteed decreed weed",
    "step 1b, ied": "died lied tied spied cried applied studied denied",
    "step 1b, ed and ing": "plastered bled motoring sing king red shed thing being seeing going doing lied ed ing bring"
    " spring string used owed",
    "step 1b, what is left": "conflated troubled sized hopping tanned falling hissing fizzed failing filing hoped hoping"
    " mapped adding rolled passing buzzed created enabling realizing making voted snowing boxed played eating aging"
    " aided oozed egged",
    "step 1c": "happy sky enjoy by spy fly try day money only city employ ugly buy mystery syzygy y yyy",
    "step 2": "relational conditional rational valenci hesitanci digitizer conformabli radicalli differentli vileli"
    " analogousli vietnamization predication operator feudalism decisiveness hopefulness callousness formaliti"
    " sensitiviti sensibiliti",
    "step 2, as written": "national traditional emotional frequency fluency pregnancy vacancy organizer terribly"
    " possibly nobly finally really ally totally apparently recently gently nicely lately famously organization"
    " civilization information nation station education creator senator actor realism journalism massiveness"
    " forgiveness usefulness seriousness business reality formality activity nativity ability possibility mobility"
    " fully carefully hopefully beautifully geology biology theology logic apology analogy yogi logi",
    "step 2 twice": "radically critically basically specifically physically economically automatically accidentally"
    " originally personally usually equally globally",
    "step 3": "triplicate formative formalize electriciti electrical hopeful goodness indicate duplicate native"
    " creative normalize specialize realize publicity musical logical medical useful lawful beautiful awful illness"
    " darkness witness",
    "step 4": "revival allowance inference airliner gyroscopic adjustable defensible irritant replacement adjustment"
    " dependent adoption homologou communism activate angulariti homologous effective bowdlerize",
    "step 4, refused": "rival dance fence water comic table bible plant cement moment event union champion region"
    " decision million you prism plate deities famous five prize onion opinion religion criterion dominion",
    "step 4, as written": "general hospital performance conference computer scientific reasonable responsible"
    " significant management development government different president connection expression discussion organism"
    " mechanism communicate celebrities dangerous expensive recognize",
    "step 5a": "probate rate cease are eve ice ore use late line force change because achieve article ore age axe owe"
    " rye tree the me lee",
    "step 5b": "controll roll controlled controlling installs enroll install well all ball excell",
    "y as a vowel": "syllables rhythms typing lynched yearly yellow byte eyed dyed myth played keyboard toying",
    "plain": "university population temperature language american following including through between another"
    " question answered retrieved contexts faithfulness evaluation metrics embedding embeddings generated sentences"
    " similarity relevancy mathematics statistics approximately particularly",
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    args = parser.parse_args()
    stemmer = PorterStemmer()
    stems = {word: stemmer.stem(word) for word in " ".join(WORDS.values()).split()}
    with open(args.out, "w", encoding="utf-8") as file:
        json.dump({"source": f"nltk {nltk.__version__}", "stems": stems}, file, indent=1)
        file.write("\n")
    print(len(stems), "words")


if __name__ == "__main__":
    main()
