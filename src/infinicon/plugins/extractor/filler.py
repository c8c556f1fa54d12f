"""What says nothing on its own: acknowledgements, greetings, thanks, interjections, and the procedure words of radio.

The rule is a closed list. A sentence is filler when it has no letter and no digit; when it consists of the words and phrases of FILLER
only; when it is a greeting or thanks with one name ("Hi Caroline!", "Thanks, Jim."); or when a mail program wrote it ("Sent from my
iPhone"). The words of ANSWERS are not filler beside others, which they may turn into their opposite ("No. I like it."); a claim that
has nothing but them and filler says nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache

_MOST_WORDS = 8
_LONGEST_PHRASE = 4
_SHORT = 40  # Characters: no greeting with a name is longer.


def _phrases(text: str) -> frozenset[str]:
    return frozenset(phrase.strip() for phrase in text.replace("\n", "|").split("|") if phrase.strip())


FILLER = _phrases(
    """
    a|ah|aha|alright|alrighty|all right|aw|awesome|bye|cheers|cool|copied|copy|copy that|copy you|copy all|eh|er|erm|excellent|excuse me
    fine|gee|go ahead|good|good morning|good afternoon|good evening|good night|good day|good deal|good enough|good job|good show
    goodbye|good-bye|gosh|got it|got you|gotcha|great|great job|ha|haha|hahaha|hello|hey|hey there|hi|hi there|hm|hmm|hooray|huh|i copy
    i see|k|kay|lol|loud and clear|mark|mhm|mm|mmm|mm-hmm|my pleasure|nice|nice work|no problem|no worries|oh|oh boy|oh my|ok|okay|o.k
    oops|out|over|perfect|please|please do|pleasure|read you|reading you|rog|roger|roger that|say again|say again please|see you|see ya
    see you later|see you soon|so|so long|sorry|sounds good|sounds great|stand by|stand by one|stand by 1|standby|standing by|super
    take care|talk soon|talk to you soon|talk to you later|thank you|thank you very much|thank you so much|thank you sir|thanks
    thanks a lot|thanks so much|thanks again|thx|ty|uh|uh-huh|uh-oh|um|understand|understood|very good|very well|very fine|very nice
    okeydoke|okie dokie|real good|real fine|will do|here we go|there we go|there you go|right on|right-o|in work|we copy that|got that
    how are you|how are you doing|how's it going|how have you been|what's up|what's new|nice to see you|good to see you
    great to see you|good to hear from you|great to hear from you|long time no see|laughter|music|laughs
    we copy|welcome|well|well done|wilco|wonderful|wow|whoa|woah|yay|you bet|you know|you're welcome|you are welcome
    brb|afk|gtg|g2g|ttyl|np|yw|omg|lmao|rofl|tbh|idk|nvm|ikr|be right back|applause|inaudible|crosstalk|silence|pause
    ah oui|bien|bonjour|d'accord|merci|merci beaucoup|hallo|genau|danke|danke schön|vielen dank|hola|vale|gracias|obrigado|ciao
    好的|好|嗯|嗯嗯|哦|谢谢|謝謝|谢谢你|你好|您好|再见|再見|没问题|明白|明白了|知道了|收到|哈哈|はい|ええ|うん|そうですか|どうも|ありがとう
    ありがとうございます|こんにちは|おはよう|おはようございます|なるほど|了解|了解です|네|예|감사합니다|고마워|안녕하세요
    """
)
ANSWERS = _phrases(
    """
    absolutely|affirm|affirmative|affirmed|certainly|correct|definitely|exactly|indeed|i agree|nah|negative|no|no sir|no way|nope
    of course|right|sure|sure thing|that is correct|that is right|that's affirm|that's affirmative|that's correct|that's fine
    what|why|how|who|when|where|which|really|and|but|or|then|anyway|i understand|i got it|we got it
    that's good|that's great|that's negative|that's right|that's true|true|yeah|yep|yes|yes sir|yup|oui|non|ja|nein|sí|对|不|是的|不是
    """
)
_FUNCTION_WORDS = _phrases(
    """
    after|before|because|since|until|while|during|although|though|unless|if|whether|than|as|at|by|for|from|into|of|off|on|onto|to|upon
    with|without|about|above|across|against|along|among|around|behind|below|between|beyond|the|an|this|that|these|those|there|here
    he|she|they|we|you|i|him|them|is|are|was|were|be|been|am|do|does|did|has|have|had|would|should|could|not|also|just|too|very
    """
)
"""One or two words, all of these, are the rest of a sentence that stands elsewhere."""
_NOTHING = FILLER | ANSWERS
_LEFT_OVER = _NOTHING | _FUNCTION_WORDS
_SIGNATURE = re.compile(
    r"(?:sent from (?:my|outlook|mail|yahoo)\b.{0,30}|sent with \S{1,30}|get outlook for .{1,20}|von meinem .{1,20} gesendet"
    r"|envoyé de mon .{1,20}|enviado (?:desde|do) (?:mi|meu) .{1,20}|inviato da(?:l mio)? .{1,20})",
    re.IGNORECASE,
)

_WORD = re.compile(r"[^\W_]+(?:['’.\-][^\W_]+)*")
_TO_A_NAME = re.compile(
    r"(?:(?i:hey|hi|hello|bye|goodbye|welcome|thanks|thank you|cheers|good (?:morning|afternoon|evening|night)))"
    r"(?i: there| again| back| so much| a lot)?,? [A-Z][a-z]+[\s.,!]*"
)


def is_filler(sentence: str) -> bool:
    """Whether the sentence may be dropped, whatever stands beside it."""
    return _known(sentence) if len(sentence) <= _SHORT else _consists_of(sentence, FILLER)


@lru_cache(4_096)
def _known(sentence: str) -> bool:
    """The same few words make up most filler, and a hostile text holds a million of them."""
    return _consists_of(sentence, FILLER) or any(rule.fullmatch(sentence.strip()) for rule in (_TO_A_NAME, _SIGNATURE))


def says_nothing(claim: str) -> bool:
    """Whether there is nothing in it but filler, answers to a question that is not there, or one or two function words."""
    return _consists_of(claim, _NOTHING) or _consists_of(claim, _LEFT_OVER, most=2)


def _consists_of(text: str, phrases: frozenset[str], most: int = _MOST_WORDS) -> bool:
    words: list[str] = []
    for match in _WORD.finditer(text):
        words.append(match.group().casefold().replace("’", "'"))
        if len(words) > most:
            return False
    at = 0
    while at < len(words):
        step = next((n for n in range(_LONGEST_PHRASE, 0, -1) if " ".join(words[at : at + n]) in phrases), 0)
        if not step:
            return False
        at += min(step, len(words) - at)
    return True
