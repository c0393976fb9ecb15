"""The parameters of tasks, read from a game string into a pydantic model."""

from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from games.spec import Spec, SpecError, Value, near, render
from games.tasks.instances import GENERATED, Instances, SplitName, chosen


class Parameters(BaseModel):
    """What every task takes."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    split: SplitName = Field("train", description="Which instances: no two splits share one.")
    first: int = Field(0, ge=0, description="The first instance of the split that is played.")
    count: int = Field(0, ge=0, description="How many instances from there on; 0 for all.")

    def generated(self) -> Instances:
        """The instances of a task that makes its own. Raises UserError for more than there are."""
        return chosen(GENERATED[self.split], self.first, self.count)


_P = TypeVar("_P", bound=Parameters)


def read(spec: Spec, model: type[_P]) -> _P:
    """Read a task's parameters. Raises SpecError with the parameter, its value and what is expected."""
    for key in spec.params:
        if key not in model.model_fields:
            raise SpecError(f"game {spec.name!r} has no parameter {key!r}; {near(key, model.model_fields)}")
    try:
        return model(**spec.params)  # type: ignore[arg-type]  # the model checks them
    except ValidationError as error:
        fault = error.errors()[0]
        why = " ".join(fault["msg"].removeprefix("Value error, ").split())
        if not fault["loc"]:
            raise SpecError(f"{spec}: {why}") from None
        key = str(fault["loc"][0])
        raise SpecError(f"parameter {key!r} of game {spec.name!r} is {render(spec.params[key])}: {why}") from None


def parted(spec: Spec, model: type[_P]) -> tuple[_P, dict[str, Value]]:
    """A task's parameters, read, and those of another package's environment, which are not looked at."""
    own = {key: value for key, value in spec.params.items() if key in model.model_fields}
    return read(Spec(spec.name, own), model), {key: spec.params[key] for key in spec.params if key not in own}


def canonical(name: str, given: Parameters, options: Mapping[str, Value] | None = None) -> str:
    """The game string of some parameters, defaults left out."""
    return str(Spec(name, {**given.model_dump(exclude_defaults=True), **(options or {})}))
