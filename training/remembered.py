"""A match that was just played, in the form in which a store gives one back."""

from arena.match import MatchResult
from league.store.rows import EpisodeRow, GenerationRow, MatchRecord, MatchRow, ReflectionRow, TurnRow


def record_of(result: MatchResult) -> MatchRecord:
    """All that a store would keep of a finished match, without one."""
    match, names = result.match, result.match.names
    task = len(result.places) > len(names)
    turns: list[TurnRow] = []
    generations: list[GenerationRow] = []
    episodes: list[EpisodeRow] = []
    for played in result.episodes:
        seats = [names[agent] for agent in played.order]
        episodes.append(
            EpisodeRow(
                match.match_id,
                played.episode,
                played.seed,
                seats,
                list(played.turn_seats),
                list(played.actions),
                list(played.returns),
                list(played.success),
                played.termination.value,
                played.offender,
                played.trajectory_hash,
            )
        )
        for note in played.notes:
            fault = note.fault.value if note.fault else None
            turns.append(
                TurnRow(played.episode, note.turn, note.seat, note.attempt, note.action, note.raw, fault, note.extra)
            )
            generations += [
                GenerationRow(played.episode, note.turn, note.seat, note.attempt, "play", number, said)
                for number, said in enumerate(note.generations)
            ]
    for told in result.reflections:
        generations += [
            GenerationRow(told.episode, None, told.seat, 0, "reflect", number, said)
            for number, said in enumerate(told.generations)
        ]
    return MatchRecord(
        MatchRow(
            match.match_id,
            match.tournament,
            match.game,
            match.round,
            match.pair,
            match.replica,
            match.seed,
            [*names, *([match.game] if task else [])],
            list(result.mean_returns),
            list(result.places),
            list(result.faults),
            len(result.episodes),
            list(match.fingerprints),
        ),
        episodes,
        sorted(turns, key=lambda row: (row.episode, row.turn, row.attempt, row.seat)),
        [ReflectionRow(told.episode, told.seat, names[told.agent], told.text) for told in result.reflections],
        sorted(
            generations,
            key=lambda row: (row.episode, row.turn is None, row.turn or 0, row.seat, row.attempt, row.number),
        ),
    )
