"""Which node a pod gets: filters refuse nodes, scores rate those left, and the decision explains itself."""
