"""Which language a text is in, and which one a person means by `FR`, `french` or `fra`.

The one idea: small words give a language away, and where there are none, letters and endings do. Every sign
counts by how much it speaks for one language against the others; a text with no sign is in none. English,
German and French are told apart; of others it is only recognised that they are none of these.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from regard.errors import UsageError

NAMES = {"en": "English", "de": "German", "fr": "French"}
_OTHERS = {
    "es": "Spanish",
    "it": "Italian",
    "pt": "Portuguese",
    "nl": "Dutch",
    "sv": "Swedish",
    "da": "Danish or Norwegian",
    "pl": "Polish",
    "cs": "Czech",
    "ro": "Romanian",
    "fi": "Finnish",
    "hu": "Hungarian",
    "tr": "Turkish",
}
# What else people write for the code of a language.
_SPELLINGS = {
    "en": "eng english anglais englisch inglés",
    "de": "deu ger german deutsch allemand alemán",
    "fr": "fra fre french français francais französisch francés",
    "es": "spa spanish español espanol castellano",
    "it": "ita italian italiano",
    "pt": "por portuguese português",
    "nl": "nld dut dutch nederlands",
    "sv": "swe swedish svenska",
    "da": "dan danish dansk",
    "pl": "pol polish polski",
    "cs": "ces cze czech čeština",
    "ro": "ron rum romanian română",
    "fi": "fin finnish suomi",
    "hu": "hun hungarian magyar",
    "tr": "tur turkish türkçe",
    "ru": "rus russian русский",
    "uk": "ukr ukrainian",
    "zh": "zho chi chinese 中文",
    "ja": "jpn japanese 日本語",
    "ar": "ara arabic",
}

_WORDS = {
    "en": """
        a the of and to in is that it he was for on are with as his they at be this from have or by one
        had not but what all were when we there can an your which their said if will each about how up
        out them then she many some so these would other into has more her two like him see time could
        no make than been its who now my made over did down only way find use may long little very after
        our just where most know get through back before also around please open file i you do does
        don't isn't
    """,
    "de": """
        der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an
        werden aus er hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum war
        haben nur oder aber vor zur bis mehr durch man sein wurde sei ich du wir ihr mein dein kein
        keine wenn kann schon hier diese dieser dieses ja nein bitte datei sehr gut was wer wo warum
    """,
    "fr": """
        le la les de des du et un une en est que qui dans pour pas sur au avec ce il elle sont plus par
        je ne se ou mais comme nous vous ils elles cette ces son sa ses leur leurs être avoir fait aussi
        tout tous toute bien deux même où si a été très sans peut aux mon ma mes ton ta tes votre
        notre quand on c'est l'on n'est j'ai qu'il fichier oui non merci
    """,
}
_SIGNS = {
    "en": re.compile(r"th|wh|ight|ing\b|ould|tion\b|ly\b|'(?:s|t|re|ll|ve)\b|sh|oo"),
    "de": re.compile(r"[äöüß]|sch|ung\b|lich|keit\b|heit\b|ch\b|[^aeiou]en\b|ei|ck|tz|zw|pf|isch"),
    "fr": re.compile(
        r"[éèêëàâçîïôûùœ]|\b[ldjnmtscq]u?['’]|eux?\b|oi|ai[st]\b|ez\b|ou|qu|tion\b|ette|ille"
    ),
}
# Small words of other languages that are no words of English, German or French, and letters these have not.
_STRANGE_WORDS = {
    "es": """
        el los las y qué por para con está estás están estoy más pero muy hay hoy hola gracias buenos buenas
        cómo dónde cuándo usted ustedes nosotros porque también siempre nunca ahora aquí eso esto una uno del
        hasta desde entre sobre tengo tiene quiero puede señor señora adiós año años día días
    """,
    "it": """
        il lo gli di che è non sono una uno degli della delle dello nel nella con perché questo questa quello
        anche molto ciao grazie buongiorno sei siamo hanno ho hai voglio posso dove quando oggi domani
        sempre ancora adesso qui stai sta bene così più può
    """,
    "pt": """
        os não uma um com é você vocês está estão estou muito obrigado obrigada olá bom dia boa noite isso
        este esta ele ela eles nós são mais mas também quando onde porque hoje agora aqui fazer tem tenho
        quero pode em ao aos às pelo pela
    """,
    "nl": """
        het een van niet zijn hij zij wij jij jullie hoe gaat dat deze voor maar ook naar heeft hebben kunnen
        goedemorgen dank wel waar wanneer vandaag nooit altijd omdat mijn jouw onze geen veel
    """,
    "sv": """
        och att det är inte jag ett som på för med har hej hur mår du ni de från till eller också mycket
        tack idag aldrig alltid vad när här där varför
    """,
    "da": """
        og er ikke jeg et som på til det af har hej hvordan går du fra eller også meget tak hvad hvor når
        aldrig altid hvorfor dag
    """,
    "pl": """
        i w na z się nie jest to że jak co czy ale tak dzień dobry dziękuję proszę cześć gdzie kiedy dlaczego
        bardzo dzisiaj jestem są mam może tylko już jeszcze przez dla
    """,
    "cs": """
        a v na se je že jsem jsi jsou není to jak co ale dobrý den děkuji prosím ahoj kde kdy proč velmi dnes
        mám může také už ještě pro při nebo který která které
    """,
    "ro": """
        și în este nu că mai cu pe un o la sunt ești bună ziua mulțumesc unde când de ce foarte astăzi pentru
        dar sau acest această
    """,
    "fi": """
        ja on ei että se hän minä sinä olen olet ovat mitä missä milloin miksi kuinka hyvää päivää kiitos
        tänään mutta myös hyvin tämä
    """,
    "hu": """
        az és hogy nem egy van én te vagyok vagy mi hol mikor miért jó napot köszönöm ma nagyon csak már még
        szia
    """,
    "tr": """
        ve bir bu için çok değil ben sen ne nasıl nerede merhaba teşekkürler bugün evet hayır ama daha gibi
        var yok
    """,
}
_STRANGE_LETTERS = {
    "es": "ñ¿¡áíóú",
    "it": "òì",
    "pt": "ãõáíóú",
    "sv": "å",
    "da": "øå",
    "pl": "ąęłńśźż",
    "cs": "ěřůčšžáíýú",
    "ro": "ășțş",
    "hu": "őűáíóú",
    "tr": "ğışİ",
}
_SCRIPTS = {
    "CJK": "Chinese or Japanese",
    "HANGUL": "Korean",
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
}
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_LONGEST = 4_000  # characters that are looked at
# What is in no language: `com` is a word of Portuguese, and the `am` of `10 am` one of German.
_NO_WORDS = re.compile(r"(?<!\S)\S*(?:@|://)\S*|\bwww\.\S*|\.(?:com|org|net)\b|\d\s*[ap]m\b")


def _lowered(text: str) -> str:
    return _NO_WORDS.sub(" ", text[:_LONGEST].lower())


def scores(text: str) -> dict[str, float]:
    """How much speaks for each language: a small word as much as three signs."""
    lowered = _lowered(text).replace("’", "'")
    totals = dict.fromkeys(NAMES, 0.0)
    for word in _WORD.findall(lowered):
        owners = [name for name, known in _KNOWN.items() if word in known]
        for name in owners:
            totals[name] += 3.0 / len(owners)
    for name, signs in _SIGNS.items():
        totals[name] += len(signs.findall(lowered))
    return totals


def guess(text: str) -> str | None:
    """The language of a text, or None where nothing speaks for one more than for another."""
    ranked = sorted(scores(text).items(), key=lambda item: -item[1])
    (best, most), (_, second) = ranked[:2]
    return best if most > second else None


def code_of(name: str, known: Sequence[str]) -> str | None:
    """The code among those `known` that somebody means by `FR`, `french`, `fra`, `fr-CA` or `français`."""
    lowered = name.strip().lower()
    codes = {code.lower(): code for code in known}
    spelled = (code for code, words in _SPELLINGS.items() if lowered in words.split())
    for candidate in (lowered, re.split(r"[-_]", lowered)[0], *spelled):
        if candidate in codes:
            return codes[candidate]
    return None


def chosen(name: str, known: Sequence[str], where: str = "to") -> str:
    """The code of a language that the model knows, or an error that lists those."""
    code = code_of(str(name), known)
    if code is not None:
        return code
    remedy = f"it knows {_listed(known)}" if known else "leave it out: it has one direction"
    what = f"this model does not translate {'from' if where == 'from' else 'into'} '{name}'"
    raise UsageError(what, f'{where}="{name}"', remedy)


def target_of(text: str, to: str | None, known: Sequence[str]) -> str | None:
    """The language to translate a text into: the one named, or English from another; None if there is one."""
    if to is not None:
        return chosen(to, known)
    own = guess(text)
    if not known or (own not in (None, "en") and "en" in known):
        return "en" if known else None
    others = [code for code in known if code != own]
    remedy = f'say to="{others[0]}"; this model knows {_listed(others)}'
    raise UsageError("into which language?", "to=None", remedy)


def _listed(codes: Sequence[str]) -> str:
    return ", ".join(f"{code} ({NAMES[code]})" if code in NAMES else code for code in codes)


def stranger(text: str) -> str | None:
    """What a text is written in if that is plainly none of English, German and French, in words."""
    script = _script(text[:_LONGEST])
    if script is not None:
        return f"{script} script"
    lowered = _lowered(text)
    words = Counter(_WORD.findall(lowered.replace("’", "'")))
    ours = frozenset().union(*_KNOWN.values())
    totals = {
        name: sum(min(2, words[word]) for word in strange - ours if word not in _LETTERS)
        + sum(min(2, lowered.count(letter)) for letter in _STRANGE_LETTERS.get(name, ""))
        for name, strange in _STRANGE.items()
    }
    best = max(totals, key=lambda name: totals[name])
    is_word = words.total() == 1 and len(next(iter(words))) > 3
    needed = 1 if is_word else max(2, max(scores(text).values()) / 2)
    return _OTHERS[best] if totals[best] >= needed else None


def doubt(text: str, to: str | None, reads: Sequence[str]) -> str | None:
    """Why an answer to this text would be a guess: it is in no language that the model reads.

    Or, of a translation, in the language that it goes `to`. None where there is no doubt; where nobody
    knows what the model reads, or that is a language that is not told apart here, only `to` is doubted.
    """
    ranked = sorted(scores(text).items(), key=lambda item: -item[1])
    (best, most), (_, second) = ranked[:2]
    is_plain = most >= 3 and most > 2 * second
    if reads and set(reads) <= NAMES.keys():
        strange = stranger(text) or (
            NAMES[best] if is_plain and most > 3 and best not in reads else None
        )
        if strange is not None:
            *some, last = (NAMES[code] for code in reads)
            names = f"{', '.join(some)} and {last}" if some else last
            return f"this looks like {strange}, and the model knows {names}"
    return f"this looks like {NAMES[best]} already" if is_plain and best == to else None


def _script(text: str) -> str | None:
    """The script of most letters where that is not the Latin one."""
    letters = (character for character in text if character.isalpha())
    names = Counter(unicodedata.name(character, "LATIN").split()[0] for character in letters)
    name, count = names.most_common(1)[0] if names else ("LATIN", 0)
    if name == "LATIN" or 2 * count < names.total():
        return None
    return _SCRIPTS.get(name, name.title())


_STRANGE = {name: frozenset(words.split()) for name, words in _STRANGE_WORDS.items()}
_KNOWN = {name: frozenset(words.split()) for name, words in _WORDS.items()}
