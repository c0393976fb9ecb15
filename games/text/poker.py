"""Words of the small poker games: Kuhn poker and Leduc poker, for any number of players."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from games.spec import SpecError
from games.text.words import Words

_RANKS = ("2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K")
_KUHN = re.compile(r"(\d+)([pb]*)")
_LEDUC = re.compile(r"\[(\w+)(?::| )\s*([^\]]*)\]")
_STACK = 100
"""Chips each player of Leduc poker starts with; nobody can run out."""


def ranks(count: int) -> tuple[str, ...]:
    """The `count` highest ranks below the ace, lowest first: J Q K for 3."""
    return _RANKS[-count:]


class Kuhn(Words):
    """OpenSpiel's cards 0, 1, 2, ... are named by rank, the king highest; actions are `pass` and `bet`."""

    fixed_names = True
    public_moves = True

    def __init__(self, game: Any) -> None:
        super().__init__(game)
        self.ranks = ranks(self.seats + 1)

    def title(self) -> str:
        return "Kuhn poker"

    def rules(self) -> str:
        others = "the other player acts" if self.seats == 2 else "each of the others, also those who passed, acts"
        return (
            f"Kuhn poker for {self.seats} players. The deck has {self.seats + 1} cards, one of each rank, from low to "
            f"high: {' '.join(self.ranks)}. Each player puts 1 chip into the pot and gets one card that only they see; "
            "one card is left over, unseen. Seat 0 acts first, then the next seats in turn.\n"
            "Each action is pass or bet. As long as nobody has bet, pass puts nothing in and bet puts 1 chip into the "
            f"pot. After the first bet {others} just once, in turn, and betting is over: bet now puts 1 chip in "
            "to stay (a call), pass gives up the hand and what was put in (a fold). Nobody can raise.\n"
            "If all pass, the highest card takes the pot. If somebody bet, the highest card among those who bet takes "
            "it; a lone bettor takes it without a showdown. In a showdown the cards that compete for the pot are shown "
            "to all; other cards stay hidden.\n"
            "Returns: chips taken from the pot less chips put in. The winner gets what the others put in, so "
            f"+1 to +{2 * (self.seats - 1)}; a loser gets -1, or -2 after putting in a bet."
        )

    def board(self, state: Any) -> str:
        cards = [_KUHN.match(state.information_state_string(seat)) for seat in range(self.seats)]
        lines = [
            f"seat {seat} has {self.ranks[int(card[1])] if card else 'none yet'}" for seat, card in enumerate(cards)
        ]
        history = cards[0][2] if cards[0] else ""
        return "\n".join(["Cards: " + ", ".join(lines), *self._betting(history), self.status(state)])

    def ending(self, state: Any, seat: int) -> str:
        """Cards are shown where more than one player is left: all who bet, or all where nobody did."""
        hands = [found for at in range(self.seats) if (found := _KUHN.match(state.information_state_string(at)))]
        betting = hands[0][2]
        left = sorted({place % self.seats for place, move in enumerate(betting) if move == "b"}) or range(self.seats)
        return _showdown({seat: self.ranks[int(hands[seat][1])] for seat in left}, self.status(state))

    def view(self, state: Any, seat: int) -> str:
        found = _KUHN.match(state.information_state_string(seat))
        if found is None:
            return f"You are seat {seat}. No cards yet."
        chips = 1 + [action for place, action in enumerate(found[2]) if place % self.seats == seat].count("b")
        return "\n".join(
            [
                f"You are seat {seat}. Your card: {self.ranks[int(found[1])]} (deck: {' '.join(self.ranks)}).",
                *self._betting(found[2]),
                f"You have put in {chips}.",
            ]
        )

    def _betting(self, history: str) -> list[str]:
        moves = [f"seat {place % self.seats} {'bet' if move == 'b' else 'pass'}" for place, move in enumerate(history)]
        pot = self.seats + history.count("b")
        return ["Betting: " + (", ".join(moves) or "none yet"), f"Pot: {pot} chips."]

    def action(self, state: Any, seat: int, action: int) -> str:
        return "bet" if action else "pass"

    def chance(self, state: Any, outcome: int) -> str:
        return f"deal-{self.ranks[outcome]}"


def _showdown(cards: Mapping[int, str], status: str) -> str:
    """The cards that are shown, by seat, where more than one hand is left, and how it ended."""
    if len(cards) == 1:
        return f"No cards are shown.\n{status}"
    shown = ", ".join(f"seat {seat} has {card}" for seat, card in cards.items())
    return f"Showdown: {shown}.\n{status}"


class _Hand(NamedTuple):
    """What OpenSpiel's information state of Leduc poker tells one seat."""

    private: int
    """Card number; negative before it is dealt."""
    public: int | None
    round: int
    pot: int
    chips: list[int]
    """Put in by each seat so far."""
    betting: tuple[str, str]
    """Of each round, in words."""
    out: frozenset[int]
    """Seats that have folded."""


