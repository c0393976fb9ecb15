"""Words of the bidding games: liar's dice and goofspiel."""

from typing import Any

from games.spec import SpecError
from games.text.words import Words


class LiarsDice(Words):
    """A bid is named quantity x face, such as 2x5; the challenge is `liar`."""

    fixed_names = True
    public_moves = True

    def __init__(self, game: Any) -> None:
        super().__init__(game)
        params = game.get_parameters()
        self.dice, self.sides = params["numdice"], params["dice_sides"]
        self.total = self.dice * self.seats
        self.quantity_first = params["bidding_rule"] == "reset-face"

    def title(self) -> str:
        return "Liar's dice"

    def rules(self) -> str:
        dice = "a die" if self.dice == 1 else f"{self.dice} dice"
        higher = (
            "a larger quantity of any face, or the same quantity of a higher face"
            if self.quantity_first
            else "a higher face in any quantity, or a larger quantity of the same face"
        )
        return (
            f"Liar's dice for {self.seats} players. Each player rolls {dice} with faces 1 to {self.sides} in secret; "
            f"{self.total} dice are in play. Face {self.sides} is wild: it counts as every face.\n"
            "Players act in turn, seat 0 first. An action is a bid or liar. A bid is written quantity x face: 2x5 "
            "claims that among all dice in play at least 2 show a 5 or the wild face. Each bid must be higher than the "
            f"one before: {higher}. The highest quantity is {self.total}.\n"
            "Instead of bidding higher a player may answer liar, which challenges the last bid and ends the game; seat "
            "0 cannot open with it. All dice are then shown: if the last bid is true its bidder wins, otherwise the "
            "challenger wins.\n"
            "Returns: +1 for the winner and -1 for the loser; there are no draws."
        )

    def board(self, state: Any) -> str:
        history = state.history()
        return "\n".join([self._dice(history), *self._bids(history), self.status(state)])

    def view(self, state: Any, seat: int) -> str:
        history = state.history()
        head = f"You are seat {seat}. Your dice: {self._hand(history, seat)} ({self.total} dice in play)."
        return "\n".join([head, *self._bids(history)])

    def ending(self, state: Any, seat: int) -> str:
        """All dice are shown."""
        return f"{self._dice(state.history())}\n{self.status(state)}"

    def _dice(self, history: list[int]) -> str:
        return "Dice: " + ", ".join(f"seat {seat} has {self._hand(history, seat)}" for seat in range(self.seats))

    def _hand(self, history: list[int], seat: int) -> str:
        """Faces of a seat, lowest first, since their order is not known to it."""
        rolls = history[seat * self.dice : (seat + 1) * self.dice]
        return " ".join(str(outcome + 1) for outcome in sorted(rolls)) or "not rolled"

    def _bids(self, history: list[int]) -> list[str]:
        moves = [
            f"seat {place % self.seats} said {self.name(action)}" for place, action in enumerate(history[self.total :])
        ]
        return ["Bids: " + (", ".join(moves) or "none yet")]

    def name(self, action: int) -> str:
        """The name of OpenSpiel's bid number: bids are counted from the lowest, and `liar` comes after all."""
        if action == self.total * self.sides:
            return "liar"
        high, low = divmod(action, self.sides if self.quantity_first else self.total)
        quantity, face = (high, low) if self.quantity_first else (low, high)
        return f"{quantity + 1}x{face + 1}"

    def action(self, state: Any, seat: int, action: int) -> str:
        return self.name(action)

    def chance(self, state: Any, outcome: int) -> str:
        return f"roll-{outcome + 1}"


