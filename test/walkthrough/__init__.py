"""The pages of the documentation, followed step by step."""
