import base64
import itertools
import json
import re

import numpy as np
import pytest

from dashboard.figures import comparison, cpu, density, placement, progress
from dashboard.figures.arrays import floats, typed
from dashboard.figures.lanes import Bar, Swimlane, swimlane
from dashboard.figures.timeaxis import axis, clock, ticks
from tests.unit.dashboard import sample

HOSTILE = '<img src=x onerror="alert(1)">'
JOBS = [
    {"job": "a", "a_s": 100.0, "b_s": 80.0},
    {"job": "b", "a_s": 50.0, "b_s": 60.0},
    {"job": "c", "a_s": 70.0, "b_s": None},
    {"job": "d", "a_s": 90.0, "b_s": 30.0},
]


def swim(**changed) -> Swimlane:
    given = {
        "segments": sample.SEGMENTS, "jobs": sample.JOBS, "migrations": sample.MIGRATIONS,
        "categories": sample.CATEGORIES, "nodes": sample.NODES, "end": 120.0,
    }  # fmt: skip
    return swimlane(**{**given, **changed})


def many(count: int) -> Swimlane:
    bars = [Bar(f"n{i % 50}", 0, i * 0.1, i * 0.1 + 4, "progressing", f"j{i}", f"j{i}") for i in range(count)]
    lanes = [f"n{i}" for i in range(50)]
    return Swimlane(lanes, dict.fromkeys(lanes, 1), bars, [], count * 0.1 + 4, [f"j{i}" for i in range(count)])


def decoded(spec: dict[str, str]) -> np.ndarray:
    array = np.frombuffer(base64.b64decode(spec["bdata"]), dtype=spec["dtype"])
    return array.reshape([int(size) for size in spec["shape"].split(",")]) if "shape" in spec else array


# -- axes and arrays


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0:00"), (150, "2:30"), (59.96, "1:00"), (3750, "1:02:30"), (0.5, "0:00.5"), (-30, "−0:30")],
    ids=str,
)
def test_times_are_read_like_a_clock(seconds: float, shown: str) -> None:
    assert clock(seconds) == shown


@pytest.mark.parametrize("span", [0.4, 7, 61, 1800, 86400, 3_000_000], ids=str)
def test_a_time_axis_has_a_few_round_ticks(span: float) -> None:
    values = ticks(0, span)
    assert 2 <= len(values) <= 10
    assert len({round(b - a, 6) for a, b in itertools.pairwise(values)}) == 1


def test_a_time_axis_is_linear_with_its_own_texts() -> None:
    made = axis(300.0)
    assert made["type"] == "linear"
    assert (
        made["ticktext"][made["tickvals"].index(150)] == "2:30"
        if 150 in made["tickvals"]
        else "1:00" in made["ticktext"]
    )


def test_arrays_keep_their_bytes_and_shape() -> None:
    spec = typed(np.array([[1, 255], [0, 7]], dtype=np.uint8))
    assert decoded(spec).tolist() == [[1, 255], [0, 7]]
    assert np.isnan(decoded(floats([1.5, None]))[1])


# -- placement


def test_bars_are_grouped_by_state_and_carry_no_text() -> None:
    data = placement.view(swim(), colour="category", theme="light", revision="r").figure["data"]
    bars = [trace for trace in data if trace["type"] == "bar"]
    assert [trace["name"] for trace in bars] == [
        "waiting for a node", "starting", "progressing", "watching", "converged", "in transit (migrating)",
    ]  # fmt: skip
    assert {trace["textposition"] for trace in bars} == {"none"}


def test_every_state_differs_by_more_than_its_colour() -> None:
    data = placement.view(swim(), colour="category", theme="light", revision="r").figure["data"]
    patterns = [trace["marker"].get("pattern", {}).get("shape", "") for trace in data if trace["type"] == "bar"]
    marked = [pattern for pattern in patterns if pattern]
    assert len(marked) == len(set(marked)) == 4  # plain: waiting (own lane) and progressing


def test_migrations_are_one_trace_of_arrows() -> None:
    data = placement.view(swim(), colour="category", theme="light", revision="r").figure["data"]
    (arrows,) = [trace for trace in data if trace["name" if "name" in trace else "type"] == "migration"]
    assert arrows["marker"]["angleref"] == "previous"
    assert arrows["marker"]["symbol"] == ["circle", "arrow", "circle"]


