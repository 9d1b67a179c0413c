"""Placement decisions as the API shows them."""

from pydantic import BaseModel, Field


class DecisionEntry(BaseModel):
    """A scheduler's decision in a list."""

    seq: int = Field(description="its sequence number in the event log")
    time_s: float = Field(description="seconds since the run began")
    pod: str
    job: str | None
    node: str | None = Field(description="the chosen node; null if no node could take the pod")
    policy: str
    reason: str = Field(description="the decision as one sentence, with why this node among equals")
    feasible: int = Field(description="nodes that passed every filter")
    refused: int = Field(description="nodes that a filter refused")
    permanent: bool = Field(description="no node could take the pod even if the cluster were empty")


class Decisions(BaseModel):
    """One page of the decisions of a run, in the order of the log."""

    items: list[DecisionEntry]
    total: int = Field(description="decisions on all pages")
    rev: int = Field(description="revision of the run that the decisions are at least as new as")


class Score(BaseModel):
    """What one score gave to the nodes of a decision; the lists are parallel to its `nodes`."""

    plugin: str
    description: str = Field(description="what it looks at; empty if it is not installed here")
    weight: float | None
    raw: list[float | None] = Field(description="as computed; equals `normalised` if the score does not normalise")
    normalised: list[float | None]
    weighted: list[float | None] = Field(description="normalised x weight: its part of the total")


class Refusal(BaseModel):
    """The nodes that one filter refused."""

    filter: str
    description: str = Field(description="which nodes it lets through; empty if it is not installed here")
    count: int = Field(description="nodes it refused")
    nodes: list[str] = Field(description="the first of them; a log of a large cluster does not list them all")


class Decision(DecisionEntry):
    """A decision in full."""

    needed_images: list[str] = Field(description="images that the chosen node has to pull, if the scheduler says so")
    nodes: list[str] = Field(description="the best feasible nodes, best first; `feasible` says how many there were")
    totals: list[float | None] = Field(description="weighted sum of the scores, parallel to `nodes`")
    ranks: list[int | None] = Field(description="1 for the highest total; equals share a rank")
    scores: list[Score]
    refusals: list[Refusal] = Field(description="filters that refused a node, in their order")
