"""Backends in private environments, whose packages fit into no common one."""
