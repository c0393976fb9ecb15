"""Words for PettingZoo's games of hidden hands: rock, paper, scissors; the poker games of rlcard; hanabi."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from games.game import Information, Utility
from games.spec import SpecError
from games.text.zoo import CleanWords, Facts


class RockPaperScissors(CleanWords):
    title = "Rock, paper, scissors"
    hidden: ClassVar[Mapping[str, Any]] = {"screen_height": 14}  # it makes a picture at every reset
    ranges: ClassVar[Mapping[str, tuple[int, int]]] = {"num_actions": (3, 999)}

    def facts(self) -> Facts:
        rounds = int(self.params["max_cycles"])
        return Facts(
            Information.IMPERFECT, Utility.ZERO_SUM, -rounds, rounds, 2 * rounds, False, terminal_rewards=rounds == 1
        )

    @property
    def names(self) -> list[str]:
        count = int(self.params["num_actions"])
        named = ["rock", "paper", "scissors", *(["spock", "lizard"] if count > 3 else [])]
        return named + [f"action_{number + 1}" for number in range(len(named), count)]

    def rules(self) -> str:
        return (
            f"Two players throw at the same time, {self.params['max_cycles']} rounds: {', '.join(self.names)} "
            "(numbered from 0). Of two throws whose numbers differ by an odd amount the higher one wins, else the "
            "lower one: +1 for the winner, -1 for the other, 0 for equal throws. Returns add up over the rounds."
        )

    def action(self, env: Any, agent: str, number: int) -> str:
        return self.names[number]

    def view(self, sight: Any, agent: str) -> str:
        last = int(sight)
        names = self.names
        return f"The other player's last throw: {names[last] if last < len(names) else 'none yet'}."


class _Cards(CleanWords):
    """A poker game of rlcard."""

    stakes: ClassVar[float]
    game: ClassVar[str]
    moves: ClassVar[tuple[str, ...]] = ("call", "raise", "fold", "check")

    def turns(self, seats: int) -> int:
        raise NotImplementedError

    def facts(self) -> Facts:
        seats = len(self.agents)
        highest = self.stakes * (seats - 1)
        return Facts(
            Information.IMPERFECT, Utility.ZERO_SUM, -self.stakes, highest, self.turns(seats), terminal_rewards=True
        )

    def rules(self) -> str:
        return f"{self.game.format(seats=len(self.agents))} Actions are written {', '.join(self.moves)}."

    def action(self, env: Any, agent: str, number: int) -> str:
        return self.moves[number]


class Leduc(_Cards):
    title = "Leduc hold'em"
    stakes = 7.0  # 2 + 2 raises of 2 + 2 raises of 4 chips, told in big blinds of 2
    game = (
        "Leduc hold'em for two: six cards (two each of jack, queen, king), one in each hand, blinds of 1 and 2 chips, "
        "a round of bets (raise by 2, at most two raises), one card on the table, a second round (raise by 4). A pair "
        "with the table's card wins, else the higher card. The return is the chips won or lost, divided by 2."
    )

    def turns(self, seats: int) -> int:
        return 2 * 3 * seats

    def view(self, sight: Any, agent: str) -> str:
        cards = ("jack", "queen", "king")
        hand, table = sight[:3], sight[3:6]
        own, other = int(sight[6:21].argmax()), int(sight[21:36].argmax())
        return (
            f"Your card: {cards[int(hand.argmax())]}. Card on the table: "
            f"{cards[int(table.argmax())] if table.any() else 'none yet'}.\n"
            f"Your chips in the pot: {own}. The other player's: {other}."
        )


_SUITS = ("spades", "hearts", "diamonds", "clubs")


def _held(cards: Any) -> str:
    """52 numbers in the order of rlcard, ace to king of spades, hearts, diamonds, clubs."""
    return ", ".join([f"{'A23456789TJQK'[place % 13]} of {_SUITS[place // 13]}" for place in np.flatnonzero(cards)])


class LimitHoldem(_Cards):
    title = "Limit Texas hold'em"
    stakes = 25.0  # 2 + 4 raises of 2, 4 of 2, 4 of 4 and 4 of 4 chips, told in big blinds of 2
    game = (
        "Limit Texas hold'em for {seats}: two cards each, five on the table in three steps, a round of bets before "
        "each step and at the end, at most four raises a round, of 2 chips in the first two rounds and 4 in the last "
        "two. The return is the chips won or lost, divided by the big blind of 2."
    )
    ranges: ClassVar[Mapping[str, tuple[int, int]]] = {"num_players": (2, 23)}

    def turns(self, seats: int) -> int:
        return 4 * 5 * seats

    def view(self, sight: Any, agent: str) -> str:
        raises = [int(sight[52 + 5 * number : 57 + 5 * number].argmax()) for number in range(4)]
        return (
            f"Cards that you see, your hand and the table together: {_held(sight[:52])}.\n"
            f"Raises in the four rounds: {' '.join(map(str, raises))}."
        )


class NoLimitHoldem(_Cards):
    title = "No-limit Texas hold'em"
    stakes = 100.0
    moves = ("fold", "check_call", "raise_half_pot", "raise_pot", "all_in")
    game = (
        "No-limit Texas hold'em for {seats}, 100 chips each, blinds of 1 and 2: two cards each, five on the table in "
        "three steps, a round of bets before each step and at the end. The return is the chips won or lost."
    )
    ranges: ClassVar[Mapping[str, tuple[int, int]]] = {"num_players": (2, 23)}

    def turns(self, seats: int) -> int:
        return 104 * seats  # a raise adds at least a chip to the highest bet, and every seat answers once

    def view(self, sight: Any, agent: str) -> str:
        return (
            f"Cards that you see, your hand and the table together: {_held(sight[:52])}.\n"
            f"Your chips in the pot: {sight[52]:g}. The highest: {sight[53]:g}."
        )


class Hanabi(CleanWords):
    title = "Hanabi"

    def __init__(self, params: Mapping[str, Any], agents: tuple[str, ...]) -> None:
        super().__init__(params, agents)
        if params["random_start_player"]:  # the environment then asks the first agent although another is to move
            raise SpecError(
                "parameter 'random_start_player' of classic/hanabi_v5 does not work in PettingZoo; use false"
            )

    def facts(self) -> Facts:
        colors, ranks = int(self.params["colors"]), int(self.params["ranks"])
        cards = colors * (2 * ranks)  # 3 of the lowest rank, 1 of the highest, 2 of the others
        turns = 2 * cards + int(self.params["max_information_tokens"]) + colors + len(self.agents)
        return Facts(Information.IMPERFECT, Utility.IDENTICAL, 0, colors * ranks, turns)

    def rules(self) -> str:
        return (
            f"{len(self.agents)} players build fireworks together, {self.params['colors']} colours from 1 to "
            f"{self.params['ranks']}: each sees the others' cards but not the own ones, and plays a card, discards "
            "one, or spends an information token to tell another player all cards of one colour or rank. All get the "
            "same score, the sum of the fireworks, and 0 when the last life token is lost. What you see is a vector of "
            "0 and 1; for a readable view of the same game use `hanabi` of OpenSpiel."
        )

    def action(self, env: Any, agent: str, number: int) -> str:
        state = env.unwrapped.hanabi_env.game_state
        return str(state.action_to_string(self.agents.index(agent), number)).strip("()")

    def board(self, env: Any) -> str:
        return str(env.unwrapped.hanabi_env.game_state)
