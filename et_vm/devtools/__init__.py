"""Tools over loaded programs: bundled test cases, certificates of memory plans."""
