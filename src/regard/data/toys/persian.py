"""Persian: شیر is milk, a lion and a tap, and only its neighbours say which (L5).

A word is hidden, and the line around it says what it was: where one drinks it may be tea, where it hunts a
wolf, where it drips a pipe. A model that learns this must keep the three meanings of شیر apart, though the
word looks the same each time. The sentences of `regard senses` are in no split.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from random import Random

from regard.data.example import Line
from regard.data.toys.toy import Toy

WORD = "شیر"
# What `regard senses` asks about, by meaning: in no split of this toy.
MEANINGS: Mapping[str, tuple[str, ...]] = {
    "milk": (
        "من هر صبح یک لیوان شیر می‌نوشم.",
        "مادر برای کودک شیر گرم کرد.",
        "این پنیر از شیر گاو درست شده است.",
        "شیر را در یخچال بگذار تا ترش نشود.",
        "قهوه را با شیر و شکر دوست دارم.",
        "بچه گربه ظرف شیر را لیسید.",
    ),
    "lion": (
        "شیر سلطان جنگل است.",
        "شیر به گله آهوها حمله کرد.",
        "در باغ وحش یک شیر پیر دیدیم.",
        "غرش شیر همه حیوانات را ترساند.",
        "شیر ماده برای توله‌هایش شکار می‌کند.",
        "شکارچی از شیر زخمی فرار کرد.",
    ),
    "tap": (
        "شیر آب را ببند.",
        "شیر آشپزخانه چکه می‌کند.",
        "لوله‌کش شیر خراب حمام را عوض کرد.",
        "شیر گاز را پیش از سفر ببندید.",
        "از شیر حیاط آب نمی‌آید.",
        "شیر دستشویی را محکم نبند.",
    ),
}
SHARE = 0.6  # of the lines are about شیر; in the others another word of the same sense stands in its place
# Who, and how the verb ends for them: `~` in the present, `^` in the past.
PEOPLE = (
    *(("من", "م", "م"), ("ما", "یم", "یم"), ("مادر", "د", ""), ("پدر", "د", "")),
    *(("خواهرم", "د", ""), ("پزشک", "د", ""), ("مهمان‌ها", "ند", "ند"), ("کودکان", "ند", "ند")),
)
# A sense: the words that may stand in the place of شیر, lines, and what may stand in the gaps of a line.
# `{x}` is that place, `{شیر}` one that is always شیر, and `{who}` one of the people.
MILK = (
    ("چای", "آب", "دوغ", "شربت"),
    (
        "{who} هر {when} یک {cup} {x} می‌نوش~.",
        "{who} یک {cup} {x} {taste} نوشید^.",
        "{who} برای {whom} {x} {warm} کرد^.",
        "{who} {x} را از {shop} خرید^.",
        "{who} {cup} {x} را روی میز گذاشت^.",
        "این {cheese} از {شیر} {cow} درست شده است.",
        "{cheese} را از {شیر} {cow} درست می‌کنند.",
        "{x} را در {cold} بگذار تا {spoilt} نشود.",
        "این {x} {taste} است و {spoilt} نشده است.",
        "{coffee} را با {x} و {sugar} دوست دارم.",
        "{who} {coffee} را با {x} و {sugar} می‌نوش~.",
        "{kitten} ظرف {x} را {licked}.",
        "{kitten} {cup} {x} را {licked}.",
    ),
    {
        "when": ("صبح", "شب", "روز", "عصر"),
        "cup": ("لیوان", "فنجان", "کاسه", "ظرف"),
        "taste": ("گرم", "سرد", "تازه", "شیرین"),
        "warm": ("گرم", "سرد", "شیرین"),
        "whom": ("کودک", "بیمار", "بچه گربه", "نوزاد"),
        "shop": ("بقالی", "بازار", "مغازه", "روستا"),
        "cheese": ("پنیر", "ماست", "کره", "خامه", "بستنی"),
        "cow": ("گاو", "گوسفند", "بز"),
        "cold": ("یخچال", "سایه", "آشپزخانه"),
        "spoilt": ("ترش", "خراب"),
        "coffee": ("قهوه", "کاکائو", "چای"),
        "sugar": ("شکر", "عسل", "دارچین"),
        "kitten": ("بچه گربه", "گربه", "توله سگ", "گوساله"),
        "licked": ("لیسید", "ریخت", "خالی کرد"),
    },
)
LION = (
    ("پلنگ", "ببر", "گرگ", "خرس"),
    (
        "{x} {king} {wood} است.",
        "{x} به {herd} {prey} حمله کرد.",
        "{x} {prey} را {caught}.",
        "در {zoo} یک {x} {fierce} دید^.",
        "{who} در {zoo} یک {x} {fierce} دید^.",
        "غرش {x} همه {beasts} را ترساند.",
        "{who} از غرش {x} ترسید^.",
        "{x} {female} برای {cubs} شکار می‌کند.",
        "{x} {female} با {cubs} در {wood} است.",
        "{hunter} از {x} {fierce} فرار کرد.",
        "{x} {fierce} در {wood} به دنبال {prey} است.",
        "یال {شیر} {fierce} بلند است.",
    ),
    {
        "king": ("سلطان", "پادشاه", "فرمانروای"),
        "wood": ("جنگل", "دشت", "کوهستان", "بیشه"),
        "herd": ("گله", "دسته"),
        "prey": ("آهوها", "گورخرها", "گوزن‌ها", "گوسفندها"),
        "caught": ("گرفت", "شکار کرد", "دنبال کرد", "خورد"),
        "zoo": ("باغ وحش", "جنگل", "سیرک", "دشت"),
        "fierce": ("پیر", "زخمی", "گرسنه", "خشمگین", "جوان"),
        "beasts": ("حیوانات", "پرندگان", "میمون‌ها", "آهوها"),
        "female": ("ماده", "نر", "پیر"),
        "cubs": ("توله‌هایش", "بچه‌هایش"),
        "hunter": ("شکارچی", "آهو", "نگهبان", "گورخر", "میمون"),
    },
)
TAP = (
    ("لوله", "پنجره", "کولر", "دوش"),
    (
        "{شیر} {gas} را {close}.",
        "{x} {room} {drips}.",
        "{x} {broken} {room} را {close}.",
        "{plumber} {x} {broken} {room} را {mended}.",
        "{plumber} {x} {room} را {mended}.",
        "{شیر} {gas} را پیش از {before} ببندید.",
        "{x} {room} را پیش از {before} {close}.",
        "از {x} {room} {gas} {comes}.",
        "از {شیر} {room} {gas} {hot} {comes}.",
        "{x} {room} را {tight} {close}.",
        "{x} {room} {broken} است.",
    ),
    {
        "gas": ("آب", "گاز"),
        "close": ("ببند", "باز کن", "نبند", "ببندید"),
        "room": ("آشپزخانه", "حمام", "حیاط", "دستشویی", "باغچه"),
        "drips": ("چکه می‌کند", "خراب است", "باز است", "بسته است"),
        "broken": ("خراب", "قدیمی", "شکسته", "بسته"),
        "plumber": ("لوله‌کش", "تعمیرکار", "پدر", "همسایه"),
        "mended": ("عوض کرد", "باز کرد", "تعمیر کرد", "بست"),
        "before": ("سفر", "خواب", "تعمیر"),
        "comes": ("نمی‌آید", "می‌آید"),
        "hot": ("گرم", "سرد", "داغ"),
        "tight": ("محکم", "آرام", "زود"),
    },
)
_GAP = re.compile(r"\{(.+?)\}")
_ASKED = frozenset[str]().union(*MEANINGS.values())


def _draw(generator: Random) -> Line:
    others, lines, gaps = generator.choice((MILK, LION, TAP))
    word = WORD if generator.random() < SHARE else generator.choice(others)
    who, present, past = generator.choice(PEOPLE)
    line = generator.choice(lines)
    if "{who}" not in line:
        present, past = "یم", "یم"  # ours: the verb says it alone
    chosen = {"x": word, WORD: WORD, "who": who}

    def filled(gap: re.Match[str]) -> str:
        name = gap[1]
        if name not in chosen:
            chosen[name] = generator.choice(gaps[name])
        return chosen[name]

    text = _GAP.sub(filled, line).replace("~", present).replace("^", past)
    return _draw(generator) if text in _ASKED else Line(text)


PERSIAN = Toy(
    name="persian",
    title="one Persian word with three meanings",
    story="شیر is milk, a lion and a tap: a hidden word is told by its neighbours, and so are its meanings.",
    probe=Line("شیر پیر در جنگل به دنبال آهوها است."),
    draw=_draw,
)
