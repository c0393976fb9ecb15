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
    "bargaining", "blackjack", "bridge", "colored_trails", "euchre", "gin_rummy", "hearts", "kuhn_poker",
    "leduc_poker", "oh_hell", "universal_poker",
})  # fmt: skip
"""Games of hidden information whose own resampler is implemented (trying it elsewhere prints to stderr)."""

UNSAMPLED: frozenset[str] = frozenset()
"""Games of hidden information in which a search for a consistent state fails in ordinary play."""

BOARD_IS_ALL = frozenset({
    "amazons", "breakthrough", "catch", "clobber", "connect_four", "dots_and_boxes", "einstein_wurfelt_nicht",
    "goofspiel", "gomoku", "havannah", "hex", "nim", "oshi_zumo", "othello", "pentago", "tic_tac_toe", "twixt",
    "ultimate_tic_tac_toe", "y", "yacht",
})  # fmt: skip
"""Games of perfect information whose observation tells all that matters for what can still happen.

Elsewhere a limit on the moves, a repetition or a right to a move stands in the history alone.
"""

PAYS_ON_THE_WAY = frozenset({"repeated_leduc_poker"})
"""Games that declare rewards at the end only, and yet have returns before it."""

ABORTS = frozenset({
    "blotto", "connect_four", "dark_chess", "efg_game", "go_fish", "hanabi", "havannah", "kriegspiel", "negotiation",
    "nfg_game", "rbc", "universal_poker", "y",
})  # fmt: skip
"""Games in which some wrong parameter ends the process or never comes back."""

DEFAULTS: dict[str, dict[str, object]] = {"twixt": {"ansi_color_output": False}}
"""Defaults that differ from OpenSpiel's: text here is plain."""
