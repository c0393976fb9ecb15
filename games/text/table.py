"""Which OpenSpiel games have words of their own; the others speak OpenSpiel's strings."""

from importlib import import_module
from typing import Any

from games.text.words import Words

TABLE: dict[str, str] = {
    "breakthrough": "games.text.boards:Breakthrough",
    "connect_four": "games.text.lines:ConnectFour",
    "goofspiel": "games.text.bids:Goofspiel",
    "hex": "games.text.boards:Hex",
    "kuhn_poker": "games.text.poker:Kuhn",
    "leduc_poker": "games.text.poker:Leduc",
    "liars_dice": "games.text.bids:LiarsDice",
    "matrix_bos": "games.text.matrix:Matrix",
    "matrix_brps": "games.text.matrix:Matrix",
    "matrix_cd": "games.text.matrix:Matrix",
    "matrix_coordination": "games.text.matrix:Matrix",
    "matrix_mp": "games.text.matrix:Matrix",
    "matrix_pd": "games.text.matrix:Matrix",
    "matrix_rps": "games.text.matrix:Matrix",
    "matrix_rpsw": "games.text.matrix:Matrix",
    "matrix_sh": "games.text.matrix:Matrix",
    "matrix_shapleys_game": "games.text.matrix:Matrix",
    "othello": "games.text.boards:Othello",
    "repeated_game": "games.text.matrix:Repeated",
    "tic_tac_toe": "games.text.lines:TicTacToe",
}
"""OpenSpiel short name -> "module:class" of a Words subclass."""


def words_for(game: Any) -> Words:
    """The words of a loaded OpenSpiel game."""
    place = TABLE.get(game.get_type().short_name)
    if place is None:
        return Words(game)
    module, _, name = place.partition(":")
    words: Words = getattr(import_module(module), name)(game)
    return words
