; Functions that LLVM calls where a processor lacks an instruction. `%size` is the type of a size.

; Copy of n bytes.
define internal ptr @memcpy(ptr noalias %to, ptr noalias %from, %size %n) {
entry:
  %none = icmp eq %size %n, 0
  br i1 %none, label %end, label %loop
loop:
  %i = phi %size [ 0, %entry ], [ %next, %loop ]
  %source = getelementptr i8, ptr %from, %size %i
  %target = getelementptr i8, ptr %to, %size %i
  %byte = load volatile i8, ptr %source
  store i8 %byte, ptr %target
  %next = add %size %i, 1
  %more = icmp ult %size %next, %n
  br i1 %more, label %loop, label %end
end:
  ret ptr %to
}

; n bytes of a value.
define internal ptr @memset(ptr %to, i32 %value, %size %n) {
entry:
  %byte = trunc i32 %value to i8
  %none = icmp eq %size %n, 0
  br i1 %none, label %end, label %loop
loop:
  %i = phi %size [ 0, %entry ], [ %next, %loop ]
  %target = getelementptr i8, ptr %to, %size %i
  store volatile i8 %byte, ptr %target
  %next = add %size %i, 1
  %more = icmp ult %size %next, %n
  br i1 %more, label %loop, label %end
end:
  ret ptr %to
}

; n bytes of a value, as Arm's calling convention has it.
define internal void @__aeabi_memset(ptr %to, %size %n, i32 %value) {
entry:
  %byte = trunc i32 %value to i8
  %none = icmp eq %size %n, 0
  br i1 %none, label %end, label %loop
loop:
  %i = phi %size [ 0, %entry ], [ %next, %loop ]
  %target = getelementptr i8, ptr %to, %size %i
  store volatile i8 %byte, ptr %target
  %next = add %size %i, 1
  %more = icmp ult %size %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}

; n zeros.
define internal void @__aeabi_memclr(ptr %to, %size %n) {
entry:
  %none = icmp eq %size %n, 0
  br i1 %none, label %end, label %loop
loop:
  %i = phi %size [ 0, %entry ], [ %next, %loop ]
  %target = getelementptr i8, ptr %to, %size %i
  store volatile i8 0, ptr %target
  %next = add %size %i, 1
  %more = icmp ult %size %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}

; The whole number next to x, of two the even one: adding 2^23 rounds, as the sum has no digits beyond the point.
define internal float @roundevenf(float %x) {
  %magnitude = call float @llvm.fabs.f32(float %x)
  %small = fcmp olt float %magnitude, 8388608.0
  %up = fadd float %magnitude, 8388608.0
  %down = fsub float %up, 8388608.0
  %signed = call float @llvm.copysign.f32(float %down, float %x)
  %result = select i1 %small, float %signed, float %x
  ret float %result
}

; x without its digits beyond the point.
define internal float @truncf(float %x) {
  %magnitude = call float @llvm.fabs.f32(float %x)
  %small = fcmp olt float %magnitude, 8388608.0
  %bounded = select i1 %small, float %magnitude, float 0.0
  %whole = fptosi float %bounded to i32
  %back = sitofp i32 %whole to float
  %signed = call float @llvm.copysign.f32(float %back, float %x)
  %result = select i1 %small, float %signed, float %x
  ret float %result
}

; The largest whole number up to x.
define internal float @floorf(float %x) {
  %magnitude = call float @llvm.fabs.f32(float %x)
  %small = fcmp olt float %magnitude, 8388608.0
  %bounded = select i1 %small, float %x, float 0.0
  %whole = fptosi float %bounded to i32
  %back = sitofp i32 %whole to float
  %above = fcmp ogt float %back, %bounded
  %less = fsub float %back, 1.0
  %floor = select i1 %above, float %less, float %back
  %signed = call float @llvm.copysign.f32(float %floor, float %x)
  %result = select i1 %small, float %signed, float %x
  ret float %result
}

; The smallest whole number from x on.
define internal float @ceilf(float %x) {
  %magnitude = call float @llvm.fabs.f32(float %x)
  %small = fcmp olt float %magnitude, 8388608.0
  %bounded = select i1 %small, float %x, float 0.0
  %whole = fptosi float %bounded to i32
  %back = sitofp i32 %whole to float
  %below = fcmp olt float %back, %bounded
  %more = fadd float %back, 1.0
  %ceiling = select i1 %below, float %more, float %back
  %signed = call float @llvm.copysign.f32(float %ceiling, float %x)
  %result = select i1 %small, float %signed, float %x
  ret float %result
}

; The larger of two numbers; the other one where one of them is no number.
define internal float @fmaxf(float %x, float %y) {
  %lone = fcmp uno float %y, 0.0
  %larger = fcmp oge float %x, %y
  %first = or i1 %lone, %larger
  %result = select i1 %first, float %x, float %y
  ret float %result
}

; The smaller of two numbers; the other one where one of them is no number.
define internal float @fminf(float %x, float %y) {
  %lone = fcmp uno float %y, 0.0
  %smaller = fcmp ole float %x, %y
  %first = or i1 %lone, %smaller
  %result = select i1 %first, float %x, float %y
  ret float %result
}

; Quotient and remainder, in four registers.
define internal { i64, i64 } @__aeabi_uldivmod(i64 %a, i64 %b) {
  %quotient = call i64 @__udivdi3(i64 %a, i64 %b)
  %product = mul i64 %quotient, %b
  %rest = sub i64 %a, %product
  %one = insertvalue { i64, i64 } poison, i64 %quotient, 0
  %both = insertvalue { i64, i64 } %one, i64 %rest, 1
  ret { i64, i64 } %both
}

; The same of signed numbers, rounded toward zero.
define internal { i64, i64 } @__aeabi_ldivmod(i64 %a, i64 %b) {
  %quotient = call i64 @__divdi3(i64 %a, i64 %b)
  %product = mul i64 %quotient, %b
  %rest = sub i64 %a, %product
  %one = insertvalue { i64, i64 } poison, i64 %quotient, 0
  %both = insertvalue { i64, i64 } %one, i64 %rest, 1
  ret { i64, i64 } %both
}
