"""What kernels need: array types, compilation, rows, random bits, threads, vectors."""
