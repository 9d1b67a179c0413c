"""Named sets of scores with their weights (skippy-faas-sim.md, sections 2, 4 and 9.5)."""

from typing import Literal, get_args

SKIPPY = ("BalancedResource", "LatencyAwareImageLocality", "LocalityType", "DataLocality", "Capability")
KUBE = ("BalancedResource", "ImageLocality")
DEVICES = ("CapabilityMatching", "ExecutionTime", "Contention")

SetName = Literal["skippy", "urban", "iiot", "cloud", "kube", "vanilla", "ga"]

SETS: dict[str, tuple[tuple[str, ...], tuple[float, ...]]] = {
    "skippy": (SKIPPY, (1.0, 1.0, 1.0, 1.0, 1.0)),
    "urban": (SKIPPY, (6.66109, 2.77657, 6.69114, 8.47306, 1.06714)),
    "iiot": (SKIPPY, (8.29646, 1.54538, 0.62121, 9.67983, 6.96152)),
    "cloud": (SKIPPY, (0.65992, 6.92733, 0.73502, 5.81942, 0.6711)),
    "kube": (KUBE, (1.0, 1.0)),
    "vanilla": (KUBE, (1.0, 1.0)),
    "ga": (DEVICES, (1.0, 1.0, 1.0)),
}
"""Set -> scores in the order in which they are added up, and their weights.

The weights of urban, iiot and cloud were found by an optimisation for the scenario of that name.
"""
assert set(SETS) == set(get_args(SetName))

DEVICE_FILTERS = ("CanRun", "NodeHasAccelerator", "NodeHasFreeGpu", "NodeHasFreeTpu")
"""What the heterogeneous edge evaluation filters by besides resources and storage nodes (section 9.8)."""
SET_FILTERS: dict[str, tuple[str, ...]] = {"vanilla": DEVICE_FILTERS, "ga": DEVICE_FILTERS}
"""Filters that belong to a set."""
DEFAULT_FILTERS = ("PodFitsResources", "CheckNodeLabelPresence")
