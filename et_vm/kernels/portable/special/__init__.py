"""Special functions: Bessel, gamma, error functions, orthogonal polynomials."""
