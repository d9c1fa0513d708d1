"""Shared numerical methods: truncated normals, order statistics and expectation propagation."""