class Leduc(Words):
    """Cards are named by rank and suit, Ks and Kh; `call` with nothing to call is a check, under the same name."""

    fixed_names = True
    names = ("fold", "call", "raise")
    suits = "sh"

    def __init__(self, game: Any) -> None:
        super().__init__(game)
        params = game.get_parameters()
        self.mapped, self.suitless = params["action_mapping"], params["suit_isomorphism"]
        self.first = params["starting_player"]
        self.ranks = ranks(self.seats + 1)
        # With action_mapping others see what an action counts as, and not what was chosen.
        self.public_moves = not self.mapped
        if not 0 <= self.first < self.seats:
            choices = ", ".join(map(str, range(self.seats)))
            raise SpecError(f"parameter 'starting_player' of game 'leduc_poker' is {self.first}; choices: {choices}")

    def title(self) -> str:
        return "Leduc poker"

    def rules(self) -> str:
        suits = "two of each rank" if self.suitless else "each in suits s and h (Ks, Kh, ...); suits count for nothing"
        fold = (
            "give up the hand and what was put in; with nothing to match it counts as call."
            if self.mapped
            else "give up the hand and what was put in; only with a raise to match."
        )
        more = " (after that it counts as call)" if self.mapped else ""
        return (
            f"Leduc poker for {self.seats} players. The deck has {2 * len(self.ranks)} cards: the ranks from low to "
            f"high {' '.join(self.ranks)}, {suits}. Each player puts 1 chip into the pot and gets one card that only "
            "they see. A first betting round follows, then one public card is turned up, then a second betting round. "
            f"Seat {self.first} acts first in both (if it has folded, the next seat that has not).\n"
            "Actions:\n"
            f"  fold   {fold}\n"
            "  call   match what the others have put in; with nothing to match this is a check.\n"
            "  raise  match, and put in 2 chips more in the first round or 4 more in the second. There are at most 2 "
            f"raises a round, all players together{more}.\n"
            "A round ends when all who have not folded have acted and put in the same. If all but one fold, that one "
            "takes the pot. Else, after the second round, a private card of the public card's rank (a pair) wins; "
            "without a pair the highest private card wins; equal ranks share the pot. Then the cards that compete for "
            "the pot are shown to all; other cards stay hidden.\n"
            f"Returns: chips taken from the pot less chips put in, from -13 to +{13 * (self.seats - 1)}."
        )

    def board(self, state: Any) -> str:
        hands = [self._hand(state, seat) for seat in range(self.seats)]
        cards = ", ".join(f"seat {seat} has {self._card(hand.private)}" for seat, hand in enumerate(hands))
        lines = [f"Cards: {cards}; public card {self._card(hands[0].public)}", *self._betting(hands[0])]
        if not state.is_terminal():
            lines.append(self._chips(hands[0]))
        return "\n".join([*lines, self.status(state)])

    def view(self, state: Any, seat: int) -> str:
        hand = self._hand(state, seat)
        lines = [
            f"You are seat {seat}. Your card: {self._card(hand.private)}. Public card: {self._card(hand.public)}.",
            *self._betting(hand),
        ]
        if not state.is_terminal():
            lines += [self._chips(hand), self._owed(hand, seat)]
        return "\n".join(lines)

    def _owed(self, hand: _Hand, seat: int) -> str:
        if seat in hand.out:
            return "You have folded."
        owed = max(hand.chips) - hand.chips[seat]
        return f"To call: {owed}" + ("." if owed else " (nothing to match: call checks).")

    def ending(self, state: Any, seat: int) -> str:
        """Cards are shown where more than one player has not folded."""
        hands = [self._hand(state, at) for at in range(self.seats)]
        left = [at for at in range(self.seats) if at not in hands[0].out]
        return _showdown({at: self._card(hands[at].private) for at in left}, self.status(state))

    def _hand(self, state: Any, seat: int) -> _Hand:
        facts = dict(_LEDUC.findall(state.information_state_string(seat)))
        out: set[int] = set()
        return _Hand(
            private=int(facts["Private"]),
            public=int(facts["Public"]) if "Public" in facts else None,
            round=int(facts["Round"]),
            pot=int(float(facts["Pot"])),
            chips=[_STACK - int(float(money)) for money in facts["Money"].split()],
            betting=(self._moves(facts["Round1"].split(), out), self._moves(facts["Round2"].split(), out)),
            out=frozenset(out),
        )

    def _moves(self, numbers: list[str], out: set[int]) -> str:
        """One round's actions with who took them; seats that fold are added to `out` and are passed over."""
        moves, seat = [], self.first
        for number in numbers:
            while seat in out:
                seat = (seat + 1) % self.seats
            moves.append(f"seat {seat} {self.names[int(number)]}")
            if number == "0":
                out.add(seat)
            seat = (seat + 1) % self.seats
        return ", ".join(moves) or "none yet"

    def _betting(self, hand: _Hand) -> list[str]:
        lines = [f"Round 1: {hand.betting[0]}"]
        return [*lines, f"Round 2: {hand.betting[1]}"] if hand.round == 2 else lines

    def _chips(self, hand: _Hand) -> str:
        shares = ", ".join(f"{chips} from seat {seat}" for seat, chips in enumerate(hand.chips))
        return f"Pot: {hand.pot} chips ({shares})."

    def _card(self, number: int | None) -> str:
        if number is None or number < 0:
            return "none yet"
        return self.ranks[number] if self.suitless else self.ranks[number // 2] + self.suits[number % 2]

    def action(self, state: Any, seat: int, action: int) -> str:
        return self.names[action]

    def chance(self, state: Any, outcome: int) -> str:
        return f"deal-{self._card(outcome)}"
