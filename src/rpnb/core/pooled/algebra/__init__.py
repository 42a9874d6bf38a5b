"""Products and factors of matrices, exact or in a fixed order of sums."""
