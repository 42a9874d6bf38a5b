"""How kernels are compiled, kept on the disk, waited for, and done without."""