@pytest.mark.parametrize(
    ("count", "kind"), [(placement.BAR_LIMIT, "bar"), (placement.BAR_LIMIT + 1, "heatmap")], ids=["bars", "density"]
)
def test_more_bars_than_the_limit_become_a_heatmap(count: int, kind: str) -> None:
    view = placement.view(many(count), colour="category", theme="light", revision="r")
    assert view.figure["data"][0]["type"] == kind
    assert bool(view.note) == (kind == "heatmap")


def test_zooming_into_the_dense_form_shows_bars_again() -> None:
    view = placement.view(many(20_000), colour="category", theme="light", revision="r", window=(0.0, 100.0))
    assert view.figure["data"][0]["type"] == "bar"
    assert view.figure["layout"]["meta"]["windowed"] is True


def test_the_dense_form_counts_pods_and_takes_the_commonest_state() -> None:
    bars = [Bar("n", 0, 0, 50, "progressing", "a", "a"), Bar("n", 1, 0, 50, "watching", "b", "b"),
            Bar("n", 2, 0, 25, "watching", "c", "c")]  # fmt: skip
    dominant, pods = density.dominant_states(["n"], bars, (0.0, 100.0))
    assert [density.LEVELS[level] for level in (dominant[0, 0], dominant[0, 200], dominant[0, 300])] == [
        "watching", "progressing", "idle",
    ]  # fmt: skip
    assert [int(pods[0, at]) for at in (0, 200, 300)] == [3, 2, 0]


def test_by_job_all_pods_of_a_job_have_one_colour() -> None:
    data = placement.view(swim(), colour="job", theme="light", revision="r").figure["data"]
    assert [trace["name"] for trace in data if trace["type"] == "bar"][-3:] == ["a", "b", "c"]


def test_two_runs_share_one_time_axis() -> None:
    figure = placement.pair(("A", swim()), ("B", swim(end=240.0)), colour="category", theme="dark", revision="r").figure
    assert figure["layout"]["xaxis"]["range"][1] == pytest.approx(240 * 1.01)
    assert {"yaxis", "yaxis2"} <= figure["layout"].keys()
    assert "xaxis2" not in figure["layout"]


def test_a_view_without_data_says_why() -> None:
    view = placement.view(swim(segments=sample.empty(sample.SEGMENTS)), colour="category", theme="light", revision="r")
    assert view.figure is None
    assert "record" in view.summary


def test_the_summary_counts_jobs_nodes_and_migrations() -> None:
    view = placement.view(swim(), colour="category", theme="light", revision="r")
    assert view.summary == "3 jobs on 2 nodes until 2:00, 1 migration of 1 job."


def test_hostile_names_are_text() -> None:
    segments = {**sample.SEGMENTS, "job": [HOSTILE] * 4, "node": [HOSTILE] * 4}
    figure = placement.view(swim(segments=segments), colour="job", theme="light", revision="r").figure
    assert "<img" not in json.dumps(figure)


def test_zoom_survives_new_data_and_another_theme() -> None:
    layouts = [
        placement.view(swim(end=end), colour="category", theme=theme, revision="r").figure["layout"]
        for end, theme in ((120.0, "light"), (150.0, "dark"))
    ]
    assert layouts[0]["uirevision"] == layouts[1]["uirevision"]


# -- CPU


def test_cpu_is_one_byte_a_cell_and_absence_is_not_zero() -> None:
    percent, edges = cpu.matrix(sample.usage(), sample.NODES, 120.0)
    assert percent.dtype == np.uint8
    assert set(percent[0].tolist()) == {50}
    gone = percent[1] == cpu.NO_DATA
    assert [(edges[i], edges[i + 1]) for i in np.flatnonzero(gone)] == [(40, 50), (50, 60), (60, 70), (70, 80)]
    assert set(percent[1][~gone].tolist()) == {25}


def test_cpu_outside_the_scale_is_clamped() -> None:
    usage = {**sample.usage(), "cpu_millis": [-5.0, 99000.0] * 10}
    percent, _ = cpu.matrix(usage, sample.NODES, 120.0)
    assert set(percent[percent != cpu.NO_DATA].tolist()) <= {0, 50, 100}


def test_stretches_without_data_are_hatched() -> None:
    figure = cpu.heatmap(sample.usage(), sample.NODES, 120.0, theme="light", revision="r").figure
    hatch = figure["data"][-1]
    assert (hatch["name"], hatch["base"], hatch["x"], hatch["marker"]["pattern"]["shape"]) == (
        "no data",
        [40.0],
        [40.0],
        "/",
    )


