"""Benchmarks: what Holdfast costs, compared with floors that do the least possible work."""
