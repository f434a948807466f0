func.func @forward() {
  func.return
}
