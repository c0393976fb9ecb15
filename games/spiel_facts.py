"""What is known of OpenSpiel 2.0.2's games by trying them, and what its own metadata does not tell.

The tests of the registry keep these tables true.
"""

LEFT_OUT = {
    "crossword": "its moves are structures, not a list of legal actions",
    "mfg_crowd_modelling": "mean-field: one representative of a population, not seats",
    "mfg_crowd_modelling_2d": "mean-field: one representative of a population, not seats",
    "mfg_dynamic_routing": "mean-field: one representative of a population, not seats",
    "mfg_garnet": "mean-field: one representative of a population, not seats",
}
"""Registered games that cannot be played here, and why."""

RESAMPLES = frozenset({
    "bargaining", "blackjack", "bridge", "gin_rummy", "kuhn_poker", "leduc_poker", "universal_poker",
})  # fmt: skip
"""Games of hidden information whose own resampler draws states that the seat cannot tell from the true one.

The others have none (trying it prints to stderr) or one that is wrong: colored_trails returns the true state.
"""

RESAMPLES_LOOSELY = frozenset({"euchre", "hearts", "oh_hell"})
"""Games whose own resampler may deal cards with which the moves already made would not have been legal."""

RESAMPLES_ONLY: dict[str, tuple[str, object]] = {
    "bargaining": ("prob_end", 0.0),
    "hearts": ("pass_cards", True),
    "universal_poker": ("numPlayers", 2),
}
"""Resamplers that work with one value of one parameter only; elsewhere they raise, end the process or never succeed."""

UNSAMPLED = frozenset({
    "battleship", "coin_game", "colored_trails", "coop_box_pushing", "crazy_eights", "cribbage", "dark_chess",
    "dou_dizhu", "go_fish", "hanabi", "kriegspiel", "laser_tag", "phantom_go", "rbc", "skat", "spades",
})  # fmt: skip
"""Games of hidden information in which a search for a consistent state fails in ordinary play."""

UNSAMPLED_INSIDE = frozenset({"bridge", "euchre", "gin_rummy", "hearts", "oh_hell"})
"""Games in which a search fails where their own resampler is out of reach, as inside another game."""

SEEN_AT_MOVES = frozenset({"efg_game"})
"""Games that tell a seat what the one to move knows, while another is to move."""

UNSAFE_COPIES = frozenset({"morpion_solitaire"})
"""Games whose copied states use memory of the original: once that is gone, a move ends the process."""

KNOWN_TO_ALL = frozenset({"deep_sea", "solitaire"})
"""Games declared to hide something in which the one seat has seen all that has happened."""

BOARD_IS_ALL = frozenset({
    "amazons", "breakthrough", "catch", "clobber", "connect_four", "dots_and_boxes", "einstein_wurfelt_nicht",
    "goofspiel", "gomoku", "havannah", "hex", "nim", "oshi_zumo", "othello", "pentago", "tic_tac_toe", "twixt",
    "ultimate_tic_tac_toe", "y", "yacht",
})  # fmt: skip
"""Games of perfect information whose observation tells all that matters for what can still happen.

Elsewhere a limit on the moves, a repetition or a right to a move stands in the history alone.
"""

FORGETS = frozenset({"dark_hex", "euchre", "go_fish", "hearts", "repeated_leduc_poker"})
"""Games whose information state leaves out what a seat knew before, without being made to."""

PAYS_ON_THE_WAY = frozenset({"repeated_leduc_poker"})
"""Games that declare rewards at the end only, and yet have returns before it."""

ABORTS = frozenset({
    "blotto", "connect_four", "dark_chess", "efg_game", "go_fish", "gomoku", "hanabi", "havannah", "kriegspiel",
    "negotiation", "nfg_game", "normal_form_extensive_game", "rbc", "start_at", "universal_poker", "y", "yacht",
})  # fmt: skip
"""Games in which some wrong parameter of ordinary size ends the process, never comes back or takes all memory."""

DEFAULTS: dict[str, dict[str, object]] = {"twixt": {"ansi_color_output": False}}
"""Defaults that differ from OpenSpiel's: text here is plain."""
