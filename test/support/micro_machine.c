/* Runs the program at FILE_ADDRESS, of FILE_BYTES: from an input of INPUT_BYTES to an output of as many as there are. */
#include "et_micro.h"

static _Alignas(16) uint8_t registers[REGISTER_BYTES];
static _Alignas(16) uint8_t arena[ARENA_BYTES];
uint8_t input[INPUT_BYTES];
const void *volatile output;
volatile uint32_t register_bytes;

static void *allocate(void *user, uint32_t bank, size_t size, size_t alignment) {
  (void)user;
  if (bank == 1) return size <= sizeof arena ? arena : NULL;
  size_t start = (register_bytes + alignment - 1) / alignment * alignment;
  if (bank != 0 || start > sizeof registers || size > sizeof registers - start) return NULL;
  register_bytes = (uint32_t)(start + size);
  return registers + start;
}

static const void *load(void *user, uint64_t offset, size_t size) {
  (void)user;
  (void)size;
  return (const uint8_t *)FILE_ADDRESS + offset;
}

int run(void) {
  static const et_platform platform = {.allocate = allocate};
  static et_program program;
  static et_method method;
  et_loader loader = {.size = FILE_BYTES, .load = load};
  et_error status = et_program_load(&program, &loader, &platform);
  if (status == ET_ERROR_OK) status = et_method_load(&method, &program, 0);
  if (status == ET_ERROR_OK) status = et_method_set_input(&method, 0, input, sizeof input, NULL);
  if (status == ET_ERROR_OK) status = et_method_execute(&method);
  if (status == ET_ERROR_OK) output = et_method_output(&method, 0)->as.tensor->data;
  return status;
}
