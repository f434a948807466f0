/* Calls the function of an object under Linux on RISC-V, with each buffer between pages that nobody may touch: once with buffers
   that start with a page, once with buffers that end with one. Inputs are read from stdin; stdout gets the outputs, and
   the bytes of the stack that were used, as 32 bits. No library: it is linked with the object alone. */
#include <stddef.h>
#include <stdint.h>

enum { PAGE = 4096, DEPTH = 1 << 15, PATTERN = 0xa5 };

static const size_t input_bytes[] = {INPUT_BYTES}, output_bytes[] = {OUTPUT_BYTES};
#define COUNT(array) (sizeof(array) / sizeof(*array))

int FUNCTION(const void *inputs, void *outputs, void *arena);

enum { READ = 63, WRITE = 64, MMAP = 222, EXIT = 93, MPROTECT = 226 };
static long call(long number, long a, long b, long c, long d, long e, long f) {
  register long a0 __asm__("a0") = a, a1 __asm__("a1") = b, a2 __asm__("a2") = c, a3 __asm__("a3") = d;
  register long a4 __asm__("a4") = e, a5 __asm__("a5") = f, a7 __asm__("a7") = number;
  __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5), "r"(a7) : "memory");
  return a0;
}

static void leave(int status) {
  for (;;) call(EXIT, status, 0, 0, 0, 0, 0);
}

static unsigned char *buffer(size_t size, int at_end) {
  size_t whole = (size + PAGE) / PAGE * PAGE;
  long at = call(MMAP, 0, (long)(whole + 2 * PAGE), 0, 0x22, -1, 0);
  if (at < 0 && at > -4096) leave(101);
  if (call(MPROTECT, at + PAGE, (long)whole, 3, 0, 0, 0)) leave(102);
  unsigned char *start = (unsigned char *)at + PAGE;
  for (size_t i = 0; i < whole; i++) ((volatile unsigned char *)start)[i] = 0xff;
  return at_end ? start + whole - size : start;
}

static void move(int number, int file, unsigned char *data, size_t size) {
  while (size) {
    long done = call(number, file, (long)data, (long)size, 0, 0, 0);
    if (done <= 0) leave(103);
    data += done;
    size -= (size_t)done;
  }
}

__attribute__((noinline)) static uint32_t measured(const void *inputs, void *outputs, void *arena, int *status) {
  volatile unsigned char *here = __builtin_frame_address(0);
  for (size_t i = 256; i < DEPTH; i++) here[-(long)i] = PATTERN;
  *status = FUNCTION(inputs, outputs, arena);
  for (size_t i = DEPTH - 1; i >= 256; i--)
    if (here[-(long)i] != PATTERN) return (uint32_t)i;
  return 0;
}

void run(void) {
  unsigned char *inputs[COUNT(input_bytes)], *outputs[2][COUNT(output_bytes)];
  uint32_t used = 0;
  for (int at_end = 0; at_end < 2; at_end++) {
    for (size_t i = 0; i < COUNT(input_bytes); i++) {
      unsigned char *before = inputs[i];
      inputs[i] = buffer(input_bytes[i], at_end);
      if (!at_end) move(READ, 0, inputs[i], input_bytes[i]);
      else
        for (size_t j = 0; j < input_bytes[i]; j++) inputs[i][j] = before[j];
    }
    for (size_t i = 0; i < COUNT(output_bytes); i++) outputs[at_end][i] = buffer(output_bytes[i], at_end);
    int status;
    used = measured(inputs, outputs[at_end], buffer(ARENA_BYTES, at_end), &status);
    if (status) leave(status);
  }
  for (size_t i = 0; i < COUNT(output_bytes); i++) {
    for (size_t j = 0; j < output_bytes[i]; j++)
      if (outputs[0][i][j] != outputs[1][i][j]) leave(104);
    move(WRITE, 1, outputs[0][i], output_bytes[i]);
  }
  move(WRITE, 1, (unsigned char *)&used, sizeof used);
  leave(0);
}

__asm__(".globl _start\n_start:\n\tandi sp, sp, -16\n\tcall run\n");
