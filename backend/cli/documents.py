"""Reading a specification for the command line, with what the options change in it."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from backend.cli import complaints

if TYPE_CHECKING:
    from backend.experiments.specification import Specification


def read_specification(
    path: str, *, seeds: str | None, both: bool, paced: bool, target: str | None = None, speed: float | None = None
) -> "Specification":
    """The specification in a file ("-": stdin), with what options set in it. Ends the command with every fault found.

    Outside the simulator time passes, so that the speed that a specification names always counts.
    """
    from backend.experiments.documents import read_document
    from backend.experiments.errors import SpecificationError
    from backend.experiments.limits import MAX_BYTES
    from backend.experiments.specification import parse

    with complaints.file_errors(), click.open_file(path, "rb") as stream:
        content = stream.read(MAX_BYTES + 1)
    folder = Path.cwd() if path == "-" else Path(path).absolute().parent
    try:
        document = read_document(content)
        if seeds is not None:
            # As in a file: a plain number says how many.
            document["seeds"] = int(seeds) if seeds.isdecimal() and len(seeds) < 16 else seeds
        if target is not None:
            document["target"] = target
        if speed is not None:
            document["speed"] = speed
        specification = parse(_pair(document) if both else document, folder=folder)
    except SpecificationError as error:
        name = "the specification" if path == "-" else path
        faults = str(error).replace("\n", "\n  ")
        complaints.refuse(f"{name} cannot be run:\n  {faults}")

    if paced or speed is not None or specification.target != "simulator":
        return specification
    return specification.model_copy(update={"speed": None})


def _pair(document: dict[str, Any]) -> dict[str, Any]:
    arms = document.get("arms")
    if arms is None:
        return {**document, "both": True}
    if not isinstance(arms, list) or len(arms) != 1 or not isinstance(arms[0], dict):
        complaints.refuse("--both makes two arms out of one, and the specification has several; leave --both out.")
    rest = {name: value for name, value in document.items() if name != "arms"}
    return {**rest, **{name: arms[0][name] for name in ("scheduler", "migration") if name in arms[0]}, "both": True}
