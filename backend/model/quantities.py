"""Kubernetes quantities ("500m", "1.5", "64Gi", "1e3") to base units and back.

CPU is held in millicores and memory in bytes, both whole numbers: sums of requests are then exact.
"""

from decimal import ROUND_CEILING, Decimal, InvalidOperation

_SUFFIXES: dict[str, Decimal] = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "P": Decimal(10**15),
    "E": Decimal(10**18),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}

MAX_BASE_UNITS = 2**63 - 1
"""Sums are kept in 64-bit columns; a quantity beyond that is a mistake and not a machine."""


class QuantityError(ValueError):
    """A text that is no Kubernetes quantity, or one out of range."""


def _shown(text: str | int | float) -> str:
    """The text as a message has it."""
    shown = repr(text)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def parse_quantity(text: str | int | float) -> Decimal:
    """Value of a quantity in its base unit (cores, bytes). Raises QuantityError."""
    if isinstance(text, bool):
        raise QuantityError(f"{_shown(text)} is not a quantity such as '500m', '2' or '64Gi'")
    raw = str(text).strip()
    number, suffix = raw, ""
    for length in (2, 1):
        if len(raw) > length and raw[-length:] in _SUFFIXES:
            number, suffix = raw[:-length], raw[-length:]
            break
    allowed = set("0123456789+-.eE")
    if not raw or len(raw) > 40 or not set(number) <= allowed:
        raise QuantityError(f"{_shown(text)} is not a quantity such as '500m', '2' or '64Gi'")
    try:
        value = Decimal(number)
    except InvalidOperation:
        raise QuantityError(f"{_shown(text)} is not a quantity such as '500m', '2' or '64Gi'") from None
    if not value.is_finite() or abs(value.adjusted()) > 30:
        raise QuantityError(f"{_shown(text)} is out of range for a quantity")
    return value * _SUFFIXES[suffix]


def _base_units(text: str | int | float, scale: int) -> int:
    units = int((parse_quantity(text) * scale).to_integral_value(ROUND_CEILING))
    if abs(units) > MAX_BASE_UNITS:
        raise QuantityError(f"{_shown(text)} is out of range for a quantity")
    return units


def cpu_millis(text: str | int | float) -> int:
    """Millicores of a CPU quantity: "2" and 2 are 2000, "500m" is 500; parts are rounded up, as Kubernetes does."""
    return _base_units(text, 1000)


def memory_bytes(text: str | int | float) -> int:
    """Bytes of a memory quantity: "64Gi", "1500M", "1e9"; parts are rounded up, as Kubernetes does."""
    return _base_units(text, 1)


def format_cpu(millis: int) -> str:
    """Shortest quantity for millicores: 2000 -> "2", 500 -> "500m"."""
    return str(millis // 1000) if millis % 1000 == 0 else f"{millis}m"


def format_memory(size_bytes: int) -> str:
    """Shortest exact quantity for bytes: 2**30 -> "1Gi", 1500 -> "1500"."""
    for suffix in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki"):
        unit = int(_SUFFIXES[suffix])
        if size_bytes and size_bytes % unit == 0:
            return f"{size_bytes // unit}{suffix}"
    return str(size_bytes)