def test_a_large_heatmap_stays_small() -> None:
    nodes = [f"n{i}" for i in range(1000)]
    usage = {
        "time_s": np.repeat(np.arange(10.0, 1210.0, 10.0), 1000).tolist(),
        "node": nodes * 120,
        "cpu_millis": [8000.0] * 120_000,
        "capacity_millis": [16000.0] * 120_000,
    }
    figure = cpu.heatmap(usage, nodes, 1200.0, theme="light", revision="r").figure
    assert len(json.dumps(figure)) < 300_000


@pytest.mark.parametrize("view", ["heatmap", "lines", "areas"])
def test_a_record_without_cpu_says_so(view: str) -> None:
    nothing = sample.empty(sample.usage())
    made = {
        "heatmap": lambda: cpu.heatmap(nothing, sample.NODES, 1.0, theme="light", revision="r"),
        "lines": lambda: cpu.lines(nothing, sample.NODES, 1.0, theme="light", revision="r"),
        "areas": lambda: cpu.areas([("A", nothing, 1.0), ("B", nothing, 1.0)], theme="light", revision="r"),
    }[view]()
    assert made.figure is None
    assert "no CPU samples" in made.summary


def test_lines_are_limited_and_told_apart_without_colour() -> None:
    nodes = [f"n{i}" for i in range(30)]
    figure = cpu.lines(sample.usage(), nodes, 120.0, theme="light", revision="r").figure
    assert len(figure["data"]) == cpu.LINE_LIMIT
    assert len({trace["line"]["dash"] for trace in figure["data"]}) == len(cpu.DASHES)


def test_both_areas_share_their_axes() -> None:
    layout = cpu.areas(
        [("A", sample.usage(), 120.0), ("B", sample.usage(60), 60.0)], theme="light", revision="r"
    ).figure["layout"]
    assert (layout["xaxis2"]["matches"], layout["yaxis2"]["matches"]) == ("x", "y")


def test_the_cluster_adds_up_its_nodes() -> None:
    times, used, present = cpu.cluster_total(sample.usage())
    at = {time: (cores, all_cores) for time, cores, all_cores in zip(times, used, present, strict=True)}
    assert at[10.0] == (12.0, 32.0)
    assert at[60.0] == (8.0, 16.0)


# -- progress


def curves(**changed):
    given = {"chosen": ["a", "b"], "end": 120.0, "theme": "light", "revision": "r", **changed}
    return progress.view(sample.progress(), sample.CATEGORIES, sample.MIGRATIONS, **given)


def test_each_chosen_job_has_a_panel_with_bands_and_its_migration() -> None:
    figure = curves().figure
    drawn = [trace for trace in figure["data"] if trace.get("uid", "").startswith("curve-")]
    assert len(drawn) == 2
    bands = [
        (s["x0"], s["x1"], s["y1"]) for s in figure["layout"]["shapes"] if s["type"] == "rect" and s["xref"] == "x"
    ]
    assert bands == [(10.0, 40.0, 1.0), (40.0, 55.0, 0.55), (55.0, 120.0, 0.25)]
    assert [shape["x0"] for shape in figure["layout"]["shapes"] if shape["type"] == "line"] == [60.0]


def test_no_more_panels_than_can_be_read() -> None:
    many_jobs = tuple(f"j{i}" for i in range(40))
    view = progress.view(
        sample.progress(many_jobs), sample.empty(sample.CATEGORIES), sample.empty(sample.MIGRATIONS), many_jobs, 120.0,
        theme="light", revision="r",
    )  # fmt: skip
    assert len(view.rows) == progress.PANEL_LIMIT


def test_long_curves_keep_their_last_point() -> None:
    view = progress.view(
        sample.progress(("a",), 20_000), sample.empty(sample.CATEGORIES), sample.empty(sample.MIGRATIONS), ["a"], 20e3,
        theme="light", revision="r",
    )  # fmt: skip
    x = decoded(view.figure["data"][0]["x"])
    assert len(x) <= progress.POINTS + 1
    assert x[-1] == 20_000


# -- comparison


def test_the_dumbbell_is_sorted_by_gain_and_leaves_out_unpaired_jobs() -> None:
    view = comparison.dumbbell(JOBS, ("default", "migrated"), theme="light", revision="r")
    assert [row[0] for row in view.rows] == ["d", "a", "b"]
    assert view.rows[0][3:] == (-60.0, -66.7)
    assert view.summary == "3 jobs finished in both arms; migrated is faster for 2 and slower for 1."


