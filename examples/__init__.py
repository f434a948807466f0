"""Four architectures (`models`) and two demonstrations with real data (`digits`, `sentences`)."""
