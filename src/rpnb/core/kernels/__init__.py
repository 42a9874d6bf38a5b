"""Tools of all kernels: arrays, compilation, rows, random bits, threads, vectors."""