def test_faster_and_slower_differ_by_dash_and_arms_by_symbol() -> None:
    data = comparison.dumbbell(JOBS, ("default", "migrated"), theme="light", revision="r").figure["data"]
    assert len({trace["line"]["dash"] for trace in data if trace["mode"] == "lines"}) == 2
    assert len({trace["marker"]["symbol"] for trace in data if trace["mode"] == "markers"}) == 2


def test_many_jobs_become_a_scatter_with_a_diagonal() -> None:
    jobs = [{"job": f"j{i}", "a_s": 10.0 + i, "b_s": 12.0 + i} for i in range(comparison.DUMBBELL_LIMIT + 1)]
    figure = comparison.dumbbell(jobs, ("A", "B"), theme="light", revision="r").figure
    assert figure["data"][0]["name"] == "equal"


def test_the_ecdf_ends_at_all_jobs() -> None:
    view = comparison.ecdf(JOBS, ("default", "migrated"), theme="light", revision="r")
    assert decoded(view.figure["data"][0]["y"])[-1] == 100
    assert view.summary.startswith("default: half of 4 jobs within 1:10, all within 1:40.")


def test_nothing_to_pair_is_said() -> None:
    assert comparison.dumbbell([], ("A", "B"), theme="light", revision="r").summary == comparison.NO_PAIRS


# -- all views


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_axis_has_a_unit_or_names_things_and_every_view_a_table(theme: str) -> None:
    views = [
        placement.view(swim(), colour="category", theme=theme, revision="r"),
        cpu.heatmap(sample.usage(), sample.NODES, 120.0, theme=theme, revision="r"),
        cpu.lines(sample.usage(), sample.NODES, 120.0, theme=theme, revision="r"),
        cpu.areas([("A", sample.usage(), 120.0), ("B", sample.usage(), 120.0)], theme=theme, revision="r"),
        curves(theme=theme),
        comparison.dumbbell(JOBS, ("default", "migrated"), theme=theme, revision="r"),
        comparison.ecdf(JOBS, ("default", "migrated"), theme=theme, revision="r"),
    ]
    for view in views:
        layout = view.figure["layout"]
        titles = [layout[name].get("title", {}).get("text", "") for name in layout if re.match(r"xaxis\d*$", name)]
        assert any("m:ss" in title for title in titles)
        assert view.rows
        assert len(view.headings) == len(view.rows[0])
        assert view.summary.endswith(".")
        json.dumps(view.figure)


@pytest.mark.parametrize("place", [0, 1], ids=["first", "second"])
def test_a_side_without_data_yet_keeps_its_panel(place: int) -> None:
    """plotly.js draws the axes of a panel without a trace at NaN."""
    nothing = swim(segments=sample.empty(sample.SEGMENTS), jobs=sample.empty(sample.JOBS))
    swims, usages = [swim(), swim()], [sample.usage(), sample.usage()]
    swims[place], usages[place] = nothing, sample.empty(sample.usage())
    lanes = placement.pair(("A", swims[0]), ("B", swims[1]), colour="category", theme="light", revision="r").figure
    area = cpu.areas([("A", usages[0], 9.0), ("B", usages[1], 9.0)], theme="light", revision="r").figure
    for figure in (lanes, area):
        assert {trace.get("yaxis", "y") for trace in figure["data"]} == {"y", "y2"}
        assert all(len(decoded(trace["x"]) if isinstance(trace["x"], dict) else trace["x"]) for trace in figure["data"])


def test_a_run_without_lanes_stands_beside_one_with_lanes() -> None:
    """A pair whose second run has not begun: it has no node yet."""
    nothing = swim(segments=sample.empty(sample.SEGMENTS), jobs=sample.empty(sample.JOBS), nodes=[])
    assert nothing.lanes == []
    view = placement.pair(("a", swim()), ("b", nothing), colour="category", theme="light", revision="r")
    assert view.figure is not None


def test_lanes_too_thin_for_their_names_are_named_here_and_there() -> None:
    lanes = [f"n{k}" for k in range(300)]
    thin = Swimlane(lanes, dict.fromkeys(lanes, 1), [], [], 100.0)
    named = placement._lane_axis(thin, placement._offsets(thin), [0.0, 1.0], "", 3.5)
    assert named["ticktext"][:2] == ["n0", "n3"]
    assert len(named["ticktext"]) == len(named["tickvals"]) == 100
