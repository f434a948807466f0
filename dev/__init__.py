"""Development tools: generators, probes and writers of documentation tables. Not installed."""
