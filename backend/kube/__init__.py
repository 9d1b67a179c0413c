"""Podshift on a real cluster: the only package that speaks to a Kubernetes API server."""
