"""What language a text is in, as far as finding its sentences depends on it, and which full stops end none.

A guess, cheap and deterministic: the script decides where it can; among languages in Latin script the one whose function words and
letters occur most in the first 2,000 characters; English where none does or where it ties. Wrong guesses cost little: what most often
goes wrong, abbreviations and dates, is looked after for every language alike.
"""

from __future__ import annotations

import re

_SAMPLE = 2_000
_TAIL = 40  # Characters before a boundary that are looked at.

_SCRIPTS = (
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("ko", re.compile("[\uac00-\ud7af]")),
    ("zh", re.compile("[\u3400-\u9fff]")),
    ("uk", re.compile("[іїєґІЇЄҐ]")),
    ("ru", re.compile("[\u0400-\u04ff]")),
    ("el", re.compile("[\u0370-\u03ff]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("he", re.compile("[\u0590-\u05ff]")),
    ("hi", re.compile("[\u0900-\u097f]")),
)
_FUNCTION_WORDS = {
    "en": "the a an and of to is are was were i you he she it they we in on at for with that this have has my not but",
    "de": "der die das den dem des ein eine einen einem einer und ist sind war ich du er sie es wir ihr im am vom zum zur um mit"
    " für auf von nicht auch wird hat habe bei nach aus oder bzw mein meine",
    "fr": "le la les l un une des du de et est sont je j tu il elle nous vous ils au aux en dans pour avec que qui ne pas sur par ce"
    " cette mon ma à était",
    "es": "el la los las un una unos del de y es son yo tú él ella en con por para que no al su mi se está era lo desde vivo vive",
    "it": "il lo la i gli le un una del della dei di e è sono io tu lui lei in con per che non nel nella al alla mi si ho ha",
    "pt": "o a os as um uma do da dos das de e é são eu você ele ela em no na nos nas com por para que não ao meu minha se foi",
    "nl": "de het een en is zijn was ik jij je hij zij we wij in op van voor met dat die niet ook aan bij naar heeft heb mijn te",
}
_LETTERS = {"de": "ßäöü", "fr": "èêœçùîâ", "es": "ñ¿¡", "it": "òìù", "pt": "ãõ"}
_WORD = re.compile(r"[^\W\d_]+")
_VOTES: dict[str, list[str]] = {}
for _language, _listed in _FUNCTION_WORDS.items():
    for _function_word in _listed.split():
        _VOTES.setdefault(_function_word, []).append(_language)

# Always with what follows: titles, kinds of street, place and saint before their name.
_BEFORE_A_NAME = (
    "av|avda|avd|bd|boul|blvd|pl|pza|plza|sta|sto|ste|st|mme|mlle|mr|mrs|ms|dr|dra|prof|sr|sra|srta|sig|dott|ing|hr|fr|ul|vul"
    "|ул|вул|просп|пр|пл|пер|бул|наб|обл|им|гр|проф|тов"
)
# With what follows unless that looks like the beginning of a sentence: a capital letter.
_BEFORE_MORE = (
    "approx|ca|resp|incl|excl|bzw|zzgl|inkl|exkl|ggf|evtl|vgl|usw|str|nr|hausnr|tel|tél|abs|kap|bd|jh|geb|gest|min|max|env|num|núm"
    "|pág|pag|art|fig|vol|chap|sec|ex|etc|jan|janv|feb|febr|févr|fév|mär|mar|apr|avr|abr|juil|jul|aug|ago|sep|sept|set|oct|okt|out"
    "|ott|nov|dec|dez|dic|déc|стр|см|тыс|млн|млрд|руб|янв|февр|апр|авг|сент|окт|нояб|дек|н|д|кв|к"
)
_NAME_FOLLOWS = re.compile(rf"(?:^|[^\w.])(?:{_BEFORE_A_NAME})\.\s*$", re.IGNORECASE)
_ONE_LETTER = {
    "ru": re.compile(r"(?:^|[^\w.])(?<!\d )(?<!\d)[гсд]\.\s*$"),
    "pt": re.compile(r"(?:^|[^\w.])R\.\s*$"),
    "fr": re.compile(r"(?:^|[^\w.])M\.\s*$"),
    "es": re.compile(r"(?:^|[^\w.])[cC]/?\.\s*$"),
}
_MORE_FOLLOWS = re.compile(rf"(?:^|[^\w.])(?:{_BEFORE_MORE}|\w*str|\w*nr)\.\s*$", re.IGNORECASE)
_NUMBER = re.compile(r"(?:^|[^\w.,])\d{1,3}\.\s*$")
_ROMAN = re.compile(r"(?:^|\s)[IVXLC]{1,7}\.\s*$")
_GERMAN_ORDINAL = re.compile(
    r"(?:^|\s)(?:am|im|vom|zum|zur|beim|der|die|das|dem|den|des|ein\w{0,2}|[mds]eine?\w?|ihre?\w?|unser\w{0,2}|jede\w?)\s+\d{1,3}\.\s*$",
    re.IGNORECASE,
)
_AFTER_AN_ORDINAL = re.compile(
    r"(?:Januar|Jänner|Februar|März|Mai|Juni|Juli|Oktober|Dezember|Jahrhundert|Jahrtausend|Jh\b|Weltkrieg|Stock|Etage|Klasse|Platz"
    r"|Woche|Monat|Kapitel|Auflage|Geburtstag|Lebensjahr|Bezirk|Semester|Liga|Mal\b|Runde|Spieltag|Hochzeitstag)"
)
_GERMAN_MONTHS = re.compile(r"(?:April|August|September|November)\b")
_ENDS_A_QUOTATION = re.compile(r"[.!?…。！？][\"'”’“»«」』]\s*$")
_SAID = re.compile(
    r"(?:って|と(?!き|ころ|ても)|という|など|は|が|を|に|の|も|、|，)|[^\s，。！？、]{1,6}(?:说|說|道|问|問|答|喊|叫|写|寫)"
)


def language_of(text: str) -> str:
    """An ISO 639-1 code."""
    sample = text[:_SAMPLE]
    if not sample.isascii():
        letters = len(_WORD.findall(sample))
        for language, script in _SCRIPTS:
            # A foreign name in brackets does not make a text foreign; three letters for each word of the text are its script.
            found = sum(1 for _ in script.finditer(sample))
            if found and (language in {"ja", "ko", "zh", "uk"} or found >= letters) and found * 4 >= letters:
                return language
    votes = dict.fromkeys(_FUNCTION_WORDS, 0)
    for match in _WORD.finditer(sample):
        for language in _VOTES.get(match.group().lower(), ()):
            votes[language] += 1
    if not sample.isascii():
        for language, characters in _LETTERS.items():
            votes[language] += sum(sample.count(character) for character in characters)
    return max(votes, key=lambda language: votes[language])  # The first of equals: English stands first.


def goes_on(text: str, start: int, end: int, following: str, language: str) -> bool:
    """Whether the sentence of text[start:end] goes on in `following`, although something in it looked like its end."""
    tail = text[max(start, end - _TAIL) : end]
    stripped = tail.rstrip()
    if not following or not stripped:
        return False
    if stripped[-1] != ".":
        if not _ENDS_A_QUOTATION.search(tail) or len(tail) - len(stripped) > 1:
            return False
        return following[0].islower() or (language in {"ja", "zh"} and bool(_SAID.match(following)))
    return _stop_is_no_end(tail, following, language)


def _stop_is_no_end(tail: str, following: str, language: str) -> bool:
    if tail.rstrip()[-2:-1].isdigit():
        return bool(_NUMBER.search(tail)) and _is_ordinal(tail, following, language)
    if tail[-1].isspace() and _NAME_FOLLOWS.search(tail):
        return True
    one_letter = _ONE_LETTER.get(language)
    if one_letter and one_letter.search(tail):
        return True
    return not following[0].isupper() and bool(
        _MORE_FOLLOWS.search(tail) or (following[0].islower() and _ROMAN.search(tail))
    )


def _is_ordinal(tail: str, following: str, language: str) -> bool:
    if _AFTER_AN_ORDINAL.match(following):
        return True
    return language == "de" and (
        following[0].islower() or bool(_GERMAN_MONTHS.match(following) or _GERMAN_ORDINAL.search(tail))
    )
