"""An agent of another package that says what a language model might, by rote; installed by tests of what is shown."""

from pathlib import Path
from typing import Literal

from agents.agent import Agent, Decision, Pace, Reflection, Setup, Trajectory
from agents.generation import Generation
from games.game import Observation

SLY = "\x1b[2J[bold]\u202eevil"
"""Words that must not act on a terminal."""


class Speaker(Agent):
    """Thinks aloud and plays the first legal action; its first answer in each episode is refused.

    words: how much it thinks; stubborn: whether all its answers are illegal; price: what an answer costs, if above 0;
    known: whether token ids are known, or else the messages.
    """

    pace = Pace.AWAITS
    retries = 1

    def __init__(
        self,
        setup: Setup,
        *,
        words: int = 5,
        stubborn: bool = False,
        price: float = -1.0,
        known: Literal["ids", "messages"] = "ids",
    ) -> None:
        super().__init__(setup)
        self._words, self._stubborn, self._price, self._known = words, stubborn, price, known
        self._fresh = True
        if stubborn:
            self.retries = 0

    async def act(self, observation: Observation) -> Decision:
        action = "resign" if self._fresh else observation.legal_actions[0]
        self._fresh = self._stubborn
        raw = f"<think>{' '.join(['hm'] * self._words)}</think>{SLY}, so <action>{action}</action>"
        return Decision(action, raw, None, (self._generation(raw),))

    async def reflect(self, trajectory: Trajectory) -> Reflection | None:
        self._fresh = True
        return Reflection(f"I learned {SLY}", (self._generation("I learned at length"),))

    def _generation(self, raw: str) -> Generation:
        price = None if self._price < 0 else self._price
        if self.setup.models is not None:
            self.setup.models.spending.check()
            self.setup.models.spending.add(1023, price)
        said = Generation("scripted", raw, None, None, None, "stop", {"temperature": 1.0}, False, 1000, 23, 0.5, price)
        if self._known == "ids":
            return said._replace(prompt_ids=[1, 2], completion_ids=[3], logprobs=[-0.5], notes={"read": "prefix"})
        return said._replace(prompt=f'[{{"role": "user", "content": "your move {len(raw)}"}}]')


def install(folder: Path) -> None:
    """Lay the agent out in a folder of packages, under the name `speaker`."""
    (folder / "metarena_speaking.py").write_text(Path(__file__).read_text(encoding="utf-8"), encoding="utf-8")
    info = folder / "metarena_speaking-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: metarena-speaking\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[metarena.agents]\nspeaker = metarena_speaking:Speaker\n")
