"""Graphs for XNNPACK: tables, rules, reading and writing."""
