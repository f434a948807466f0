; Threads of a native program: calls that threads of a pool take part in, and barriers between them.
;
; The context of a call starts with words, each hot one in a cache line of its own:
;   byte 0    i32: how many threads have reached the barrier
;   byte 64   i32: the generation of the barrier: counts barriers
;   byte 128  the function with which a waiting thread gives up its time (sched_yield), a pointer
;   byte 136  where the next time goes, a pointer
;   byte 144  the end of the memory for times, a pointer: the same where nobody asks for them
;   byte 152  the function clock_gettime
;   byte 192  i32: the least number of a report, without a sign
;
; The memory of a pool starts with what its threads have in common:
;   byte 0    the function sched_yield
;   byte 8    the function syscall
;   byte 16   the function clock_gettime
;   byte 24   i64: the number of the system call futex
;   byte 32   i64: how many nanoseconds a thread looks for the next call before it sleeps
;   byte 40   two i64: how many seconds and nanoseconds it sleeps before it leaves
;   byte 56   the functions sched_getcpu, sched_getaffinity and sched_setaffinity
;   byte 80   i64: how many processors there are
; The slot of thread N starts at byte 256 N. Its first cache line is written by callers, the other one by the thread:
;   byte 0    i32: how many calls the thread was given
;   byte 8    the call: function, context, pointers (three pointers), number of threads (i64)
;   byte 40   i32: the processor that the caller runs on
;   byte 128  i32: how many calls the thread has done
;   byte 132  i32: whether the thread must be woken with the system call

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
  %yield_at = getelementptr i8, ptr %context, i64 128
  %yield = load ptr, ptr %yield_at, align 8
  call void @wait_while(ptr %generation_at, i32 %generation, ptr %yield)
  br label %done

done:
  ret void
}

