"""The palettes as a style sheet: light, dark by the system's choice, and either by the visitor's."""

from __future__ import annotations

from codec_superb.web.theme import DARK, LIGHT, Palette


def colour_rules() -> str:
    """Write the custom properties of both palettes; paper is always light."""
    light, dark = _declarations(LIGHT), _declarations(DARK)
    return (
        f":root {{ {light} }}\n"
        f'@media screen and (prefers-color-scheme: dark) {{ :root:not([data-theme="light"]) {{ {dark} }} }}\n'
        f'@media screen {{ :root[data-theme="dark"] {{ {dark} }} }}\n'
    )


def _declarations(palette: Palette) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in palette.variables().items())
