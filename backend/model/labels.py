"""Label keys that Podshift reads (skippy-faas-sim.md, section 3)."""

from collections.abc import Mapping

ARCHITECTURE = "beta.kubernetes.io/arch"
ARCHITECTURE_STABLE = "kubernetes.io/arch"
"""The key that newer clusters use; the older one is what Skippy's papers and data have."""
LOCALITY = "locality.skippy.io/type"
CAPABILITY = "capability.skippy.io"
"""Part of the key of every label that names a capability."""
STORAGE_NODE = "data.skippy.io/storage"
"""Nodes that hold data and run nothing else."""
RECEIVES = "data.skippy.io/receives-from-storage"
RECEIVES_PATH = RECEIVES + "/path"
SENDS = "data.skippy.io/sends-to-storage"
SENDS_PATH = SENDS + "/path"
REQUIREMENTS = "device.edgerun.io/requirements"
ACCELERATOR = "device.edgerun.io/accelerator"
VRAM = "device.edgerun.io/vram"
DISK = "device.edgerun.io/disk"
LOCATION = "device.edgerun.io/location"
DEVICE_TYPE = "podshift.io/device"


def architecture(labels: Mapping[str, str]) -> str:
    """The node's architecture; "" where no label names it."""
    return labels.get(ARCHITECTURE) or labels.get(ARCHITECTURE_STABLE) or ""


def is_edge(labels: Mapping[str, str]) -> bool:
    """Whether a node is at the edge; without the label it is not."""
    return labels.get(LOCALITY) == "edge"


def device_type(name: str, labels: Mapping[str, str]) -> str:
    """The kind of device: the label of that name, or the node's name before its last underscore ("rpi4_0")."""
    return labels.get(DEVICE_TYPE) or name.rpartition("_")[0] or name
