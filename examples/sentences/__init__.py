"""Nearest sentences by embeddings of all-MiniLM-L6-v2 on the register VM: `python -m examples.sentences`."""
