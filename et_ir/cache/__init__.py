"""Results of compilations by content: a folder that processes share, and what a result depends on."""
