"""Pools of agents: what answers a request."""
