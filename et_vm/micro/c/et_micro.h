/* A runtime for ExecuTorch programs on processors without an operating system.
 *
 * It needs no library and no heap, and has no memory of its own to write to: what it remembers is in what the caller
 * gives it. One thread uses a program or a method at a time.
 */
#ifndef ET_MICRO_H
#define ET_MICRO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "et_tables.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An instruction that has run. Its name is the operator's, or the mnemonic; no NUL has to follow a name. */
typedef struct et_event {
  uint64_t start, end; /* ticks */
  const char *name, *overload;
  uint32_t name_length, overload_length;
  uint32_t index;
  uint8_t opcode;
} et_event;

/* What the runtime asks of the device. Unless they are said to be optional, functions are called without a check. */
typedef struct et_platform {
  void *user; /* passed to the functions */
  /* Memory of at least `size` bytes for bank `bank`, NULL if there is none: the arena with this memory id, or for bank 0
   * memory for registers, and for inputs and outputs that the program has not planned. */
  void *(*allocate)(void *user, uint32_t bank, size_t size, size_t alignment);
  /* Optional: time, in units of the device. */
  uint64_t (*ticks)(void *user);
  /* Optional: called once for each error, with what it is about: an index of a value, instruction or segment. */
  void (*log)(void *user, et_error error, const char *what, uint32_t index);
  /* Optional: called when the runtime finds that its own memory has changed; should not return. */
  void (*panic)(void *user);
  /* Optional: an instruction has run. */
  void (*on_instruction)(void *user, const et_event *event);
} et_platform;

/* Where the bytes of a file come from. */
typedef struct et_loader {
  void *user;
  uint64_t size; /* bytes of the file */
  /* `size` bytes from `offset`, which stay there and do not change, aligned as they are in the file up to 16 bytes;
   * NULL if they cannot be had. In memory-mapped flash, an address. */
  const void *(*load)(void *user, uint64_t offset, size_t size);
} et_loader;

/* A tensor. `data` is NULL as long as it has none. */
typedef struct et_tensor {
  uint8_t *data;
  int32_t *sizes; /* `rank` numbers */
  const uint8_t *dim_order;
  size_t capacity; /* bytes of the largest shape */
  uint8_t type;    /* ET_TYPE_FLOAT … */
  uint8_t rank;
  bool constant; /* its bytes may not be written */
  bool dynamic;  /* its sizes may change */
} et_tensor;

/* What a register holds; `kind` is ET_KIND_INT …. */
typedef struct et_value {
  union {
    int64_t integer;
    double real;
    bool boolean;
    et_tensor *tensor;
    const uint8_t *items; /* of a list, or the bytes of a string */
  } as;
  uint32_t count; /* of a list or string */
  uint8_t kind;
} et_value;

typedef struct et_program {
  const et_platform *platform;
  et_loader loader;
  const uint8_t *file; /* the flatbuffer */
  uint32_t end;        /* bytes of it */
  uint64_t base;       /* of segments */
  uint32_t root;
} et_program;

typedef struct et_method {
  const et_program *program;
  uint32_t plan; /* position of its table */
  et_value *values;
  et_tensor *tensors;
  const void *const *kernels; /* one for each instruction */
  uint32_t count;             /* of values */
  uint32_t limit;             /* of instructions in an execution */
  uint32_t executed;          /* instructions of the last execution */
  uint32_t failed;            /* instruction that failed */
  bool changed;
} et_method;

/* Check a file. The program is in `program`, which has to stay where it is, as have the other arguments. */
et_error et_program_load(et_program *program, const et_loader *loader, const et_platform *platform);

/* Number of methods; and the name of one, with its length, which no NUL has to follow. */
uint32_t et_program_methods(const et_program *program);
const char *et_program_method_name(const et_program *program, uint32_t index, size_t *length);

/* Bytes of an arena of a method by memory id (from 1): 0 for those it does not have. */
uint64_t et_program_arena(const et_program *program, uint32_t method, uint32_t memory_id);

/* Take memory for a method, and find its kernels. */
et_error et_method_load(et_method *method, const et_program *program, uint32_t index);

uint32_t et_method_inputs(const et_method *method);
uint32_t et_method_outputs(const et_method *method);
const et_value *et_method_input(const et_method *method, uint32_t index);
const et_value *et_method_output(const et_method *method, uint32_t index);

/* Copy `size` bytes into an input that is a tensor, in its dim order. `sizes` are those of its shape, NULL for the one it
 * has. */
et_error et_method_set_input(et_method *method, uint32_t index, const void *data, size_t size, const int32_t *sizes);

/* Run all instructions. */
et_error et_method_execute(et_method *method);

#ifdef __cplusplus
}
#endif
#endif
