/* Calls the function of an object on a Cortex-M55 (QEMU's machine mps3-an547). The memory protection unit lets it touch
   code and constants, which it cannot write, this file's data and stack, and its buffers, each to 32 bytes; if there are
   more of them than regions, the last inputs share one. Semihosting gets the outputs, the state, and the bytes of the
   stack that were used, as 32 bits. */
#include "freestanding_job.h"

enum { DEPTH = 1 << 14, WORD_WRITE = 5, WORD_OPEN = 1, WORD_EXIT = 0x20 };

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
  if (size && host(WORD_WRITE, arguments)) leave(103);
}

#define REGISTER(address) (*(volatile uint32_t *)(address))
extern unsigned char data_start[], data_end[], code_end[];
enum { READ_ONLY = 3 << 1, READ_WRITE = 1 << 1, NO_CODE = 1 };

static void allow(uint32_t number, const void *start, const void *end, uint32_t access) {
  REGISTER(0xE000ED98) = number;
  REGISTER(0xE000ED9C) = (uint32_t)start | access;
  REGISTER(0xE000EDA0) = (((uint32_t)end - 1) & ~31u) | 1;
}

static volatile unsigned char *place = (unsigned char *)0x31000000;
static uint32_t regions;

/* A buffer with some contents, or of bytes of ones, behind 32 bytes that nobody may touch. */
static unsigned char *buffer(uint32_t size, const unsigned char *contents, uint32_t access) {
  volatile unsigned char *start = place + 32;
  uint32_t whole = size ? (size + 31) / 32 * 32 : 32, count = REGISTER(0xE000ED90) >> 8 & 0xff;
  for (uint32_t i = 0; i < whole; i++) start[i] = 0xff;
  for (uint32_t i = 0; contents && i < size; i++) start[i] = contents[i];
  place = start + whole;
  if (regions < count) {
    allow(regions++, (void *)start, (void *)place, access | NO_CODE);
  } else {
    if (access != READ_ONLY) leave(106);
    REGISTER(0xE000ED98) = count - 1;
    REGISTER(0xE000EDA0) = (((uint32_t)place - 1) & ~31u) | 1;
  }
  return (unsigned char *)start;
}

static struct buffers all;

void reset(void) {
  REGISTER(0xE000ED88) |= 0xFu << 20; /* CPACR: floating-point unit and Helium */
  __asm__ volatile("dsb\n\tisb");
  const uint32_t *sizes = JOB->sizes, *results = sizes + JOB->inputs;
  const unsigned char *contents = CONTENTS, *state = contents;
  for (uint32_t i = 0; i < JOB->inputs; i++) state += sizes[i];
  allow(0, (void *)0, code_end, READ_ONLY);
  allow(1, data_start, data_end, READ_WRITE | NO_CODE);
  regions = 2;
  all.arena = buffer(JOB->arena, NULL, READ_WRITE);
  if (JOB->state) all.state = buffer(JOB->state, state, READ_WRITE);
  for (uint32_t i = 0; i < JOB->outputs; i++) all.outputs[i] = buffer(results[i], NULL, READ_WRITE);
  for (uint32_t i = 0; i < JOB->inputs; contents += sizes[i++]) all.inputs[i] = buffer(sizes[i], contents, READ_ONLY);
  REGISTER(0xE000EDC0) = 0x44; /* MAIR0: normal memory, not cached */
  REGISTER(0xE000ED94) = 1;    /* MPU_CTRL: on, nothing else is allowed */
  __asm__ volatile("dsb\n\tisb");
  int status;
  uint32_t used = measured(&all, DEPTH, &status);
  REGISTER(0xE000ED94) = 0; /* the host asks for whole pages */
  __asm__ volatile("dsb\n\tisb");
  if (status) leave(status);
  const uint32_t console[] = {(uint32_t) ":tt", 4, 3};
  int file = host(WORD_OPEN, console);
  for (uint32_t i = 0; i < JOB->outputs; i++) put(file, all.outputs[i], results[i]);
  put(file, all.state, JOB->state);
  put(file, &used, sizeof used);
  leave(0);
}

extern uint32_t stack_top;
__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    &stack_top, (const void *)reset, (const void *)fault, (const void *)fault,
    (const void *)fault, (const void *)fault, (const void *)fault, (const void *)fault,
};
