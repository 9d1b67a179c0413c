"""Types of parameters that the specification, the policies, the form, the API and the CLI share.

Each accepts what a person writes ("16", "64Gi", 2.5) and holds base units; each says what is allowed when it refuses.
"""

import math
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from backend.model import quantities


class Parameters(BaseModel):
    """Base of every set of parameters: unknown names are refused, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def _cpu(value: Any) -> int:
    return _quantity(value, quantities.cpu_millis)


def _memory(value: Any) -> int:
    return _quantity(value, quantities.memory_bytes)


def _quantity(value: Any, read: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("must be a quantity such as 2, '500m' or '64Gi'")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("must be a finite quantity such as 2, '500m' or '64Gi'")
    amount = int(read(value))
    if amount < 0:
        raise ValueError("must not be negative")
    return amount


def _no_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("must be a number, not true or false")
    return value


def _positive(value: int) -> int:
    if value == 0:
        raise ValueError("must be more than zero")
    return value


Cpu = Annotated[
    int,
    BeforeValidator(_cpu, json_schema_input_type=str | float),
    PlainSerializer(quantities.format_cpu, return_type=str),
]
"""A CPU quantity ("2", "500m", 1.5), held in millicores; zero is allowed. Dumped as a quantity again."""
PositiveCpu = Annotated[Cpu, AfterValidator(_positive)]
Memory = Annotated[
    int,
    BeforeValidator(_memory, json_schema_input_type=str | float),
    PlainSerializer(quantities.format_memory, return_type=str),
]
"""A memory quantity ("64Gi", 1e9), held in bytes; zero is allowed. Dumped as it is written."""
PositiveMemory = Annotated[Memory, AfterValidator(_positive)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False), BeforeValidator(_no_bool)]
"""A time or duration in seconds, from 0 on."""
PositiveSeconds = Annotated[float, Field(gt=0, allow_inf_nan=False), BeforeValidator(_no_bool)]
SHORTEST_PERIOD_S = 0.01
"""A period below a hundredth of a second watches nothing that a job does and fills logs without end."""
Period = Annotated[float, Field(ge=SHORTEST_PERIOD_S, allow_inf_nan=False), BeforeValidator(_no_bool)]
"""Seconds between two looks at something."""


def _period_or_never(value: float) -> float:
    if 0 < value < SHORTEST_PERIOD_S:
        raise ValueError(f"must be 0 (never) or at least {SHORTEST_PERIOD_S:g}")
    return value


PeriodOrNever = Annotated[Seconds, AfterValidator(_period_or_never)]
"""Seconds between two looks at something; 0 is never."""
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False), BeforeValidator(_no_bool)]
"""A number from 0 on that is no duration, such as a threshold or a factor."""
Count = Annotated[int, Field(ge=0), BeforeValidator(_no_bool)]
PositiveCount = Annotated[int, Field(ge=1), BeforeValidator(_no_bool)]
Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False), BeforeValidator(_no_bool)]
ObjectName = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?$")]
"""A name as Kubernetes takes it: small letters, digits and dashes. 53 characters leave room for "-migrated"."""
