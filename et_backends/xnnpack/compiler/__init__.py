"""The XNNPACK backend, ahead of time: partitions become graphs that XNNPACK runs.

`rules` says which ops there are nodes for, `translation` follows values through a graph, `partitioner` decides what
goes into one, and `blob` writes it.
"""
