"""Default and migrated side by side: a dumbbell per job and the distribution of completion times."""

from collections.abc import Mapping, Sequence
from typing import Any

from dashboard.figures.arrays import floats
from dashboard.figures.layout import base, legend_space
from dashboard.figures.palette import palette
from dashboard.figures.timeaxis import about, axis, clock
from dashboard.figures.view import View, text

DUMBBELL_LIMIT = 40
"""Rows that stay readable (ux.md section 3); with more jobs the same data are a scatter with a diagonal."""

NO_PAIRS = "No job has finished in both arms yet, so there is nothing to pair."


def paired(jobs: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Jobs finished in both arms, largest gain of B first."""
    both = [job for job in jobs if job.get("a_s") is not None and job.get("b_s") is not None]
    return sorted(both, key=lambda job: (job["b_s"] - job["a_s"], job["job"]))


def dumbbell(jobs: Sequence[Mapping[str, Any]], labels: tuple[str, str], *, theme: str, revision: str) -> View:
    """Completion time of each job in both arms, joined by a line coloured and drawn by who was faster."""
    pairs = paired(jobs)
    if not pairs:
        return View(None, NO_PAIRS)
    summary = _summary(pairs, labels)
    headings = ("job", f"{labels[0]} (s)", f"{labels[1]} (s)", "difference (s)", "%")
    rows = [
        (job["job"], round(job["a_s"], 1), round(job["b_s"], 1), round(job["b_s"] - job["a_s"], 1), _percent(job))
        for job in pairs
    ]
    if len(pairs) > DUMBBELL_LIMIT:
        return View(_scatter(pairs, labels, theme, revision), summary, headings, rows)
    colours = palette(theme)
    names = [text(job["job"]) for job in pairs]
    data: list[dict[str, Any]] = []
    for faster, name, shade, dash in (
        (True, f"{labels[1]} faster", colours.better, "solid"),
        (False, f"{labels[1]} slower", colours.worse, "dot"),
    ):
        x: list[float | None] = []
        y: list[str | None] = []
        for job, label in zip(pairs, names, strict=True):
            change = job["b_s"] - job["a_s"]
            if (change < 0) == faster and change != 0:
                x += [job["a_s"], job["b_s"], None]
                y += [label, label, None]
        if x:
            line = {"color": shade, "width": 3, "dash": dash}
            data.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": text(name),
                    "x": x,
                    "y": y,
                    "line": line,
                    "hoverinfo": "skip",
                }
            )
    for key, label, shade, symbol in (
        ("a_s", labels[0], colours.baseline, "circle-open"),
        ("b_s", labels[1], colours.candidate, "diamond"),
    ):
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": text(label),
                "x": [job[key] for job in pairs],
                "y": names,
                "marker": {"symbol": symbol, "size": 10, "color": shade, "line": {"width": 2, "color": shade}},
                "customdata": [[_signed(job), clock(job[key])] for job in pairs],
                "hovertemplate": f"<b>%{{y}}</b><br>{text(label)}: %{{customdata[1]}} (%{{x:.1f}} s)"
                "<br>%{customdata[0]}<extra></extra>",
            }
        )
    longest = max(max(job["a_s"], job["b_s"]) for job in pairs)
    legend = legend_space([f"{labels[1]} faster", f"{labels[1]} slower", *labels], 520)
    layout = base(
        colours,
        height=max(360, 19 * len(pairs) + legend + 56),
        revision=f"{revision}:dumbbell",
        xaxis=axis(longest * 1.05, title="completion time (m:ss), submission to finish"),
        # Best job on top: categories are drawn from below, so the order is turned round.
        yaxis={
            "type": "category",
            "categoryorder": "array",
            "categoryarray": names[::-1],
            "range": [-0.7, len(names) - 0.3],
            "showgrid": True,
        },
        margin={"l": 80, "r": 16, "t": legend, "b": 48},
    )
    return View({"data": data, "layout": layout}, summary, headings, rows)


def _scatter(pairs: Sequence[Mapping[str, Any]], labels: tuple[str, str], theme: str, revision: str) -> dict[str, Any]:
    colours = palette(theme)
    longest = max(max(job["a_s"], job["b_s"]) for job in pairs) * 1.05
    data: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": "equal",
            "x": [0, longest],
            "y": [0, longest],
            "line": {"color": colours.muted, "width": 1, "dash": "dash"},
            "hoverinfo": "skip",
        }
    ]
    for faster, name, shade, symbol in (
        (True, f"{labels[1]} faster", colours.better, "triangle-down"),
        (False, f"{labels[1]} not faster", colours.worse, "triangle-up"),
    ):
        mine = [job for job in pairs if (job["b_s"] < job["a_s"]) == faster]
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": text(name),
                "x": floats([job["a_s"] for job in mine]),
                "y": floats([job["b_s"] for job in mine]),
                "text": [text(job["job"]) for job in mine],
                "marker": {"symbol": symbol, "size": 7, "color": shade, "opacity": 0.75},
                "hovertemplate": "<b>%{text}</b><br>%{x:.1f} s → %{y:.1f} s<extra></extra>",
            }
        )
    return {
        "data": data,
        "layout": base(
            colours,
            height=360,
            revision=f"{revision}:scatter",
            xaxis=axis(longest, title=f"{text(labels[0])} (m:ss)"),
            yaxis=axis(longest, title=f"{text(labels[1])} (m:ss)"),
            margin={
                "l": 72,
                "r": 16,
                "t": legend_space(["equal", f"{labels[1]} faster", f"{labels[1]} not faster"], 520),
                "b": 48,
            },
        ),
    }


def ecdf(jobs: Sequence[Mapping[str, Any]], labels: tuple[str, str], *, theme: str, revision: str) -> View:
    """Share of jobs done within a time, both arms."""
    colours = palette(theme)
    data: list[dict[str, Any]] = []
    rows, said = [], []
    longest = 0.0
    for key, label, shade, dash in (
        ("a_s", labels[0], colours.baseline, "dash"),
        ("b_s", labels[1], colours.candidate, "solid"),
    ):
        times = sorted(job[key] for job in jobs if job.get(key) is not None)
        if not times:
            continue
        longest = max(longest, times[-1])
        shares = [100 * (index + 1) / len(times) for index in range(len(times))]
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": text(label),
                "x": floats([0.0, times[0], *times]),
                "y": floats([0.0, 0.0, *shares]),
                "line": {"shape": "hv", "width": 2.2, "color": shade, "dash": dash},
                "hovertemplate": f"{text(label)}: %{{y:.0f}} % of jobs within %{{x:.1f}} s<extra></extra>",
            }
        )
        rows += [(label, round(time, 1), round(share, 1)) for time, share in zip(times, shares, strict=True)]
        half = about(times[(len(times) - 1) // 2])
        said.append(f"{label}: half of {len(times)} jobs within {half}, all within {about(times[-1])}.")
    if not data:
        return View(None, NO_PAIRS)
    layout = base(
        colours,
        height=360,
        revision=f"{revision}:ecdf",
        xaxis=axis(longest * 1.05, title="completion time (m:ss)"),
        yaxis={"title": {"text": "jobs finished (%)"}, "range": [0, 103], "zeroline": False},
        margin={"l": 64, "r": 16, "t": legend_space(labels, 480), "b": 48},
        showlegend=True,
    )
    return View({"data": data, "layout": layout}, " ".join(said), ("arm", "completion (s)", "% of jobs"), rows)


def _summary(pairs: Sequence[Mapping[str, Any]], labels: tuple[str, str]) -> str:
    faster = sum(job["b_s"] < job["a_s"] for job in pairs)
    slower = sum(job["b_s"] > job["a_s"] for job in pairs)
    return f"{len(pairs)} jobs finished in both arms; {labels[1]} is faster for {faster} and slower for {slower}."


def _percent(job: Mapping[str, Any]) -> float | None:
    return round(100 * (job["b_s"] - job["a_s"]) / job["a_s"], 1) if job["a_s"] else None


def _signed(job: Mapping[str, Any]) -> str:
    change = job["b_s"] - job["a_s"]
    percent = _percent(job)
    words = f"B − A: {change:+.1f} s"
    return words if percent is None else f"{words} ({percent:+.1f} %)"
