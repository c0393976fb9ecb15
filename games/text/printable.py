"""Text as it may go to a terminal."""

import unicodedata


def safe(text: str) -> str:
    """Text with every control and formatting character but line breaks and tabs shown as a replacement character.

    Agents', games' and persons' words come from anywhere: escape sequences and reversed writing must not reach the
    terminal.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join([char if _shows(char) else "\N{REPLACEMENT CHARACTER}" for char in text])


def _shows(char: str) -> bool:
    return char in "\n\t" or unicodedata.category(char)[0] != "C"
