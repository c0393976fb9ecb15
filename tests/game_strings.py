"""Which game strings stand for the games of the registry: what the tests check and the documentation lists."""

from pathlib import Path

TWO_COINS = """EFG 2 R "Two coins" { "One" "Two" } ""
c "" 1 "" { "heads" 1/2 "tails" 1/2 } 0
p "" 1 1 "" { "in" "out" } 0
p "" 2 1 "" { "call" "fold" } 0
t "" 1 "" { 2, -2 }
t "" 2 "" { 1, -1 }
t "" 3 "" { -1, 1 }
p "" 1 2 "" { "in" "out" } 0
p "" 2 1 "" { "call" "fold" } 0
t "" 4 "" { -2, 2 }
t "" 2 "" { 1, -1 }
t "" 3 "" { -1, 1 }
"""
"""A game in Gambit's extensive form: seat 0 sees the coin, seat 1 does not."""

BATTLE = """NFG 1 R "Battle of the sexes" { "One" "Two" } { 2 2 }

2 1 0 0 0 0 1 2
"""
"""A game in Gambit's normal form."""

FILES = {"efg_game": ("two_coins.efg", TWO_COINS), "nfg_game": ("battle.nfg", BATTLE)}
"""Games that are read from a file: its name and what is in it."""

WRAPPERS = {
    "add_noise": ["add_noise(epsilon=0.5,game=kuhn_poker,seed=1)"],
    "cached_tree": ["cached_tree(game=kuhn_poker)", "cached_tree(game=tic_tac_toe)"],
    "coop_to_1p": ["coop_to_1p(game=tiny_hanabi)"],
    "efg_game": ["efg_game(filename=two_coins.efg)"],
    "misere": ["misere(game=tic_tac_toe)", "misere(game=pig)", "misere(game=negotiation)"],
    "nfg_game": ["nfg_game(filename=battle.nfg)"],
    "normal_form_extensive_game": ["normal_form_extensive_game(game=kuhn_poker)"],
    "repeated_game": [
        "repeated_game(num_repetitions=10,stage_game=matrix_rps)",
        "repeated_game(num_repetitions=3,recall=2,stage_game=matrix_pd)",
    ],
    "repeated_poker": ["repeated_poker(max_num_hands=3,reset_stacks=true,universal_poker_game_string=universal_poker)"],
    "restricted_nash_response": [
        "restricted_nash_response(game=leduc_poker)",
        "restricted_nash_response(fixed_player=1,game=matrix_rps,p=0.3)",
    ],
    "start_at": ["start_at(game=tic_tac_toe,history=4;0)", "start_at(game=liars_dice,history=2)"],
    "turn_based_simultaneous_game": [
        "turn_based_simultaneous_game(game=goofspiel)",
        "turn_based_simultaneous_game(game=goofspiel(imp_info=true,num_cards=5))",
        "turn_based_simultaneous_game(game=matching_pennies_3p)",
    ],
    "zerosum": ["zerosum(game=oh_hell)", "zerosum(game=matrix_pd)"],
}
"""Games that need another game or a file: examples of each. Files lie in the working directory."""

VARIANTS = [
    "bridge(use_double_dummy_result=false)",
    "crazy_eights(players=2)",
    "goofspiel(imp_info=true)",
    "goofspiel(num_cards=5,players=3,points_order=descending)",
    "hanabi(players=3)",
    "hex(board_size=3,swap=true)",
    "kuhn_poker(players=3)",
    "laser_tag(fully_obs=false)",
    "leduc_poker(players=3)",
    "nim(pile_sizes=2;3)",
    "quoridor(players=3)",
    "tarok(players=4)",
    "tic_tac_toe",
    "twixt(ansi_color_output=true)",
    "universal_poker(blind='100 100 0',firstPlayer='1 1',numPlayers=3,stack='500 500 500')",
]
"""Parameters that change what a game is: seats, chance, information, actions."""


CHEAPER = {"bridge_uncontested_bidding": "bridge_uncontested_bidding(num_redeals=1)"}
"""Games that take half a second to begin as they are."""


def strings(name: str) -> list[str]:
    """The game strings that stand for a name of the registry."""
    return WRAPPERS.get(name, [CHEAPER.get(name, name)])


def write_files(folder: Path) -> None:
    """Put the files that `efg_game` and `nfg_game` read into a folder."""
    for name, text in FILES.values():
        (folder / name).write_text(text)
