/* Runs machine code of another architecture in an emulator:

     runner IMAGE PREPARE ENTRY BUFFERS ARENA COUNT NUMBER... SIZE...

   The image is mapped where it may be executed, and its functions at byte PREPARE, unless that is -1, and ENTRY called
   with COUNT numbers, BUFFERS buffers of SIZE bytes and an arena. What is in the buffers before is read from standard input, and written to standard output after. Each
   buffer ends where a page starts that nothing may touch. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef void (*entry_type)(void *, void **, int64_t, int64_t);

static char *guarded(size_t size) {
  size_t page = sysconf(_SC_PAGESIZE), bytes = (size + page) / page * page;
  char *base = mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED || mprotect(base + bytes, page, PROT_NONE)) exit(3);
  return base + bytes - size;
}

int main(int count, char **words) {
  int buffers = atoi(words[4]), numbers = atoi(words[6]);
  char **sizes = words + 7 + numbers;
  static uint64_t context[32] __attribute__((aligned(64)));
  void *pointers[64];
  FILE *file = fopen(words[1], "rb");
  if (!file || count != 7 + numbers + buffers || numbers + buffers > 63) return 2;
  fseek(file, 0, SEEK_END);
  size_t size = ftell(file);
  rewind(file);
  char *image = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (image == MAP_FAILED || fread(image, 1, size, file) != size) return 3;
  __builtin___clear_cache(image, image + size);
  if (mprotect(image, size, PROT_READ | PROT_EXEC)) return 3;
  for (int i = 0; i < numbers; i++) pointers[i] = (void *)atol(words[7 + i]);
  void **addresses = pointers + numbers;
  for (int i = 0; i < buffers; i++) {
    size_t bytes = atol(sizes[i]);
    addresses[i] = guarded(bytes);
    if (fread(addresses[i], 1, bytes, stdin) != bytes) return 4;
  }
  addresses[buffers] = guarded(atol(words[5]));
  context[16] = (uint64_t)(uintptr_t)&sched_yield;
  if (atol(words[2]) >= 0) ((entry_type)(image + atol(words[2])))(context, pointers, 0, 1);
  ((entry_type)(image + atol(words[3])))(context, pointers, 0, 1);
  for (int i = 0; i < buffers; i++)
    fwrite(addresses[i], 1, atol(sizes[i]), stdout);
  return 0;
}
