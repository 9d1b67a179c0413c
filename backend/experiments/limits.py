"""How large a specification may be. Far above what a person means, far below what hurts the machine."""

MAX_BYTES = 1024 * 1024
"""Text of a specification; 200,000 jobs written as a number take some bytes, 20,000 spelled out about 1 MiB."""
MAX_DEPTH = 32
"""Lists and mappings within each other; the deepest name of a specification lies at 7."""
MAX_VALUES = 400_000
"""Values, lists and mappings in a document, all told: what fits into MAX_BYTES if each takes its two characters."""
MAX_DIGITS = 4000
"""Digits of a whole number that is read at all; Python itself reads 4,300, and each field has its own bounds."""
MAX_NODES = 20_000
"""Nodes of a cluster; Kubernetes itself is tested up to 5,000."""
MAX_JOBS = 200_000
"""Jobs of a workload; at 8,000 jobs a second one run of that size takes about half a minute."""
MAX_MODELS = 200
"""Models a workload may draw from."""
MAX_ARMS = 10
"""Arms of an experiment; a person compares two, a sweep some more."""
MAX_SEEDS = 1_000
"""Seeds of an experiment; the bootstrap interval hardly changes beyond some hundred."""
MAX_RUNS = 2_000
"""Arms times seeds."""
MAX_FAULTS = 10_000
"""Failures of nodes in one run."""
MAX_SEED = 2**53 - 1
"""Largest seed: a whole number that JSON readers of every language keep exactly."""
MAX_SIMULATED_S = 1e9
"""Largest time in a specification, about 32 simulated years; microseconds keep their digits up to it."""
MAX_QUOTED = 60
"""Characters of a wrong value that an error message repeats."""
MAX_EXPLAINED = 1_000
"""Errors put into words for one document; a list of 200,000 wrong times would take seconds."""
MAX_RESEMBLING = 500
"""Names among which a misspelt one is looked for; comparing it with these takes about 2 ms."""
MAX_ERRORS = 100
"""Errors reported for one document; what lies behind is counted only."""
