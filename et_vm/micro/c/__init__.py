"""C sources of the runtime."""
