"""What node-exporter would show of the embedded nodes, in Prometheus' text format 0.0.4."""

from collections.abc import Sequence

from backend.embedded.world import NodeUse
from backend.model.labels import architecture

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_FAMILIES = (
    ("node_cpu_seconds_total", "counter", "Seconds the CPUs spent in each mode."),
    ("node_memory_MemTotal_bytes", "gauge", "Memory of the node."),
    ("node_memory_MemAvailable_bytes", "gauge", "Memory that is free for use."),
    ("node_load1", "gauge", "Cores in use at this moment; the embedded cluster keeps no mean over a minute."),
    ("node_uname_info", "gauge", "Name and machine of the node."),
)


def page(nodes: Sequence[NodeUse], *, named: bool = True) -> str:
    """The page of one node (`named` False: as node-exporter has it), or of several, each line with a label `node`."""
    lines: dict[str, list[str]] = {name: [] for name, _, _ in _FAMILIES}
    for use in nodes:
        own = f'node="{escape(use.node.name)}"' if named else ""
        for cpu, (busy, idle) in enumerate(_by_cpu(use)):
            for mode, seconds in (("user", busy), ("idle", idle)):
                labels = ",".join(filter(None, (own, f'cpu="{cpu}"', f'mode="{mode}"')))
                lines["node_cpu_seconds_total"].append(f"node_cpu_seconds_total{{{labels}}} {seconds:.6f}")
        free = max(0, use.node.memory_bytes - use.memory_bytes)
        for name, value in (
            ("node_memory_MemTotal_bytes", str(use.node.memory_bytes)),
            ("node_memory_MemAvailable_bytes", str(free)),
            ("node_load1", f"{use.used_cores:.6f}"),
        ):
            lines[name].append(f"{name}{{{own}}} {value}" if own else f"{name} {value}")
        machine = architecture(use.node.labels) or "amd64"
        labels = ",".join(
            filter(
                None, (own, f'nodename="{escape(use.node.name)}"', f'machine="{escape(machine)}"', 'sysname="Linux"')
            )
        )
        lines["node_uname_info"].append(f"node_uname_info{{{labels}}} 1")
    text = []
    for name, kind, words in _FAMILIES:
        if lines[name]:
            text += [f"# HELP {name} {words}", f"# TYPE {name} {kind}", *lines[name]]
    return "\n".join(text) + "\n"


def _by_cpu(use: NodeUse) -> list[tuple[float, float]]:
    """Busy and idle seconds of each CPU; the node's busy time is spread evenly, as a fair scheduler would."""
    count = max(1, -(-use.node.cpu_millis // 1000))
    cores = use.node.cpu_millis / 1000
    each = use.busy_core_s / cores if cores else 0.0
    busy = min(each, use.up_s)
    return [(busy, use.up_s - busy)] * count


def escape(value: str) -> str:
    """A label's value as the text format wants it."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
