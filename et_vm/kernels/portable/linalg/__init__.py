"""Linear algebra: matrix products, factorizations, Fourier transforms, distances."""
