/* Runs the program that is in a slot of flash, which the device may receive anew at any time.
 *
 * A debugger, or the test, writes `image` and reads `digit` and `error`. */
#include "et_micro.h"

/* Where an update is written to. The file begins at a multiple of 16. */
typedef struct slot {
  uint32_t size;
  uint32_t reserved[3];
  uint8_t file[];
} slot;
extern const slot program_slot; /* link.ld */

/* Memory by bank: registers, and the arena of the program. */
static _Alignas(16) uint8_t registers[3072];
static _Alignas(16) uint8_t arena[4096];
static size_t taken;

float image[64];
volatile int digit = -1;
volatile int error;

static void *allocate(void *user, uint32_t bank, size_t size, size_t alignment) {
  (void)user;
  if (bank == 1) return size <= sizeof arena ? arena : NULL;
  size_t start = (taken + alignment - 1) / alignment * alignment;
  if (bank != 0 || start > sizeof registers || size > sizeof registers - start) return NULL;
  taken = start + size;
  return registers + start;
}

static const void *load(void *user, uint64_t offset, size_t size) {
  (void)user;
  (void)size;
  return program_slot.file + offset; /* the runtime asks for nothing beyond the size of the file */
}

static et_error run(void) {
  static const et_platform platform = {.allocate = allocate};
  et_loader loader = {.size = program_slot.size, .load = load};
  static et_program program;
  static et_method method;
  taken = 0;
  et_error status = et_program_load(&program, &loader, &platform);
  if (status == ET_ERROR_OK) status = et_method_load(&method, &program, 0);
  if (status == ET_ERROR_OK) status = et_method_set_input(&method, 0, image, sizeof image, NULL);
  if (status == ET_ERROR_OK) status = et_method_execute(&method);
  if (status != ET_ERROR_OK) return status;
  const et_value *output = et_method_output(&method, 0);
  if (output == NULL || output->kind != ET_KIND_TENSOR || output->as.tensor->type != ET_TYPE_FLOAT) return ET_ERROR_INVALID_TYPE;
  const float *logits = (const float *)(const void *)output->as.tensor->data;
  size_t count = 1;
  for (int dim = 0; dim < output->as.tensor->rank; dim++) count *= (size_t)output->as.tensor->sizes[dim];
  int best = 0;
  for (size_t number = 1; number < count; number++)
    if (logits[number] > logits[best]) best = (int)number;
  digit = count == 0 ? -1 : best;
  return ET_ERROR_OK;
}

int main(void) {
  error = run();
  return error;
}
