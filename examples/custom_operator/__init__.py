"""An operator of one's own, from the model to the VM: docs/tutorials/custom-operator.md."""
