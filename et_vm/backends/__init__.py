"""The backends that come with the VM: each is loaded when a program delegates to it."""
