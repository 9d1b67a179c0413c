"""The simulated cluster: event list, shared processors, training jobs, curves, faults and the cluster they make."""
