"""The loop between a cluster and the policies, the same for live, recorded and simulated clusters."""
