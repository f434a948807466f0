/* Bytes. Compilers call memcpy, memmove, memset and memcmp by themselves; where nothing has them, these are taken. */
#include "et_internal.h"

void et_copy(void *to, const void *from, size_t size) {
  uint8_t *target = to;
  const uint8_t *source = from;
  for (size_t i = 0; i < size; i++) target[i] = source[i];
}

void et_fill(void *to, uint8_t byte, size_t size) {
  uint8_t *target = to;
  for (size_t i = 0; i < size; i++) target[i] = byte;
}

bool et_equal(const void *a, const void *b, size_t size) {
  const uint8_t *one = a, *other = b;
  for (size_t i = 0; i < size; i++)
    if (one[i] != other[i]) return false;
  return true;
}

#if !__STDC_HOSTED__ && !defined __wasm__
#define WEAK __attribute__((weak))
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("no-tree-loop-distribute-patterns")
#endif
void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *a, const void *b, size_t size);

WEAK void *memcpy(void *to, const void *from, size_t size) {
  et_copy(to, from, size);
  return to;
}

WEAK void *memmove(void *to, const void *from, size_t size) {
  uint8_t *target = to;
  const uint8_t *source = from;
  if (target <= source) return memcpy(to, from, size);
  while (size-- > 0) target[size] = source[size];
  return to;
}

WEAK void *memset(void *to, int byte, size_t size) {
  et_fill(to, (uint8_t)byte, size);
  return to;
}

WEAK int memcmp(const void *a, const void *b, size_t size) {
  const uint8_t *one = a, *other = b;
  for (size_t i = 0; i < size; i++)
    if (one[i] != other[i]) return one[i] < other[i] ? -1 : 1;
  return 0;
}
#endif
