"""The embedded cluster: a simulated cluster in real time behind the Kubernetes API and /metrics."""
