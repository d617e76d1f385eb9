"""Rewards: what a reply is worth."""
