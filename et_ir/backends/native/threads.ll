; Threads of a native program: a barrier, and the loop in which the threads of a pool wait for calls.
;
; The context of a call starts with i32 words, each pair of hot ones in a cache line of its own:
;   byte 0    how many threads have reached the barrier
;   byte 64   the generation of the barrier: counts barriers
;   byte 128  the function with which a waiting thread gives up its time (sched_yield), a pointer
;   byte 192  the least number of a report, without a sign

; Waits until all of %threads have called it.
define hidden void @native_barrier(ptr %context, i64 %threads) noinline nounwind {
entry:
  %alone = icmp ule i64 %threads, 1
  br i1 %alone, label %done, label %arrive

arrive:
  %generation_at = getelementptr i8, ptr %context, i64 64
  %generation = load atomic i32, ptr %generation_at acquire, align 4
  %before = atomicrmw add ptr %context, i32 1 acq_rel, align 4
  %count = add i32 %before, 1
  %all = trunc i64 %threads to i32
  %last = icmp eq i32 %count, %all
  br i1 %last, label %release, label %wait

release:
  store atomic i32 0, ptr %context monotonic, align 4
  %next = add i32 %generation, 1
  store atomic i32 %next, ptr %generation_at release, align 4
  br label %done

wait:
  %turns = phi i32 [ 0, %arrive ], [ %turn, %spin ], [ 0, %give ]
  %now = load atomic i32, ptr %generation_at acquire, align 4
  %passed = icmp ne i32 %now, %generation
  br i1 %passed, label %done, label %spin_or_give

spin_or_give:
  %many = icmp ugt i32 %turns, 2000
  br i1 %many, label %give, label %spin

spin:
  call void @PAUSE
  %turn = add i32 %turns, 1
  br label %wait

give:
  %yield_at = getelementptr i8, ptr %context, i64 128
  %yield = load ptr, ptr %yield_at, align 8
  %ignored = call i32 %yield()
  br label %wait

done:
  ret void
}

; Reports an invalid argument of the call. Of the reports of all threads the least number stays.
define hidden void @native_report(ptr %context, i64 %number) noinline nounwind {
  %at = getelementptr i8, ptr %context, i64 192
  %word = trunc i64 %number to i32
  %before = atomicrmw umin ptr %at, i32 %word monotonic, align 4
  ret void
}

declare void @PAUSE
