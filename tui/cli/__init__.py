"""The command line: one module a command group; this one starts it and turns errors into one line and an exit code."""

import signal
import sys

import click

from games.errors import RunError, UserError
from tui.cli import catalogue, doctor, matches, play, ratings, tournament, train

EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="metarena", prog_name="arena", message="%(prog)s %(version)s")
def arena() -> None:
    """Tournaments between game-playing agents: played, recorded and rated.

    stdout is data and stderr is narration. Start with `arena games`, `arena agents` or

    \b
        arena tournament --game tic_tac_toe --agent random --agent heuristic --agent minimax
    """


for command in (
    catalogue.games,
    catalogue.agents,
    play.play,
    tournament.tournament,
    ratings.standings,
    ratings.crosstable,
    matches.matches,
    matches.replay,
    ratings.refit,
    train.train,
    doctor.doctor,
):
    arena.add_command(command)


def main() -> None:
    """Run the command line. Exits 0, 1 when something failed, 2 for wrong input, 130 after Ctrl-C."""
    code = _run()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done: a late Ctrl-C changes nothing
    sys.exit(code)


def _run() -> int:
    """Run one command and return its exit code."""
    try:
        code = arena.main(standalone_mode=False)  # the exit code where a command asked for one
    except click.UsageError as error:
        _say(error.format_message().rstrip("."))
        return EXIT_USAGE
    except UserError as error:
        _say(str(error))
        return EXIT_USAGE
    except (RunError, click.ClickException) as error:
        _say(str(error))
        return EXIT_FAILED
    except (KeyboardInterrupt, click.Abort):
        _say("interrupted")
        return EXIT_INTERRUPTED
    return code if isinstance(code, int) else 0


def _say(message: str) -> None:
    from tui.cli.output import safe

    print(f"arena: {safe(' '.join(message.split()))}", file=sys.stderr)