class Goofspiel(Words):
    """A bid is named by the value of its card."""

    fixed_names = True

    def __init__(self, game: Any) -> None:
        super().__init__(game)
        params = game.get_parameters()
        self.cards: int = params["num_cards"]
        turns = params["num_turns"]
        self.rounds: int = self.cards if turns == -1 else turns
        self.hidden = params["imp_info"]
        self.order, self.scoring = params["points_order"], params["returns_type"]
        # OpenSpiel plays the last card by itself, and then misses the end if one round was to be left out.
        if not (1 <= self.rounds <= self.cards and self.rounds != self.cards - 1):
            fewer = f" or from 1 to {self.cards - 2}" if self.cards > 2 else ""
            raise SpecError(
                f"parameter 'num_turns' of game 'goofspiel' is {turns}: with {self.cards} cards OpenSpiel can play "
                f"{self.cards} rounds (num_turns=-1){fewer}"
            )

    def rules(self) -> str:
        order = {
            "random": "in random order",
            "descending": f"in descending order, {self.cards} first",
            "ascending": "in ascending order, 1 first",
        }[self.order]
        shown = (
            "the bids stay secret and only the winner of the round is announced"
            if self.hidden
            else "all bids are shown"
        )
        end = (
            f"The game ends after {self.rounds} rounds"
            + (f", so {self.cards - self.rounds} prizes never come up" if self.rounds < self.cards else "")
            + (
                "; the last round is played automatically, since each player has one card left"
                if self.rounds == self.cards > 1
                else ""
            )
        )
        return (
            f"Goofspiel for {self.seats} players. Each player holds bidding cards 1 to {self.cards}. The prize cards 1 "
            f"to {self.cards} are turned up one a round, {order}.\n"
            "In each round all players bid for the prize with one card from their hand, at the same time; bids are "
            "used up. An action is the value of the card to bid. The highest bid wins the prize, worth its value in "
            f"points; if the highest bid is made by more than one player, nobody gets it. Afterwards {shown}.\n"
            f"{end}.\nReturns: {self._returns()}"
        )

    def _returns(self) -> str:
        if self.scoring == "total_points":
            return "each player's points."
        if self.scoring == "point_difference":
            return "each player's points less the average points of all players."
        if self.seats == 2:
            return "+1 for the player with more points and -1 for the other, or 0 for both with equal points."
        return (
            "the players with the most points share +1 equally and the others share -1 equally; "
            "0 for everyone if all have equal points."
        )

    def board(self, state: Any) -> str:
        facts = _facts(state.information_state_string(0))
        bids = self._bids(state)
        lines = [
            f"Round {at + 1}: prize {prize}, bids {_cards([own[at] for own in bids])}, won by {_winner(winner, None)}"
            for at, (prize, winner) in enumerate(zip(facts["Point card sequence"], facts["Win sequence"], strict=False))
        ]
        if not state.is_terminal():
            lines.append(self._prize(facts))
            lines += [f"Hand of seat {seat}: {self._hand(own)}" for seat, own in enumerate(bids)]
        return "\n".join([*lines, self._points(facts, None), self.status(state)])

    def view(self, state: Any, seat: int) -> str:
        """In a game of perfect information the order of past rounds is left out: OpenSpiel's observation has it not."""
        facts = _facts(state.information_state_string(seat))
        lines = [f"You are seat {seat}.", *([] if state.is_terminal() else [self._prize(facts)])]
        left = sorted(set(range(1, self.cards + 1)) - set(facts["Point card sequence"]))
        lines.append(f"Prizes not seen yet: {_cards(left)}")
        lines.append(f"Your hand: {_cards(facts[f'P{seat} hand'])}")
        others = [other for other in range(self.seats) if other != seat and not self.hidden]
        lines += [f"Hand of seat {other}: {_cards(facts[f'P{other} hand'])}" for other in others]
        lines.append(self._points(facts, seat))
        return "\n".join(lines + self._past(facts, seat))

    def _past(self, facts: dict[str, list[int]], seat: int) -> list[str]:
        """What the seat may know of each round that was played."""
        wins = [_winner(winner, seat) for winner in facts["Win sequence"]]
        if not self.hidden:
            return ["Winners so far: " + (", ".join(wins) or "no round played")]
        past = zip(facts["Point card sequence"], facts[f"P{seat} action sequence"], wins, strict=False)
        return [
            f"Round {at + 1}: prize {prize}, you bid {bid + 1}, won by {won}"
            for at, (prize, bid, won) in enumerate(past)
        ]

    def _bids(self, state: Any) -> list[list[int]]:
        """Cards each seat has bid, in order; the last card, which OpenSpiel plays by itself, is not in its history."""
        bids: list[list[int]] = [[] for _ in range(self.seats)]
        for event in state.full_history():
            if event.player >= 0:
                bids[event.player].append(event.action + 1)
        if state.is_terminal() and self.rounds == self.cards:
            return [[*own, *(set(range(1, self.cards + 1)) - set(own))] for own in bids]
        return bids

    def _hand(self, bids: list[int]) -> str:
        return _cards(sorted(set(range(1, self.cards + 1)) - set(bids)))

    def _prize(self, facts: dict[str, list[int]]) -> str:
        seen = facts["Point card sequence"]
        return f"Round {len(seen)} of {self.rounds}. Prize now: {seen[-1] if seen else 'none yet'}"

    def _points(self, facts: dict[str, list[int]], seat: int | None) -> str:
        points = [
            f"{'you have' if at == seat else f'seat {at} has'} {value}" for at, value in enumerate(facts["Points"])
        ]
        return "Points: " + ", ".join(points)

    def action(self, state: Any, seat: int, action: int) -> str:
        return str(action + 1)

    def chance(self, state: Any, outcome: int) -> str:
        return f"prize-{outcome + 1}"


def _facts(text: str) -> dict[str, list[int]]:
    """The lines `name: numbers` of OpenSpiel's information state."""
    pairs = [line.split(":", 1) for line in text.split("\n") if ":" in line]
    return {name.rstrip("?"): [int(number) for number in numbers.split()] for name, numbers in pairs}


def _cards(values: list[int]) -> str:
    return " ".join(map(str, values)) or "none"


def _winner(winner: int, seat: int | None) -> str:
    if winner < 0:
        return "nobody"
    return "you" if winner == seat else f"seat {winner}"
