"""A trained checkpoint judged by many matches, and the page that tells how all of them did."""

from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from statistics import median
from threading import Event
from typing import Any, NamedTuple

Z95 = 1.96
MOST_LOOKS = 6
"""On the way, that are shown."""
LEAST = 0.02
"""What a best response has to earn above the equilibrium's value, a hand, for a share of it to say anything."""
SECONDS = ("seconds", "seconds/rollout", "seconds/update")
_OTHER_DEALS = 10**9
"""Added to the seed, so that nothing is judged on deals that the run has looked at."""


def judged(config: Any, checkpoint: str, matches: int) -> list[dict[str, Any]]:
    """The scores of a checkpoint against everyone of a run, with and without memory, as JSON has them.

    In Kuhn poker each has `best`, what a best response to that opponent earns a hand.
    """
    from agents.manners import source_of
    from training.begin import field_of, held_out_of, loaded
    from training.evaluation import ARMS, Plan, evaluate
    from training.policy import Policy

    field, pool = field_of(config)
    begun = loaded(config, checkpoint)
    policy = Policy(config.name, begun.model, begun.tokenizer, source_of(field.learner.params))
    arms = ARMS if field.learner.params["memory"] != "none" else ARMS[:1]
    plan = Plan(pool, held_out_of(config), matches, arms)
    asked = field._replace(seed=config.seed + _OTHER_DEALS)
    scores = [score.told() for score in evaluate(policy, asked, plan, config.groups.concurrent, Event())]
    policy.close()
    if field.game.spec.name.startswith("kuhn_poker"):
        members = {member.name: member for member in [*pool.members, *plan.held_out]}
        for score in scores:
            score["best"] = _best(field.game, members[score["opponent"]], score["seat"])
    return scores


def _best(game: Any, member: Any, seat: int) -> float:
    """What a best response earns a hand against an agent whose policy, or those it mixes, can be read."""
    from agents.opponents import policy
    from agents.pool import Pool

    specs = member.params.get("of") or [member.spec]
    weights = member.params.get("weights") or [1.0] * len(specs)
    return float(Pool(game, seat, [policy(game, spec, 1 - seat) for spec in specs]).response(weights).value)


class Mean(NamedTuple):
    """A mean with the half width of its 95 % interval."""

    value: float
    half: float

    def __str__(self) -> str:
        return f"{self.value:+.3f} ± {self.half:.3f}"


class Part(NamedTuple):
    """A section of the page."""

    title: str
    arms: Sequence[str]
    text: str
    outcomes: bool = False
    """Whether wins and draws are told, opponent by opponent."""


PARTS = (
    Part(
        "Rock-paper-scissors: adaptation is learned",
        ("rps-mage", "rps-lamer", "rps-no-memory", "rps-grpo"),
        "Three throws a match against someone with a favourite, who keeps to it always, in nine of ten throws, or in "
        "eight of ten, and else throws anything. Bayes-optimal play earns 0, 0.817 and 0.840. Opponents that no run "
        "has met: favourites at six of ten, one that beats the last throw of its opponent, one that repeats its own. "
        "`rps-no-memory` is `rps-mage` without its memory, `rps-grpo` is trained and judged in single episodes.",
    ),
    Part(
        "probe: what credit across episodes is for",
        ("probe-mage", "probe-lamer", "probe-single", "probe-grpo"),
        "Every try loses 0.2 on average, and whoever tries earns 0.6 and 0.8 in the episodes after. `probe-single` has "
        "the same memory and credit that stays within an episode; `probe-grpo` is trained and judged in single "
        "episodes.",
    ),
    Part(
        "Kuhn poker: a copy of the exact adaptive player, and meta-RL after it",
        ("kuhn",),
        "Nine hands a match, fresh deals, the three archetypes in equal shares. Without memory nobody can earn more "
        "than 0.056 a hand in the first seat and 0.167 in the second; the best adaptive player comes to 0.278.",
    ),
    Part(
        "Kuhn poker from nothing",
        ("kuhn-mage", "kuhn-lamer", "kuhn-gigpo", "kuhn-grpo"),
        "The same without a teacher; `kuhn-gigpo` and `kuhn-grpo` are trained and judged in single hands.",
    ),
    Part("Tic-tac-toe", ("tic-tac-toe",), "The priority lists and MCTS-100; held out MCTS-1000.", True),
    Part("A real model: SmolLM2-135M with LoRA", ("smollm2",), "Free answers; what is learned first is their form."),
)
HEAD = """# What training comes to

Made by `python -m benchmarks.learning`, which trains the recipes of `examples/training` and judges the last checkpoint
of each run by matches on deals that the run has not seen; never edited by hand. Returns are in the game's units, by
episode, with 95 % intervals over matches (opponents weighted by their shares); `faulty` is the share of answers that
were illegal or could not be read. A row is one seed.
"""


