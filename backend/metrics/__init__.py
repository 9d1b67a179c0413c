"""CPU and memory in use on the nodes: Prometheus, metrics-server or the embedded cluster, whichever works."""
