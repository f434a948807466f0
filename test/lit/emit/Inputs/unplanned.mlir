executorch.plan @forward {
  executorch.return
}
