"""Passes from `edge` and `backend` to `executorch`: legalization, kernel selection, destination-passing."""
