"""The fundamental frequency that WORLD finds: DIO (Morise et al. 2009) refined by StoneMask, compiled by numba."""
