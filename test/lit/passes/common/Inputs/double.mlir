pdl.pattern @double : benefit(1) {
  %t = pdl.type
  %x = pdl.operand : %t
  %two = pdl.attribute = 2 : i64
  %mul = pdl.operation "edge.mul.Scalar"(%x : !pdl.value) {"other" = %two} -> (%t : !pdl.type)
  pdl.rewrite %mul {
    %alpha = pdl.attribute = 1 : i64
    %add = pdl.operation "edge.add.Tensor"(%x, %x : !pdl.value, !pdl.value) {"alpha" = %alpha} -> (%t : !pdl.type)
    pdl.replace %mul with %add
  }
}
