"""Between the form and the specification: which input stands for which part, in both directions.

The form writes onto a base specification, so that what it has no input for (faults, costs, spelled-out models ...)
stays as it was written in YAML.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

SUBMISSION_KINDS = ("at", "every", "uniform", "poisson")
MIGRATION_SIDES = ("both", "on", "off")

BLANK: dict[str, Any] = {
    "name": "my-experiment",
    "target": "simulator",
    "cluster": {"nodes": {"count": 3, "cpu": "16", "memory": "64Gi"}},
    "workload": {"models": ["lenet", "vae", "gru"], "jobs": 9, "submissions": {"every": 30}},
    "both": True,
    "scheduler": {"name": "default"},
    "migration": {"name": "specon"},
    "pin_initial_placement": True,
    "seeds": [1],
}
"""What the form opens with."""

FIELDS = {  # input -> field of the specification whose faults belong to it
    "name": "name",
    "target": "target",
    "node_count": "cluster.nodes.count",
    "node_cpu": "cluster.nodes.cpu",
    "node_memory": "cluster.nodes.memory",
    "models": "workload.models",
    "jobs": "workload.jobs",
    "submission_kind": "workload.submissions",
    "submission_value": "workload.submissions",
    "scheduler": "scheduler.name",
    "migration": "migration.name",
    "side": "both",
    "pin": "pin_initial_placement",
    "seeds": "seeds",
}


def to_specification(
    base: Mapping[str, Any], values: Mapping[str, Any], parameters: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """The specification that the inputs stand for, written onto `base`.

    `values` is input name -> value; `parameters` is {"scheduler": {name: value}, "migration": {...}} without defaults.
    """
    made = copy.deepcopy(dict(base))
    made["name"] = values.get("name") or ""
    made["target"] = values.get("target") or "simulator"
    _write_nodes(made, values)
    _write_workload(made, values)
    _write_arms(made, values, parameters)
    made["seeds"] = read_seeds(values.get("seeds"))
    return made


def to_values(specification: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, Any]], list[str]]:
    """(inputs, parameters, what only the YAML can say) of a specification."""
    beyond: list[str] = []
    values: dict[str, Any] = {
        "name": specification.get("name") or "",
        "target": specification.get("target") or "simulator",
    }
    cluster, workload = _mapping(specification.get("cluster")), _mapping(specification.get("workload"))
    nodes = cluster.get("nodes")
    if isinstance(nodes, list) and len(nodes) == 1:
        nodes = nodes[0]
    if isinstance(nodes, list):
        beyond.append("several groups of nodes")
    group = _mapping(nodes if not isinstance(nodes, list) else None)
    values |= {
        "node_count": group.get("count", 1 if group else None),
        "node_cpu": _text(group.get("cpu")),
        "node_memory": _text(group.get("memory")),
    }
    models = [model for model in workload.get("models") or [] if isinstance(model, str)]
    if len(models) < len(workload.get("models") or []):
        beyond.append("spelled-out models")
    jobs = workload.get("jobs")
    if isinstance(jobs, list):
        beyond.append("a list of jobs")
    kind, value = _read_submissions(workload.get("submissions"))
    if workload.get("submissions") is not None and kind is None:
        beyond.append("submissions from a file")
    values |= {
        "models": models,
        "jobs": jobs if isinstance(jobs, int) else None,
        "submission_kind": kind or "every",
        "submission_value": value,
    }
    beyond += [
        words
        for key, words in (
            ("faults", "failures of nodes"),
            ("costs", "costs of a migration"),
            ("images", "images"),
            ("storage", "stored data"),
            ("network", "a network"),
        )
        if cluster.get(key)
    ]
    others = (("telemetry", "telemetry"), ("until", "a last second"), ("speed", "pace for watching"))
    beyond += [words for key, words in others if specification.get(key) is not None]
    side, scheduler, migration, plain = read_arms(specification)
    if not plain:
        beyond.append("arms of your own")
    values |= {
        "side": side,
        "scheduler": scheduler.get("name") or "default",
        "migration": migration.get("name") or "specon",
        # Pinned by default only where `both` stands for the arms; arms that are spelled out say so themselves.
        "pin": bool(specification.get("pin_initial_placement", bool(specification.get("both")))),
        "seeds": write_seeds(specification.get("seeds", 1)),
    }
    parameters = {
        "scheduler": {name: value for name, value in scheduler.items() if name != "name"},
        "migration": {name: value for name, value in migration.items() if name != "name"},
    }
    return values, parameters, beyond


def read_arms(specification: Mapping[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any], bool]:
    """(side, scheduler, migration, whether the form can say these arms)."""
    arms = [_mapping(arm) for arm in specification.get("arms") or []]
    if not arms:
        scheduler, migration = (
            _choice(specification.get("scheduler"), "default"),
            _choice(specification.get("migration"), ""),
        )
        if specification.get("both"):
            return "both", scheduler, migration if migration["name"] else {"name": "specon"}, True
        return ("off" if migration["name"] in ("", "none") else "on"), scheduler, migration, True
    schedulers = [_choice(arm.get("scheduler"), "default") for arm in arms]
    migrations = [_choice(arm.get("migration"), "none") for arm in arms]
    moving = [migration for migration in migrations if migration["name"] != "none"]
    chosen = moving[0] if moving else {"name": "specon"}
    simple = all("life" not in arm for arm in arms)
    if len(arms) == 1:
        return ("on" if moving else "off"), schedulers[0], chosen, simple
    usual = len(arms) == 2 and migrations[0]["name"] == "none" and len(moving) == 1 and schedulers[0] == schedulers[1]
    named = [arm.get("name") for arm in arms] == ["default", "migrated"]
    return "both", schedulers[0], chosen, simple and usual and named


def read_seeds(text: Any) -> Any:
    """Seeds as a specification takes them: a range as text, or a list; what is neither goes on and is refused there."""
    given = str(text or "").strip()
    if ".." in given:
        return given
    parts = [part.strip() for part in given.split(",") if part.strip()]
    return [int(part) for part in parts] if parts and all(part.isdecimal() for part in parts) else given


def write_seeds(seeds: Any) -> str:
    """Seeds as the input shows them."""
    if isinstance(seeds, list):
        return ", ".join(map(str, seeds))
    return f"1..{seeds}" if isinstance(seeds, int) and not isinstance(seeds, bool) and seeds > 1 else str(seeds)


def faults_by_input(
    errors: Sequence[Mapping[str, Any]],
) -> tuple[dict[str, str], dict[tuple[str, str], str], list[str]]:
    """Faults of a specification as (input -> message, (slot, parameter) -> message, the rest)."""
    inputs: dict[str, str] = {}
    parameters: dict[tuple[str, str], str] = {}
    rest: list[str] = []
    for error in errors:
        field = str(error.get("field") or "")
        message = _message(error)
        slot = _slot(field)
        if slot and slot[1] != "name":
            parameters.setdefault(slot, message)
        elif slot:
            inputs.setdefault(slot[0], message)
        elif (name := _input(field)) is not None:
            inputs.setdefault(name, message)
        else:
            rest.append(f"{field}: {message}" if field else message)
    return inputs, parameters, rest


def _input(field: str) -> str | None:
    field = field.replace("cluster.nodes.0.", "cluster.nodes.")
    if field.startswith("workload.submissions"):
        return "submission_value"
    exact = [name for name, of in FIELDS.items() if of == field]
    if exact:
        return exact[0]
    inside = [name for name, of in FIELDS.items() if field.startswith(of + ".") and name in ("models", "jobs", "seeds")]
    if inside:
        return inside[0]
    return "node_count" if field == "cluster.nodes" else None


def _slot(field: str) -> tuple[str, str] | None:
    parts = field.split(".")
    if parts[0] == "arms" and len(parts) >= 4:
        parts = parts[2:]
    if parts[0] in ("scheduler", "migration") and len(parts) >= 2:
        return parts[0], ".".join(parts[1:])
    return (parts[0], "name") if parts[0] in ("scheduler", "migration") else None


def _message(error: Mapping[str, Any]) -> str:
    message, allowed = str(error.get("message") or "is not valid"), str(error.get("allowed") or "")
    message = message[:1].upper() + message[1:]
    return f"{message}. Allowed: {allowed}." if allowed and allowed not in message else f"{message}."


def _write_nodes(made: dict[str, Any], values: Mapping[str, Any]) -> None:
    cluster = made.setdefault("cluster", {})
    nodes = cluster.get("nodes")
    if isinstance(nodes, list) and len(nodes) == 1:
        nodes = cluster["nodes"] = nodes[0]
    if isinstance(nodes, list):
        return
    cluster["nodes"] = {
        **_mapping(nodes),
        "count": values.get("node_count"),
        "cpu": values.get("node_cpu") or "",
        "memory": values.get("node_memory") or "",
    }


def _write_workload(made: dict[str, Any], values: Mapping[str, Any]) -> None:
    workload = made.setdefault("workload", {})
    spelled = [model for model in workload.get("models") or [] if not isinstance(model, str)]
    workload["models"] = list(values.get("models") or []) + spelled
    if not isinstance(workload.get("jobs"), list):
        workload["jobs"] = values.get("jobs")
        if workload["jobs"] in (None, ""):
            workload.pop("jobs")
    kind = values.get("submission_kind")
    known, _ = _read_submissions(workload.get("submissions"))
    timed = isinstance(workload.get("jobs"), list) and any(
        _mapping(job).get("at") is not None for job in workload["jobs"]
    )
    if timed or (workload.get("submissions") is not None and known is None):
        return
    start = _mapping(workload.get("submissions")).get("start")
    workload["submissions"] = write_submissions(str(kind), values.get("submission_value"))
    if start is not None and kind in ("every", "poisson"):
        workload["submissions"]["start"] = start


def write_submissions(kind: str, value: Any) -> dict[str, Any]:
    """Submissions from the kind and the text beside it; what is no number goes on as written and is refused there."""
    parts = [_number(part.strip()) for part in str(value or "").split(",") if part.strip()]
    single = parts[0] if len(parts) == 1 else (parts or str(value or ""))
    if kind == "at":
        return {"at": parts}
    if kind == "uniform":
        return {"uniform": parts}
    if kind == "poisson":
        return {"poisson": {"mean_gap": single}}
    return {"every": single}


def _read_submissions(submissions: Any) -> tuple[str | None, str]:
    given = _mapping(submissions)
    if "at" in given:
        return "at", ", ".join(_text(time) for time in given["at"] or [])
    if "every" in given:
        return "every", _text(given["every"])
    if "uniform" in given:
        return "uniform", ", ".join(_text(time) for time in given["uniform"] or [])
    poisson = given.get("poisson")
    if isinstance(poisson, Mapping) and "mean_gap" in poisson:
        return "poisson", _text(poisson["mean_gap"])
    if isinstance(poisson, Mapping) and isinstance(poisson.get("rate"), int | float) and poisson["rate"] > 0:
        return "poisson", _text(round(1 / poisson["rate"], 6))
    return None, ""


def _write_arms(made: dict[str, Any], values: Mapping[str, Any], parameters: Mapping[str, Mapping[str, Any]]) -> None:
    *_, plain = read_arms(made)
    if not plain:
        return
    scheduler = {"name": values.get("scheduler") or "default", **parameters.get("scheduler", {})}
    migration = {"name": values.get("migration") or "specon", **parameters.get("migration", {})}
    for name in ("arms", "both", "scheduler", "migration"):
        made.pop(name, None)
    side = values.get("side")
    pin = bool(values.get("pin"))
    if side == "both":
        made |= {"both": True, "scheduler": scheduler, "migration": migration, "pin_initial_placement": pin}
    else:
        moved = side == "on"
        arm = {
            "name": "migrated" if moved else "default",
            "scheduler": scheduler,
            "migration": migration if moved else {"name": "none"},
        }
        made["arms"] = [arm]
        made.pop("pin_initial_placement", None)


def _choice(value: Any, default: str) -> dict[str, Any]:
    if isinstance(value, str):
        return {"name": value}
    return {"name": default, **_mapping(value)}


def _mapping(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _number(text: str) -> Any:
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if value.is_integer() and abs(value) < 1e15 and "e" not in text.lower() else value


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
