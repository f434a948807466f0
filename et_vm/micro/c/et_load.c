/* Loading of a program: its file is read, checked and verified; and what it has to offer. */
#include "et_internal.h"

#define FAIL(error, what, index) return et_fail(p, (error), (what), (index))
#define CHECK(call)                            \
  do {                                         \
    et_error status = (call);                  \
    if (status != ET_ERROR_OK) return status;  \
  } while (0)

et_error et_program_load(et_program *program, const et_loader *loader, const et_platform *platform) {
  et_program *p = program;
  uint64_t data_size = 0;
  p->platform = platform;
  p->loader = *loader;
  p->root = 0;
  p->base = 0;
  if (loader->size < ET_MINIMUM_FILE_SIZE) FAIL(ET_ERROR_INVALID_ARGUMENT, "file", (uint32_t)loader->size);
  uint64_t program_size = loader->size;
  p->end = ET_MINIMUM_FILE_SIZE;
  p->file = loader->load(loader->user, 0, ET_MINIMUM_FILE_SIZE);
  if (p->file == NULL) FAIL(ET_ERROR_ACCESS_FAILED, "file", 0);
  if (((uintptr_t)p->file & 7) != 0) FAIL(ET_ERROR_INVALID_ARGUMENT, "alignment of the file", 0);
  if (et_equal(p->file + ET_HEADER_AT, ET_HEADER_MAGIC, 4)) {
    uint32_t length = et_u32(p, ET_HEADER_AT + 4);
    if (length < 24) FAIL(ET_ERROR_INVALID_PROGRAM, "header", length);
    program_size = et_u64(p, ET_HEADER_AT + 8);
    p->base = et_u64(p, ET_HEADER_AT + 16);
    if (length >= 32) data_size = et_u64(p, ET_HEADER_AT + 24);
    if (program_size > loader->size) FAIL(ET_ERROR_INVALID_PROGRAM, "header", 0);
    if (p->base != 0 && (p->base < program_size || p->base > loader->size || data_size > loader->size - p->base))
      FAIL(ET_ERROR_INVALID_PROGRAM, "header", 0);
  }
  if (program_size > INT32_MAX) FAIL(ET_ERROR_NOT_SUPPORTED, "header", 0);
  p->end = (uint32_t)program_size;
  p->file = loader->load(loader->user, 0, p->end);
  if (p->file == NULL) FAIL(ET_ERROR_ACCESS_FAILED, "file", 0);
  if (((uintptr_t)p->file & 7) != 0) FAIL(ET_ERROR_INVALID_ARGUMENT, "alignment of the file", 0);
  CHECK(et_check_tables(p));
  return et_verify_program(p, data_size);
}

uint32_t et_program_methods(const et_program *program) {
  uint32_t count;
  et_vector(program, program->root, ET_PROGRAM_EXECUTION_PLAN, &count);
  return count;
}

const char *et_program_method_name(const et_program *program, uint32_t index, size_t *length) {
  uint32_t count, plans = et_vector(program, program->root, ET_PROGRAM_EXECUTION_PLAN, &count);
  uint32_t name = et_vector(program, et_item(program, plans, index), ET_EXECUTION_PLAN_NAME, &count);
  *length = count;
  return (const char *)program->file + name;
}

uint64_t et_program_arena(const et_program *program, uint32_t method, uint32_t memory_id) {
  uint32_t count, plans = et_vector(program, program->root, ET_PROGRAM_EXECUTION_PLAN, &count);
  uint32_t first = et_vector(program, et_item(program, plans, method), ET_EXECUTION_PLAN_NON_CONST_BUFFER_SIZES, &count);
  return memory_id == 0 || memory_id >= count ? 0 : et_u64(program, first + 8 * memory_id);
}
