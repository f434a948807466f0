"""Average and maximum pooling."""