def page(results: Sequence[Mapping[str, Any]]) -> str:
    """The page of some results."""
    return "\n".join([HEAD, *[block for part in PARTS for block in _part(part, results)]])


def _part(part: Part, results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    some = [result for arm in part.arms for result in results if result["arm"] == arm]
    yield f"## {part.title}\n\n{_wrapped(part.text)}\n"
    if missing := [f"`{arm}`" for arm in part.arms if arm not in {result["arm"] for result in some}]:
        yield f"Not run yet: {', '.join(missing)}.\n"
    if not some:
        return
    for held in (False, True):
        rows = [row for result in some for row in _rows(result, held)]
        if not rows:
            continue
        width = max([len(row.means) for row in rows])
        yield f"{'Opponents never met' if held else 'Opponents of training'}:\n"
        shown = [f"episode {number}" for number in _columns(width)]
        yield f"| run | seed | memory | {' | '.join(shown)} | faulty | matches |"
        yield f"|---|---|---|{'---|' * len(shown)}---|---|"
        for row in rows:
            cells = [str(row.means[number - 1]) if number <= len(row.means) else "" for number in _columns(width)]
            told = [f"`{row.arm}`", str(row.seed), row.memory, *cells, f"{row.faulty:.1%}", f"{row.matches:,}"]
            yield f"| {' | '.join(told)} |"
        yield ""
    if any(["best" in score for result in some for score in result["scores"]]):
        yield from _kuhn(some)
    if part.outcomes:
        yield from _outcomes(some)
    yield from _curve(some)
    yield from _cost(some)


def _columns(width: int) -> list[int]:
    """Episodes that are shown: all, or the first, the middle and the last."""
    return list(range(1, width + 1)) if width <= 3 else [1, (width + 1) // 2, width]


class _Row(NamedTuple):
    arm: str
    seed: int
    memory: str
    means: list[Mean]
    faulty: float
    matches: int


def _rows(result: Mapping[str, Any], held: bool) -> Iterator[_Row]:
    arms = _arms(result)
    for arm in arms:
        some = [score for score in result["scores"] if score["arm"] == arm and score["held_out"] == held]
        if some:
            weights = [1.0 if held else result["shares"].get(score["opponent"], 1.0) for score in some]
            means = [
                _mean(weights, [score["returns"][place] for score in some], [score["errors"][place] for score in some])
                for place in range(len(some[0]["returns"]))
            ]
            faulty = sum([score["faulty"] for score in some]) / len(some)
            yield _Row(
                result["arm"], result["seed"], arms[arm], means, faulty, sum([score["matches"] for score in some])
            )


def _arms(result: Mapping[str, Any]) -> dict[str, str]:
    """The arms of a result, and whether the learner has its memory there: one without any has one arm."""
    arms = list(dict.fromkeys([score["arm"] for score in result["scores"]]))
    return {arm: "yes" if len(arms) > 1 and arm == "memory" else "no" for arm in arms}


def _mean(weights: Sequence[float], values: Sequence[float], errors: Sequence[float]) -> Mean:
    """Of opponents that were met separately, each with its weight."""
    total = sum(weights)
    value = sum([weight * one for weight, one in zip(weights, values, strict=True)]) / total
    half = sqrt(sum([(weight * one) ** 2 for weight, one in zip(weights, errors, strict=True)])) / total
    return Mean(value, Z95 * half)


def _kuhn(results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The last third of the hands by seat, and how much of what can be won against each opponent was won."""
    text = (
        "The last third of the hands, by seat; `exploited` is (earned - security) / (best response - security), as a "
        "mean over opponents that can be exploited (not `cfr`), with the equilibrium's value as security."
    )
    yield f"{_wrapped(text)}\n"
    yield "| run | seed | memory | opponents | first seat | second seat | exploited, first | exploited, second |"
    yield "|---|---|---|---|---|---|---|---|"
    for result in results:
        for held in (False, True):
            for arm, memory in _arms(result).items():
                some = [one for one in result["scores"] if one["arm"] == arm and one["held_out"] == held]
                if not some:
                    continue
                cells, shares = [], []
                for seat, security in ((0, -1 / 18), (1, 1 / 18)):
                    own = [score for score in some if score["seat"] == seat]
                    late, errors = [score["late"] for score in own], [score["late_error"] for score in own]
                    cells.append(str(_mean([1.0] * len(own), late, errors)))
                    gains = [
                        (score["late"] - security) / (score["best"] - security)
                        for score in own
                        if score["best"] - security > LEAST
                    ]
                    shares.append(f"{sum(gains) / len(gains):.2f}" if gains else "")
                whom = "never met" if held else "training"
                yield f"| `{result['arm']}` | {result['seed']} | {memory} | {whom} | {' | '.join([*cells, *shares])} |"
    yield ""


def _outcomes(results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Wins and draws against each opponent, by episode."""
    yield "Won / drawn, by episode, both seats together:\n"
    width = max([len(score["success"]) for one in results for score in one["scores"]])
    yield f"| run | seed | memory | opponent | {' | '.join([f'episode {place + 1}' for place in range(width)])} |"
    yield f"|---|---|---|---|{'---|' * width}"
    for result in results:
        arms = _arms(result)
        for arm, opponent in dict.fromkeys([(score["arm"], score["opponent"]) for score in result["scores"]]):
            some = [one for one in result["scores"] if (one["arm"], one["opponent"]) == (arm, opponent)]
            cells = [
                " / ".join(
                    [f"{sum([one[key][place] for one in some]) / len(some):.0%}" for key in ("success", "draws")]
                )
                for place in range(width)
            ]
            yield f"| `{result['arm']}` | {result['seed']} | {arms[arm]} | {opponent} | {' | '.join(cells)} |"
    yield ""


def _curve(results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """How the runs did on the way, as they looked at themselves."""
    runs = [(result, _looks(result)) for result in results]
    updates = sorted({update for _, looks in runs for update in looks})
    if len(updates) > MOST_LOOKS:
        updates = [updates[round(place * (len(updates) - 1) / (MOST_LOOKS - 1))] for place in range(MOST_LOOKS)]
    text = (
        "On the way, against the opponents of training: mean return in the last third of the episodes, and the share "
        "of faulty answers, after so many updates."
    )
    yield f"{_wrapped(text)}\n"
    yield f"| run | seed | {' | '.join(map(str, updates))} |"
    yield f"|---|---|{'---|' * len(updates)}"
    for result, looks in runs:
        yield f"| `{result['arm']}` | {result['seed']} | {' | '.join([looks.get(one, '') for one in updates])} |"
    yield ""


def _looks(result: Mapping[str, Any]) -> dict[int, str]:
    """Update -> what a look at a run then said."""
    told = {}
    for line in result["curve"]:
        some = [score for score in line["scores"] if score["arm"] == "memory" and not score["held_out"]]
        weights = [result["shares"].get(score["opponent"], 1.0) for score in some] or [1.0]
        some = some or [score for score in line["scores"] if score["arm"] == "memory"]
        weights = weights if len(weights) == len(some) else [1.0] * len(some)
        late = sum([weight * score["late"] for weight, score in zip(weights, some, strict=True)]) / sum(weights)
        told[line["update"]] = f"{late:+.2f} ({sum([score['faulty'] for score in some]) / len(some):.0%})"
    return told


def _cost(results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What the runs took."""
    told = [
        f"`{one['arm']}` {one['seed']}: {one['updates']} updates, {one['seconds']['wall']:.0f} s "
        f"({one['seconds']['cpu']:.0f} s of CPU){_speed(one)}"
        for one in results
    ]
    versions = results[0]["versions"]
    made = ", ".join([f"{name} {versions[name]}" for name in ("metarena", "torch", "trl") if name in versions])
    yield _wrapped(f"Time: {'; '.join(told)}. {made}.") + "\n"


def _speed(result: Mapping[str, Any]) -> str:
    """Time of an update, tokens a second and memory, where they were kept."""
    steps = [step for step in result.get("steps", ()) if step["tokens/learned"]]
    if not steps:
        return ""
    seconds, rollout, update = (median([step[key] for step in steps]) for key in SECONDS)
    played = sum([step["tokens"] for step in steps]) / sum([step["seconds/rollout"] for step in steps])
    learned = sum([step["tokens/learned"] for step in steps]) / sum([step["seconds/update"] for step in steps])
    return (
        f", {seconds:.1f} s an update ({rollout:.1f} s of it play, {update:.1f} s learning), {played:,.0f} tokens a "
        f"second in play and {learned:,.0f} in learning, at most {result['memory']:,.0f} MiB"
    )


def _wrapped(text: str, width: int = 120) -> str:
    import textwrap

    return "\n".join(textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False))
