import pytest

from backend.model.quantities import QuantityError, cpu_millis, format_cpu, format_memory, memory_bytes


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("1", 1000),
        (2, 2000),
        (1.5, 1500),
        ("500m", 500),
        ("1.5", 1500),
        ("1e3", 1_000_000),
        ("0.0001", 1),  # less than a millicore is rounded up
        ("100u", 1),
        ("2k", 2_000_000),
        ("-1", -1000),
    ],
)
def test_cpu(text: str | float, millis: int) -> None:
    assert cpu_millis(text) == millis


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2Gi", 2 * 2**30),
        ("1G", 10**9),
        ("100Ki", 102_400),
        ("128974848", 128_974_848),
        ("1.5Gi", 3 * 2**29),
        ("1E", 10**18),
        ("1e3", 1000),
        ("1E3", 1000),
        ("0", 0),
    ],
)
def test_memory(text: str, size: int) -> None:
    assert memory_bytes(text) == size


@pytest.mark.parametrize(
    "text", ["", " ", "abc", "1 Gi", "5MB", "Gi", "1.2.3", "nan", "inf", "--1", "1e99999", "١", "1_000", True, "9" * 50]
)
def test_what_is_no_quantity_is_refused(text: str | bool) -> None:
    with pytest.raises(QuantityError):
        memory_bytes(text)


def test_a_quantity_beyond_64_bits_is_refused() -> None:
    with pytest.raises(QuantityError, match="out of range"):
        memory_bytes("16Ei")


@pytest.mark.parametrize(("millis", "text"), [(2000, "2"), (500, "500m"), (0, "0")])
def test_format_cpu(millis: int, text: str) -> None:
    assert format_cpu(millis) == text


@pytest.mark.parametrize(("size", "text"), [(2**30, "1Gi"), (3 * 2**29, "1536Mi"), (1500, "1500"), (0, "0")])
def test_format_memory(size: int, text: str) -> None:
    assert format_memory(size) == text
