"""What a form can offer: ready examples, policies with their parameters, preset models."""

from functools import cache
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from backend.experiments.documents import read_document
from backend.experiments.specification import parse
from backend.migration import registry as migrations
from backend.scheduling import registry as schedulers
from backend.scheduling.plugins import describe
from backend.simulation.presets import PRESETS

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
"""The folder of the specifications that a person can try at once."""
ORDER = ("seven-jobs", "fifty-jobs", "node-failure", "edge-images")
"""From small to large; what is not named here follows by name."""

router = APIRouter(prefix="/api/v1", tags=["catalogue"])


class Example(BaseModel):
    """A specification that is ready to run."""

    name: str
    title: str
    description: str
    yaml: str = Field(description="as it is written, with its comments")
    specification: dict[str, Any] = Field(description="as plain values, defaults left out")


class Examples(BaseModel):
    """All examples."""

    items: list[Example]


class Policy(BaseModel):
    """A scheduler or migration policy."""

    model_config = ConfigDict(populate_by_name=True)

    name: str
    description: str
    json_schema: dict[str, Any] = Field(alias="schema", description="JSON schema of its parameters")


class Policies(BaseModel):
    """All policies that are installed."""

    schedulers: list[Policy]
    migrations: list[Policy]


class Models(BaseModel):
    """All preset training models."""

    items: list[dict[str, Any]]


@router.get("/examples")
def examples() -> Examples:
    """The ready examples, small ones first."""
    return Examples(items=[Example(**example) for example in read_examples(EXAMPLES)])


class PluginDescriptions(BaseModel):
    """What filters and scores do."""

    descriptions: dict[str, str] = Field(description="name in a decision -> a sentence")


@router.get("/plugins")
def plugins() -> PluginDescriptions:
    """The filters and scores of all schedulers, those of other packages included."""
    return PluginDescriptions(descriptions=describe())


@router.get("/policies")
def policies() -> Policies:
    """The schedulers and migration policies, found by their entry points, with what may be set."""
    return Policies(
        schedulers=[_policy(name, schedulers.load(name)) for name in schedulers.names()],
        migrations=[_policy(name, migrations.load(name)) for name in migrations.names()],
    )


@router.get("/models")
def models() -> Models:
    """The preset training models, with what each does and needs."""
    return Models(items=[model.model_dump(mode="json") for model in PRESETS.values()])


@cache
def read_examples(folder: Path) -> list[dict[str, Any]]:
    """The specifications in a folder as name, title, description, yaml, specification. Raises SpecificationError."""
    found = []
    for path in folder.glob("*.yaml"):
        text = path.read_text(encoding="utf-8")
        specification = parse(text, folder=folder)
        found.append(
            {
                "name": path.stem,
                "title": specification.title or path.stem,
                "description": specification.description,
                "yaml": text,
                "specification": read_document(text),
            }
        )
    place = {name: number for number, name in enumerate(ORDER)}
    return sorted(found, key=lambda example: (place.get(example["name"], len(place)), example["name"]))


def _policy(name: str, policy: Any) -> Policy:
    lines = (policy.__doc__ or "").strip().splitlines()
    first = " ".join(line.strip() for line in lines[: lines.index("") if "" in lines else None])
    return Policy(name=name, description=first, json_schema=policy.Parameters.model_json_schema())
