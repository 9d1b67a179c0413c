"""The nouns: resources, nodes, pods, jobs, events, actions and the state they add up to.

Imports nothing of ours; everything else imports it.
"""
