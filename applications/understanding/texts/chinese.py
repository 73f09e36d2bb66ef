"""Writes numbers in Chinese texts out in characters, as UltraEval-Audio's normaliser does, and drops punctuation.

Dates, money, telephone numbers, fractions, percentages, counted and plain numbers. Full-width forms, letter case,
fillers and 儿 stay. Rules after the observed behaviour of the published normaliser; numbers of four digits or more that
nothing counts are read digit by digit, as there (``1200`` is 一二零零, ``1200元`` is 一千二百元).
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_DIGITS: Final = "零一二三四五六七八九"
_UNITS: Final = ("", "十", "百", "千")
_GROUPS: Final = ("", "万", "亿", "兆")
_WITHOUT_ZERO: Final = 1000
"""Least group of four digits that no 零 stands before."""
_LONGEST_CARDINAL: Final = 16
"""Digits of the largest number with units, below 10 000 兆."""
_MEASURES: Final = re.split(
    r"\s+",
    "千克 毫克 微克 公斤 千米 分米 厘米 毫米 公里 平方 立方 美元 日元 英镑 欧元 港币 人民币 韩元 澳元 卢布 泰铢 "
    "亿 万 千 百 元 块 角 毛 分 个 只 支 张 条 件 位 名 人 本 页 家 户 层 头 匹 座 场 次 回 首 部 台 辆 架 艘 颗 "
    "棵 朵 粒 片 面 块 根 道 幢 栋 间 所 段 句 篇 封 幅 双 对 副 套 组 群 队 批 堆 箱 盒 包 袋 瓶 杯 碗 盘 桶 罐 壶 "
    "米 尺 寸 丈 里 克 斤 两 吨 升 年 月 日 天 周 时 刻 秒 岁 代 世 季 度 倍 种 样 口 手 脚 站 届 期 项 步 排 行 点",
)
"""Measure words, units and currencies, behind which a number of any length is read as a quantity."""
_MEASURE: Final = "|".join(sorted(set(_MEASURES), key=lambda word: (-len(word), word)))
_PAIR: Final = re.compile(r"(?<![零十])二(?=[百千万亿兆])")
"""What the published normaliser writes 两 for."""
_NUMBER: Final = r"[0-9]+(?:\.[0-9]+)?"
_ALONE: Final = r"(?<![0-9.])"
_RULES: Final = (
    (re.compile(rf"{_ALONE}([089][0-9]|(?:19|20)[0-9]{{2}})(?=年)"), lambda found: digits(found.group())),
    # mobile numbers of the mainland have 11 digits from 13 to 19 on, others an area code of three or four from 0 on
    (re.compile(r"(?<![0-9])(?:\+?86 ?)?1[3-9][0-9]{9}(?![0-9])"), lambda found: digits(found.group())),
    (re.compile(r"(?<![0-9])0[0-9]{2,3}-?[1-9][0-9]{6,7}(?![0-9])"), lambda found: digits(found.group())),
    (
        re.compile(r"(?<![0-9/.])([0-9]{1,16})/([0-9]{1,16})(?![0-9/.])"),
        lambda found: f"{cardinal(found.group(2))}分之{cardinal(found.group(1))}",
    ),
    (re.compile(rf"({_NUMBER})[%％]"), lambda found: f"百分之{cardinal(found.group(1))}"),
    (re.compile(rf"{_NUMBER}(?=[多余几]?(?:{_MEASURE}))"), lambda found: cardinal(found.group())),
    (re.compile(r"(?<![0-9.])[0-9]{4,}(?![0-9]*\.[0-9])"), lambda found: digits(found.group())),
    (re.compile(_NUMBER), lambda found: cardinal(found.group())),
)


def written_out(text: str) -> str:
    """Return a text with its numbers in Chinese characters, spaces for punctuation and symbols, and runs joined."""
    for pattern, write in _RULES:
        text = pattern.sub(write, text)
    kept = (" " if unicodedata.category(letter)[0] == "P" or letter in "$+=<>|~^`￥" else letter for letter in text)
    return " ".join("".join(kept).split())


def digits(number: str) -> str:
    """Return a number digit by digit: ``2024`` is 二零二四. Other signs are left out."""
    return "".join(_DIGITS[int(sign)] for sign in number if sign in "0123456789")


def cardinal(number: str) -> str:
    """Return a decimal number as it is read: ``35.5`` is 三十五点五, ``105`` 一百零五, ``10`` 十, ``200`` 两百.

    Beyond 16 digits, and with a leading zero in front of others, it is read digit by digit.
    """
    whole, point, decimals = number.partition(".")
    plain = len(whole) > _LONGEST_CARDINAL or (len(whole) > 1 and whole.startswith("0"))
    return (digits(whole) if plain else _whole(int(whole))) + (f"点{digits(decimals)}" if point else "")


def _whole(number: int) -> str:
    if number == 0:
        return _DIGITS[0]
    said = ""
    for place in range(len(_GROUPS) - 1, -1, -1):
        group = number // 10_000**place % 10_000
        if not group:
            continue
        below = said and (group < _WITHOUT_ZERO or not (number // 10_000 ** (place + 1)) % 10_000)
        said += (_DIGITS[0] if below else "") + _below_ten_thousand(group) + _GROUPS[place]
    return _PAIR.sub("两", said.removeprefix("一") if said.startswith("一十") else said)


def _below_ten_thousand(number: int) -> str:
    said = ""
    for place in range(3, -1, -1):
        digit = number // 10**place % 10
        if not digit:
            continue
        if said and not number // 10 ** (place + 1) % 10:
            said += _DIGITS[0]
        said += _DIGITS[digit] + _UNITS[place]
    return said