; Waits until a word is no longer %old: looks at it for some microseconds, then lets other threads run in between.
define internal void @wait_while(ptr %word, i32 %old, ptr %yield) noinline nounwind {
entry:
  br label %look

look:
  %turns = phi i32 [ 0, %entry ], [ %turn, %spin ], [ 0, %give ]
  %now = load atomic i32, ptr %word acquire, align 4
  %passed = icmp ne i32 %now, %old
  br i1 %passed, label %done, label %spin_or_give

spin_or_give:
  %many = icmp ugt i32 %turns, 2000
  br i1 %many, label %give, label %spin

spin:
  call void @PAUSE
  %turn = add i32 %turns, 1
  br label %look

give:
  %ignored = call i32 %yield()
  br label %look

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

; Calls %function with each number of a thread: 0 itself, the others by the threads of the pool, which nobody else uses
; meanwhile. Returns when all have returned.
define hidden void @native_call(ptr %pool, ptr %function, ptr %context, ptr %pointers, i64 %threads) nounwind {
entry:
  %yield = load ptr, ptr %pool, align 8
  %several = icmp ugt i64 %threads, 1
  br i1 %several, label %look, label %own

look:
  %processor_of = getelementptr i8, ptr %pool, i64 56
  %getcpu = load ptr, ptr %processor_of, align 8
  %processor = call i32 %getcpu()
  br label %give

give:
  %number = phi i64 [ 1, %look ], [ %following, %given ]
  %offset = shl i64 %number, 8
  %slot = getelementptr i8, ptr %pool, i64 %offset
  %function_at = getelementptr i8, ptr %slot, i64 8
  store ptr %function, ptr %function_at, align 8
  %context_at = getelementptr i8, ptr %slot, i64 16
  store ptr %context, ptr %context_at, align 8
  %pointers_at = getelementptr i8, ptr %slot, i64 24
  store ptr %pointers, ptr %pointers_at, align 8
  %threads_at = getelementptr i8, ptr %slot, i64 32
  store i64 %threads, ptr %threads_at, align 8
  %processor_at = getelementptr i8, ptr %slot, i64 40
  store i32 %processor, ptr %processor_at, align 4
  %ignored = atomicrmw add ptr %slot, i32 1 seq_cst, align 4
  %asleep_at = getelementptr i8, ptr %slot, i64 132
  %asleep = load atomic i32, ptr %asleep_at seq_cst, align 4
  %wake = icmp ne i32 %asleep, 0
  br i1 %wake, label %waken, label %given

waken:
  %syscall_at = getelementptr i8, ptr %pool, i64 8
  %syscall = load ptr, ptr %syscall_at, align 8
  %futex_at = getelementptr i8, ptr %pool, i64 24
  %futex = load i64, ptr %futex_at, align 8
  ; FUTEX_WAKE | FUTEX_PRIVATE_FLAG, one thread
  %woken = call i64 (i64, ...) %syscall(i64 %futex, ptr %slot, i64 129, i64 1, ptr null, ptr null, i64 0)
  br label %given

given:
  %following = add i64 %number, 1
  %more = icmp ult i64 %following, %threads
  br i1 %more, label %give, label %own

own:
  call void %function(ptr %context, ptr %pointers, i64 0, i64 %threads)
  br i1 %several, label %join, label %done

join:
  %other = phi i64 [ 1, %own ], [ %next, %joined ]
  %other_offset = shl i64 %other, 8
  %other_slot = getelementptr i8, ptr %pool, i64 %other_offset
  %count_at = getelementptr i8, ptr %other_slot, i64 128
  %all = load atomic i32, ptr %other_slot monotonic, align 4
  %before = sub i32 %all, 1
  call void @wait_while(ptr %count_at, i32 %before, ptr %yield)
  br label %joined

joined:
  %next = add i64 %other, 1
  %left = icmp ult i64 %next, %threads
  br i1 %left, label %join, label %done

done:
  ret void
}

; Does the calls that thread %number of the pool is given. Between them it looks for the next one, then sleeps, and
; returns when none has come.
define hidden void @native_serve(ptr %pool, i64 %number) nounwind {
entry:
  %offset = shl i64 %number, 8
  %slot = getelementptr i8, ptr %pool, i64 %offset
  %function_at = getelementptr i8, ptr %slot, i64 8
  %context_at = getelementptr i8, ptr %slot, i64 16
  %pointers_at = getelementptr i8, ptr %slot, i64 24
  %threads_at = getelementptr i8, ptr %slot, i64 32
  %done_at = getelementptr i8, ptr %slot, i64 128
  %asleep_at = getelementptr i8, ptr %slot, i64 132
  %syscall_at = getelementptr i8, ptr %pool, i64 8
  %syscall = load ptr, ptr %syscall_at, align 8
  %clock_at = getelementptr i8, ptr %pool, i64 16
  %clock = load ptr, ptr %clock_at, align 8
  %futex_at = getelementptr i8, ptr %pool, i64 24
  %futex = load i64, ptr %futex_at, align 8
  %linger_at = getelementptr i8, ptr %pool, i64 32
  %linger = load i64, ptr %linger_at, align 8
  %rest = getelementptr i8, ptr %pool, i64 40
  %getcpu_at = getelementptr i8, ptr %pool, i64 56
  %getcpu = load ptr, ptr %getcpu_at, align 8
  %time = alloca [2 x i64], align 8
  store atomic i32 0, ptr %asleep_at seq_cst, align 4
  br label %start

start:
  %seen = load atomic i32, ptr %done_at monotonic, align 4
  %since = call i64 @nanoseconds(ptr %clock, ptr %time)
  br label %look

look:
  %turns = phi i32 [ 0, %start ], [ %turn, %spin ], [ 0, %check ]
  %given = load atomic i32, ptr %slot acquire, align 4
  %new = icmp ne i32 %given, %seen
  br i1 %new, label %work, label %spin_or_check

spin_or_check:
  %many = icmp ugt i32 %turns, 50
  br i1 %many, label %check, label %spin

spin:
  call void @PAUSE
  %turn = add i32 %turns, 1
  br label %look

check:
  %now = call i64 @nanoseconds(ptr %clock, ptr %time)
  %passed = sub i64 %now, %since
  %long = icmp ugt i64 %passed, %linger
  br i1 %long, label %sleep, label %look

sleep:
  store atomic i32 1, ptr %asleep_at seq_cst, align 4
  %word = zext i32 %seen to i64
  ; FUTEX_WAIT | FUTEX_PRIVATE_FLAG, which returns at once if the word is another one by now
  %woken = call i64 (i64, ...) %syscall(i64 %futex, ptr %slot, i64 128, i64 %word, ptr %rest, ptr null, i64 0)
  %late = load atomic i32, ptr %slot acquire, align 4
  %some = icmp ne i32 %late, %seen
  br i1 %some, label %awake, label %leave

awake:
  store atomic i32 0, ptr %asleep_at seq_cst, align 4
  br label %work

work:
  %ticket = phi i32 [ %given, %look ], [ %late, %awake ]
  %function = load ptr, ptr %function_at, align 8
  %context = load ptr, ptr %context_at, align 8
  %pointers = load ptr, ptr %pointers_at, align 8
  %threads = load i64, ptr %threads_at, align 8
  %processor_at = getelementptr i8, ptr %slot, i64 40
  %processor = load i32, ptr %processor_at, align 4
  %here = call i32 %getcpu()
  %shared = icmp eq i32 %here, %processor
  %processors_at = getelementptr i8, ptr %pool, i64 80
  %processors = load i64, ptr %processors_at, align 8
  %enough = icmp ule i64 %threads, %processors
  %away = and i1 %shared, %enough
  br i1 %away, label %move, label %do

move:
  call void @leave_processor(ptr %pool, i32 %here)
  br label %do

do:
  call void %function(ptr %context, ptr %pointers, i64 %number, i64 %threads)
  store atomic i32 %ticket, ptr %done_at release, align 4
  br label %start

leave:
  ret void
}

; Moves this thread to another processor that it may run on, if there is one: some schedulers start a woken thread beside
; the one that waits for it, and part them after many milliseconds only.
define internal void @leave_processor(ptr %pool, i32 %processor) noinline nounwind {
entry:
  %get_at = getelementptr i8, ptr %pool, i64 64
  %get = load ptr, ptr %get_at, align 8
  %set_at = getelementptr i8, ptr %pool, i64 72
  %set = load ptr, ptr %set_at, align 8
  %mask = alloca [16 x i64], align 8
  %known = icmp ult i32 %processor, 1024
  br i1 %known, label %ask, label %done

ask:
  %failed = call i32 %get(i32 0, i64 128, ptr %mask)
  %failing = icmp ne i32 %failed, 0
  br i1 %failing, label %done, label %change

change:
  %number = lshr i32 %processor, 6
  %word_at = getelementptr i64, ptr %mask, i32 %number
  %all = load i64, ptr %word_at, align 8
  %place = and i32 %processor, 63
  %wide = zext i32 %place to i64
  %bit = shl i64 1, %wide
  %others = xor i64 %bit, -1
  %rest = and i64 %all, %others
  store i64 %rest, ptr %word_at, align 8
  ; Fails, and changes nothing, where no processor is left.
  %moved = call i32 %set(i32 0, i64 128, ptr %mask)
  store i64 %all, ptr %word_at, align 8
  %restored = call i32 %set(i32 0, i64 128, ptr %mask)
  br label %done

done:
  ret void
}

; Notes the time, in thread 0 of a call that asks for times.
define hidden void @native_mark(ptr %context, i64 %thread) noinline nounwind {
entry:
  %place_at = getelementptr i8, ptr %context, i64 136
  %place = load ptr, ptr %place_at, align 8
  %end_at = getelementptr i8, ptr %context, i64 144
  %end = load ptr, ptr %end_at, align 8
  %asked = icmp ult ptr %place, %end
  %first = icmp eq i64 %thread, 0
  %take = and i1 %asked, %first
  br i1 %take, label %note, label %done

note:
  %clock_at = getelementptr i8, ptr %context, i64 152
  %clock = load ptr, ptr %clock_at, align 8
  %time = alloca [2 x i64], align 8
  %now = call i64 @nanoseconds(ptr %clock, ptr %time)
  store i64 %now, ptr %place, align 8
  %following = getelementptr i8, ptr %place, i64 8
  store ptr %following, ptr %place_at, align 8
  br label %done

done:
  ret void
}

; Monotonic time.
define internal i64 @nanoseconds(ptr %clock, ptr %time) noinline nounwind {
  %failed = call i32 %clock(i32 1, ptr %time)
  %seconds = load i64, ptr %time, align 8
  %rest_at = getelementptr i8, ptr %time, i64 8
  %rest = load i64, ptr %rest_at, align 8
  %whole = mul i64 %seconds, 1000000000
  %all = add i64 %whole, %rest
  ret i64 %all
}

declare void @PAUSE
