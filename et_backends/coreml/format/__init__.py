"""Core ML's files: reading, writing and checking."""
