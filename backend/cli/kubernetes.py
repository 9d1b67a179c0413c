"""Options that say which Kubernetes cluster is meant, and where its metrics are."""

import functools
import os
from collections.abc import Callable
from typing import Any

import click

_VARIABLES = {
    "kubeconfig": "PODSHIFT_KUBECONFIG",
    "context": "PODSHIFT_CONTEXT",
    "prometheus": "PODSHIFT_PROMETHEUS",
    "image": "PODSHIFT_IMAGE",
    "checkpoint_claim": "PODSHIFT_CHECKPOINT_CLAIM",
}
"""Option -> the variable by which it reaches the processes that execute runs."""


def kubernetes_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options; their values go into the environment of this process, for those that it starts."""

    @click.option(
        "--kubeconfig",
        type=click.Path(dir_okay=False),
        help="Where the cluster and its credentials are.  [default: as kubectl]",
    )
    @click.option("--context", help="Context of the kubeconfig.  [default: its current one]")
    @click.option("--prometheus", metavar="URL", help="Where node usage comes from.  [default: metrics-server]")
    @click.option("--image", help="Image of the built-in training job on a real cluster.  [default: podshift:latest]")
    @click.option(
        "--checkpoint-claim",
        metavar="NAME",
        help="A volume claim that all nodes can mount, for the checkpoints of the training jobs there.",
    )
    @functools.wraps(command)
    def with_options(*args: Any, **options: Any) -> Any:
        for name, variable in _VARIABLES.items():
            value = options.pop(name, None)
            if value:
                os.environ[variable] = value
        return command(*args, **options)

    return with_options
