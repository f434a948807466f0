"""all-MiniLM-L6-v2 on the register VM: which sentence is nearest? `python -m examples.sentences`."""
