/* Start-up code for a Cortex-M4: the vector table, memory, and the floating-point unit. */
#include <stdint.h>

extern uint32_t stack_top, data_start, data_end, data_source, bss_start, bss_end;

int main(void);

void halt(void) {
  for (;;) __asm__ volatile("wfi");
}

void reset(void) {
  for (volatile uint32_t *to = &data_start, *from = &data_source; to < &data_end;) *to++ = *from++;
  for (volatile uint32_t *to = &bss_start; to < &bss_end;) *to++ = 0;
  *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20; /* CPACR: full access to CP10 and CP11, the floating-point unit */
  __asm__ volatile("dsb\n\tisb");
  main();
  halt();
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    &stack_top, (const void *)reset, (const void *)halt, (const void *)halt,
};
