"""A backend of one's own, from the partitioner to the VM: docs/tutorials/backend.md."""
