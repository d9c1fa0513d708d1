"""Numerical methods that the models share: truncated normals, order statistics, expectation propagation."""
