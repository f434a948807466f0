"""TOSA's files: tables, rules, reading and writing."""
