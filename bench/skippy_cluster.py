"""The edge cluster and the pods that Podshift's Skippy and skippy-core are both given, as plain values.

Node kinds, images, workflow pods and bandwidth: skippy-faas-sim.md, section 5.3. The peer's interpreter reads this
module as well, and has nothing of ours installed.
"""

MIB = 2**20
KINDS = {
    "cloud": ("amd64", 8167784 * 1024, {"locality.skippy.io/type": "cloud"}),
    "tegra": (
        "arm64",
        8047252 * 1024,
        {
            "locality.skippy.io/type": "edge",
            "capability.skippy.io/nvidia-cuda": "10",
            "capability.skippy.io/nvidia-gpu": "",
        },
    ),
    "pi": ("arm", 999036 * 1024, {"locality.skippy.io/type": "edge"}),
}
"""Kind -> architecture, memory in bytes, labels."""
MIX = ("cloud", "tegra", "pi", "pi", "pi", "pi")
"""The testbed of the paper."""
STORAGE_EVERY = 50
"""Every so many nodes one holds the data and takes no pods."""
CORES_MILLIS = 4000
IMAGES = {
    "skippy/ml-wf-1-pre:0.33": {"arm": 465830200, "arm64": 540391110, "amd64": 533323136},
    "skippy/ml-wf-2-train:0.33": {"arm": 519336111, "arm64": 594174340, "amd64": 550683347},
    "skippy/ml-wf-3-serve:0.33": {"arm": 511888808, "arm64": 590989596, "amd64": 589680790},
}
RECEIVES = "data.skippy.io/receives-from-storage/path"
SENDS = "data.skippy.io/sends-to-storage/path"
OBJECTS = {"raw": 12 * MIB, "train": 209 * MIB, "model": 1500 * 1024}
BUCKET = "workflow"
PODS = (
    # image, memory request, labels
    (
        "skippy/ml-wf-1-pre:0.33",
        100 * MIB,
        {RECEIVES: f"{BUCKET}/raw", SENDS: f"{BUCKET}/train"},
    ),
    (
        "skippy/ml-wf-2-train:0.33",
        1024 * MIB,
        {
            RECEIVES: f"{BUCKET}/train",
            SENDS: f"{BUCKET}/model",
            "capability.skippy.io/nvidia-cuda": "10",
            "capability.skippy.io/nvidia-gpu": "",
        },
    ),
    ("skippy/ml-wf-3-serve:0.33", 200 * MIB, {RECEIVES: f"{BUCKET}/model"}),
)
CPU_REQUEST_MILLIS = 100
EDGE_EDGE, BETWEEN, CLOUD_CLOUD = 1.25e6, 1.25e7, 1.25e8
"""Bytes a second between nodes by where they are."""
REGISTRY = "registry"


def nodes(count):
    """(name, memory, labels) of each node."""
    made = []
    for number in range(count):
        kind = MIX[number % len(MIX)]
        architecture, memory, labels = KINDS[kind]
        labels = {"beta.kubernetes.io/arch": architecture, **labels}
        if number % STORAGE_EVERY == 0:
            labels["data.skippy.io/storage"] = ""
        made.append((f"{number}_{kind}", memory, labels))
    return made


def storage_node():
    """The node that holds the bucket."""
    return nodes(1)[0][0]


def pods(count):
    """(name, image, memory request, labels) of each pod."""
    return [(f"pod-{number}", *PODS[number % len(PODS)]) for number in range(count)]


def bandwidth(source, target):
    """Bytes a second between two names; the registry is in the cloud, and slower than its nodes."""
    edges = [name for name in (source, target) if name.endswith(("_pi", "_tegra"))]
    if source == REGISTRY:
        return EDGE_EDGE if edges else BETWEEN
    if source == target:
        return CLOUD_CLOUD
    return (CLOUD_CLOUD, BETWEEN, EDGE_EDGE)[len(edges)]
