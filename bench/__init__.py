"""Speed, as ratios against a peer or a limit in one run: `make bench` writes RESULTS.md."""
