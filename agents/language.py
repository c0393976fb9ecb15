"""An agent that asks a language model what to play, and remembers what it saw."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from agents.agent import Agent, Decision, Pace, Reflection, Setup, Trajectory
from agents.answers import Answer, Choice, Question, Style, ask, lesson
from agents.generation import Generation
from agents.manners import (
    TOKENS,
    UNKNOWN,
    Count,
    Key,
    Limit,
    Manners,
    Price,
    Retries,
    Share,
    Shown,
    Temperature,
    contradiction,
    source_of,
)
from agents.memory import TELLERS, Kept, Limits, Memory, Recall, Telling
from agents.models.model import ContextOverflow, Model, Sampling
from agents.models.pool import Models
from agents.models.pool import backend as backend_of
from agents.models.source import SMOLLM2, Api, Backend, Dtype, Source
from agents.parsing import PARSER_VERSION, spoken
from agents.prompts import Scene, reflection_prompt, turn_prompt
from agents.prompts import templates as templates_of
from agents.telling import one_line, opening_of, turns_of
from games.errors import UserError
from games.game import Game, Observation
from games.seeding import derive

_T = TypeVar("_T")


class Language(Agent):
    """Asks a language model for its actions.

    Which model: model, `smollm2` (embedded), a folder with config, tokenizer and safetensors, or the name by which a
    server knows it; backend, where it is computed; adapter, a folder with a PEFT adapter, or its name on the server;
    dtype, of the weights in this process; base_url, address of an OpenAI-compatible server; api, what the server gets:
    messages (`chat`) or token ids (`completions`); key, the environment variable that holds the server's key;
    context, tokens that fit into the model, 0 for what it says itself; price, US dollars for a million tokens of
    prompts and of answers.

    How it answers: style, `direct` or thinking first (`react`); choice, `free` text, `constrained` to the legal
    actions token by token, or `scored`, drawn by how likely the model finds each; legal, whether the prompt lists the
    legal actions; retries, how often it may answer again after an illegal answer, told why; temperature, top_p and
    top_k of its draws; max_tokens of an answer, 0 for 64 (direct) or 512 (react);
    reflection_tokens of a reflection.

    What it remembers of earlier episodes: memory, their `history`, its own `reflection` on each, `both` or `none`.
    At most: turns of an episode, episodes and reflections, the latest of each. telling: in `words`, or `brief`, a line
    a move and no instructions, for models that are trained. templates: a folder with own prompts.
    """

    pace = Pace.AWAITS
    apart = frozenset({"base_url", "key", "price", "model", "adapter"})
    """Weights are told by their digest and not by their folder; models on servers by their names: see `traits`."""

    def __init__(
        self,
        setup: Setup,
        *,
        model: str = SMOLLM2,
        backend: Backend = "auto",
        adapter: str = "",
        dtype: Dtype = "auto",
        base_url: str = "",
        api: Api = "chat",
        key: Key = "",
        context: Count = 0,
        price: Price = UNKNOWN,
        style: Style = "direct",
        memory: Kept = "none",
        choice: Choice = "free",
        legal: Shown = "shown",
        retries: Retries = 0,
        temperature: Temperature = 1.0,
        top_p: Share = 1.0,
        top_k: Count = 0,
        max_tokens: Count = 0,
        reflection_tokens: Limit = 256,
        telling: Telling = "words",
        turns: Count = 5,
        episodes: Limit = 10,
        reflections: Limit = 10,
        templates: str = "",
    ) -> None:
        super().__init__(setup)
        self.retries = retries
        self.answers_freely = choice == "free"
        self._source = Source(
            model, backend, adapter, dtype, base_url, api, key, context, (price[0], price[1]) if price else None
        )
        self._manners = Manners(style, choice, legal)
        self._sampling = Sampling(temperature, top_p, top_k, max_tokens or TOKENS[style])
        self._reflection_tokens = reflection_tokens
        self._templates = templates_of(templates, telling)
        self._teller = TELLERS[telling]
        self._memory = Memory(memory, Limits(turns, episodes, reflections), telling)
        self._models = setup.models
        self._attempt = 0
        self._said = self._refusal = ""

    @classmethod
    def misfit(cls, game: Game, **params: Any) -> str | None:
        """It plays any game; parameters that contradict each other, or templates that cannot be used, fit none."""
        try:
            templates_of(params["templates"], params["telling"])
        except UserError as error:
            return str(error)
        return contradiction(params)

    @classmethod
    def traits(cls, **params: Any) -> Sequence[str]:
        """The prompts, the parser, and what the back end tells of the model."""
        source = source_of(params)
        named = (source.model, source.adapter) if source.kind == "http" else ()
        own = (f"templates {templates_of(params['templates']).digest}", f"parser {PARSER_VERSION}", source.kind)
        return (*own, *named, *backend_of(source).traits(source))

    @classmethod
    def prepare(cls, game: Game, **params: Any) -> None:
        """Look whether the model can be had. Raises UserError or RunError where not."""
        source = source_of(params)
        backend_of(source).check(source)

    async def act(self, observation: Observation) -> Decision:
        """Ask the model; what it answers is read here and ruled on by the referee.

        Raises ProviderError where no answer can be had, ContextOverflow where the bare prompt does not fit.
        """
        refusal, self._refusal = self._refusal, ""
        if not refusal:
            self._attempt = 0
            self._memory.see(observation)
        legal, (style, choice, shown) = observation.legal_actions, self._manners
        seed = derive(self.setup.seed, "play", self._memory.episode, self._memory.turn, self._attempt)
        question = Question(legal, observation.open, style, choice, self._sampling, seed)
        listed, how = legal if shown == "shown" else (), self._templates.fill(style, {})
        model, said = await self._model(), list[Generation]()

        async def asked(recall: Recall) -> Answer:
            scene = self._scene(self._memory.episode, recall)
            prompt = turn_prompt(self._templates, scene, observation, listed, how, refusal)
            return await ask(model, prompt, question, said)

        answer, dropped = await _fitting(self._memory.recall(observation.seat), asked)
        self._said = answer.raw
        action, read = answer.reading
        if observation.allows(action):
            self._memory.play(action)
        said[-1] = _noted(said[-1], {"read": read.value, **dropped})
        return Decision(action, answer.raw, generations=tuple(said))

    def refused(self, observation: Observation, why: str) -> None:
        """The next answer is asked for with the last one and what was wrong with it."""
        answered = one_line(spoken(self._said)) or "nothing"
        self._refusal = self._templates.fill("refused", {"why": one_line(why), "answered": answered})
        self._attempt += 1

    async def reflect(self, trajectory: Trajectory) -> Reflection | None:
        """Keep the episode as far as the memory goes, with a lesson of the model's where it is to reflect.

        A lesson may be empty: it is recorded, and not told later.
        """
        ending = self._teller.ending(trajectory, self.setup.game.spec, spoken(self._said))
        reflection = await self._look_back(trajectory, ending) if self._memory.reflects else None
        self._memory.close(trajectory, ending, reflection.text if reflection else "")
        self._attempt, self._said, self._refusal = 0, "", ""
        return reflection

    async def _look_back(self, trajectory: Trajectory, ending: str) -> Reflection:
        seed = derive(self.setup.seed, "reflect", trajectory.episode, len(trajectory.steps), 0)
        sampling = self._sampling._replace(max_tokens=self._reflection_tokens)
        model = await self._model()

        async def asked(recall: Recall) -> Generation:
            scene = self._scene(trajectory.episode, recall)
            prompt = reflection_prompt(self._templates, scene, trajectory, ending)
            return await model.generate(prompt, sampling, seed)

        turns = self._teller.turns(opening_of(trajectory), turns_of(trajectory), trajectory.seat, None)
        said, dropped = await _fitting(Recall((), self._memory.reflections, turns), asked)
        return Reflection(lesson(said.raw), (_noted(said, dropped),))

    def _scene(self, episode: int, recall: Recall) -> Scene:
        return Scene(self.setup.game.spec, episode, self.setup.episodes, recall)

    async def _model(self) -> Model:
        if self._models is None:  # outside of a run
            self._models = Models()
        return await self._models.get(self._source)


async def _fitting(recall: Recall, ask: Callable[[Recall], Awaitable[_T]]) -> tuple[_T, dict[str, int]]:
    """Ask with as much memory as the model has room for; what had to be left out is counted.

    Raises ContextOverflow where nothing is left to leave out.
    """
    while True:
        try:
            return await ask(recall), {"dropped": recall.dropped} if recall.dropped else {}
        except ContextOverflow as over:
            excess = over.needed - over.limit if over.needed and over.limit else 0
            if (smaller := recall.less(excess)) is None:
                raise
            recall = smaller


def _noted(generation: Generation, notes: dict[str, Any]) -> Generation:
    return generation._replace(notes={**generation.notes, **notes})
