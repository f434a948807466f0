/* Calls the function of an object on a Cortex-M55 (QEMU's machine mps3-an547). The memory protection unit lets it touch
   code and constants, which it cannot write, this file's data and stack, and its buffers, each to 32 bytes. Inputs are
   in the image; semihosting gets the outputs, and the bytes of the stack that were used, as 32 bits. */
#include <stdint.h>

enum { DEPTH = 1 << 14, PATTERN = 0xa5, WORD_WRITE = 5, WORD_OPEN = 1, WORD_EXIT = 0x20 };

#define BUFFER __attribute__((aligned(32)))
extern const unsigned char given[];
__asm__(".section .rodata\n.balign 32\n.globl given\ngiven:\n.incbin \"" INPUT "\"\n.balign 32\n.text\n");

static struct {
  BUFFER unsigned char before[32];
  BUFFER unsigned char input[(INPUT_BYTES + 31) / 32 * 32];
  BUFFER unsigned char between[32];
  BUFFER unsigned char output[(OUTPUT_BYTES + 31) / 32 * 32];
  BUFFER unsigned char behind[32];
  BUFFER unsigned char arena[(ARENA_BYTES + 63) / 32 * 32];
} far __attribute__((section(".far")));

int FUNCTION(const void *inputs, void *outputs, void *arena);

static int host(int operation, const void *argument) {
  register int r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

static void leave(int status) {
  const uint32_t arguments[] = {0x20026, (uint32_t)status};
  for (;;) host(WORD_EXIT, arguments);
}

void fault(void) { leave(105); }

static void put(int file, const void *data, uint32_t size) {
  const uint32_t arguments[] = {(uint32_t)file, (uint32_t)data, size};
  if (host(WORD_WRITE, arguments)) leave(103);
}

#define REGISTER(address) (*(volatile uint32_t *)(address))
extern unsigned char data_start[], data_end[], code_end[];

static void allow(uint32_t number, const void *start, const void *end, uint32_t access) {
  REGISTER(0xE000ED98) = number;
  REGISTER(0xE000ED9C) = (uint32_t)start | access;
  REGISTER(0xE000EDA0) = (((uint32_t)end - 1) & ~31u) | 1;
}

__attribute__((noinline)) static uint32_t measured(const void *inputs, void *outputs, int *status) {
  volatile unsigned char *here = __builtin_frame_address(0);
  for (int i = 256; i < DEPTH; i++) here[-i] = PATTERN;
  *status = FUNCTION(inputs, outputs, far.arena);
  for (int i = DEPTH - 1; i >= 256; i--)
    if (here[-i] != PATTERN) return (uint32_t)i;
  return 0;
}

void reset(void) {
  REGISTER(0xE000ED88) |= 0xFu << 20; /* CPACR: floating-point unit and Helium */
  __asm__ volatile("dsb\n\tisb");
  for (uint32_t i = 0; i < INPUT_BYTES; i++) far.input[i] = given[i];
  for (uint32_t i = 0; i < sizeof far.arena; i++) ((volatile unsigned char *)far.arena)[i] = 0xff;
  enum { READ_ONLY = 3 << 1, READ_WRITE = 1 << 1, NO_CODE = 1 };
  allow(0, (void *)0, code_end, READ_ONLY);
  allow(1, data_start, data_end, READ_WRITE | NO_CODE);
  allow(2, far.input, far.input + sizeof far.input, READ_ONLY | NO_CODE);
  allow(3, far.output, far.output + sizeof far.output, READ_WRITE | NO_CODE);
  allow(4, far.arena, far.arena + sizeof far.arena, READ_WRITE | NO_CODE);
  REGISTER(0xE000EDC0) = 0x44; /* MAIR0: normal memory, not cached */
  REGISTER(0xE000ED94) = 1;    /* MPU_CTRL: on, nothing else is allowed */
  __asm__ volatile("dsb\n\tisb");
  const void *inputs[] = {far.input};
  void *outputs[] = {far.output};
  int status;
  uint32_t used = measured(inputs, outputs, &status);
  REGISTER(0xE000ED94) = 0; /* the host asks for whole pages */
  __asm__ volatile("dsb\n\tisb");
  if (status) leave(status);
  const uint32_t console[] = {(uint32_t) ":tt", 4, 3};
  int file = host(WORD_OPEN, console);
  put(file, far.output, OUTPUT_BYTES);
  put(file, &used, sizeof used);
  leave(0);
}

extern uint32_t stack_top;
__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    &stack_top, (const void *)reset, (const void *)fault, (const void *)fault,
    (const void *)fault, (const void *)fault, (const void *)fault, (const void *)fault,
};
