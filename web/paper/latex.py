"""A table as LaTeX: a ``tabular`` with booktabs' rules, to be read into a float of the paper's own."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from codec_superb.web.paper.columns import PaperColumn
from codec_superb.web.paper.table import Cell, PaperBlock, PaperTable

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\textbraceleft{}", "}": r"\textbraceright{}",
    "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': "''", "`": r"\textasciigrave{}",
    "−": "$-$", "–": r"\textendash{}", "—": r"\textemdash{}", "±": r"$\pm$", "×": r"$\times$", "≥": r"$\geq$",
    "≤": r"$\leq$", "¶": r"\P{}",
    "↑": r"$\uparrow$", "↓": r"$\downarrow$", "†": r"$^\dagger$", "‡": r"$^\ddagger$", "§": r"\S{}", "…": r"\ldots{}",
    "’": "'", "‘": "`", "“": "``", "”": "''", "µ": r"$\mu$", "α": r"$\alpha$", "\u00a0": "~",
}  # fmt: skip
"""What the characters become, in text of any font encoding: LaTeX's usual one, OT1, has no straight double quote.
Braces are words, since BibTeX counts them behind a backslash too."""


def latex_text(text: str) -> str:
    """Escape any text for LaTeX; control characters, which a name of a file may hold, become spaces."""
    # at the beginning of a row these two would be an argument of the line break before
    return f"{{{text[0]}}}{_escaped(text[1:])}" if text.startswith(("[", "*")) else _escaped(text)


def _escaped(text: str) -> str:
    letters = (" " if unicodedata.category(letter) in {"Cc", "Cf", "Cs", "Zl", "Zp"} else letter for letter in text)
    # two hyphens would become a dash
    # TeX's fonts have a ligature that makes two hyphens an en dash
    return "".join(_SPECIAL.get(letter, letter) for letter in letters).replace("--", "{-}{-}")


def latex_comment(text: str) -> str:
    """Write a text as one comment line."""
    return "% " + " ".join("".join(c if c.isprintable() else " " for c in text).split()) + "\n"


def latex_table(table: PaperTable, sources: Sequence[str] = ()) -> str:
    """Write the table; ``sources`` and the notes for the caption are comments before it."""
    spec = "".join("l" if column.is_text else "r" for column in table.columns)
    lines = [rf"\begin{{tabular}}{{@{{}}{spec}@{{}}}}", r"\toprule", *_heads(table.columns)]
    for block in table.blocks:
        lines.append(r"\midrule")
        if len(table.blocks) > 1:
            lines.append(rf"\multicolumn{{{len(spec)}}}{{@{{}}l}}{{\emph{{{latex_text(block.heading)}}}}} \\")
        lines += _rows(block)
    comments = ["needs \\usepackage{booktabs}", *sources, *(f"caption: {note}" for note in table.notes)]
    return "".join(map(latex_comment, comments)) + "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _heads(columns: Sequence[PaperColumn]) -> list[str]:
    """Write labels, and below them units with the direction that is better."""
    below = [latex_text(unit_of(column)) for column in columns]
    labels = " & ".join(_head(column) for column in columns) + r" \\"
    return [labels, " & ".join(below) + r" \\"] if any(below) else [labels]


def _head(column: PaperColumn) -> str:
    return latex_text(column.label)


def unit_of(column: PaperColumn) -> str:
    """Write the unit and an arrow to the better end."""
    if column.quantity is None:
        return column.unit
    return f"{column.unit} {'↑' if column.quantity.higher_is_better else '↓'}".strip()


def _rows(block: PaperBlock) -> list[str]:
    return [" & ".join(_cell(cell) for cell in row.cells) + r" \\" for row in block.rows]


def _cell(cell: Cell) -> str:
    text = latex_text(cell.value.text)
    if cell.mark:
        text = rf"\{'textbf' if cell.mark == 'best' else 'underline'}{{{text}}}"
    spread = cell.spread.replace("± ", "±")
    return text + latex_text(cell.note) + (rf" {{\scriptsize {_escaped(spread)}}}" if spread else "")
