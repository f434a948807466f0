/* Calls the function of an object under Linux, with each buffer between pages that nobody may touch: once with buffers
   that start with a page, once with buffers that end with one. stdout gets the outputs, the state, and the bytes of the
   stack that were used, as 32 bits. No library: it is linked with the object alone. */
#include "freestanding_job.h"

enum { PAGE = 4096, DEPTH = 1 << 15 };

#ifdef __x86_64__
enum { WRITE = 1, MMAP = 9, EXIT = 60, MPROTECT = 10 };
#else
enum { WRITE = 64, MMAP = 222, EXIT = 93, MPROTECT = 226 };
#endif

static long call(long number, long a, long b, long c, long d, long e, long f) {
#if defined __riscv
  register long a0 __asm__("a0") = a, a1 __asm__("a1") = b, a2 __asm__("a2") = c, a3 __asm__("a3") = d;
  register long a4 __asm__("a4") = e, a5 __asm__("a5") = f, a7 __asm__("a7") = number;
  __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5), "r"(a7) : "memory");
  return a0;
#elif defined __aarch64__
  register long x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c, x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e, x5 __asm__("x5") = f, x8 __asm__("x8") = number;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5), "r"(x8) : "memory");
  return x0;
#else
  register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
  __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  return number;
#endif
}

static void leave(int status) {
  for (;;) call(EXIT, status, 0, 0, 0, 0, 0);
}

/* A buffer with some contents, or of bytes of ones; `access` as for `mprotect`. */
static unsigned char *buffer(size_t size, const unsigned char *contents, int access, int at_end) {
  size_t whole = (size + PAGE) / PAGE * PAGE;
  long at = call(MMAP, 0, (long)(whole + 2 * PAGE), 0, 0x22, -1, 0);
  if (at < 0 && at > -4096) leave(101);
  if (call(MPROTECT, at + PAGE, (long)whole, 3, 0, 0, 0)) leave(102);
  volatile unsigned char *start = (unsigned char *)at + PAGE, *data = at_end ? start + whole - size : start;
  for (size_t i = 0; i < whole; i++) start[i] = 0xff;
  for (size_t i = 0; contents && i < size; i++) data[i] = contents[i];
  if (call(MPROTECT, at + PAGE, (long)whole, access, 0, 0, 0)) leave(102);
  return (unsigned char *)data;
}

static void put(const unsigned char *data, size_t size) {
  while (size) {
    long done = call(WRITE, 1, (long)data, (long)size, 0, 0, 0);
    if (done <= 0) leave(103);
    data += done;
    size -= (size_t)done;
  }
}

static void same(const unsigned char *one, const unsigned char *other, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (one[i] != other[i]) leave(104);
}

static struct buffers all[2];

void run(void) {
  const uint32_t *sizes = JOB->sizes, *results = sizes + JOB->inputs;
  uint32_t used = 0;
  for (int at_end = 0; at_end < 2; at_end++) {
    struct buffers *these = &all[at_end];
    const unsigned char *contents = CONTENTS;
    for (uint32_t i = 0; i < JOB->inputs; contents += sizes[i++])
      these->inputs[i] = buffer(sizes[i], contents, 1, at_end);
    for (uint32_t i = 0; i < JOB->outputs; i++) these->outputs[i] = buffer(results[i], NULL, 3, at_end);
    these->state = buffer(JOB->state, contents, 3, at_end);
    these->arena = buffer(JOB->arena, NULL, 3, at_end);
    int status;
    used = measured(these, DEPTH, &status);
    if (status) leave(status);
  }
  for (uint32_t i = 0; i < JOB->outputs; i++) {
    same(all[0].outputs[i], all[1].outputs[i], results[i]);
    put(all[0].outputs[i], results[i]);
  }
  same(all[0].state, all[1].state, JOB->state);
  put(all[0].state, JOB->state);
  put((const unsigned char *)&used, sizeof used);
  leave(0);
}

#if defined __riscv
__asm__(".globl _start\n_start:\n\tandi sp, sp, -16\n\tcall run\n");
#elif defined __aarch64__
__asm__(".globl _start\n_start:\n\tbl run\n"); /* the stack is aligned */
#else
__asm__(".globl _start\n_start:\n\tandq $-16, %rsp\n\tcall run\n");
#endif
