"""Benchmarks: what Holdfast costs, next to floors that do the least that could be done."""
