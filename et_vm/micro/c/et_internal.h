/* What the files of the runtime share. */
#ifndef ET_INTERNAL_H
#define ET_INTERNAL_H

#include "et_micro.h"

/* -- FlatBuffers, after they were checked: positions are bytes of the file. */

static inline uint32_t et_u32(const et_program *p, uint32_t at) {
  return *(const uint32_t *)(const void *)(p->file + at);
}
static inline uint16_t et_u16(const et_program *p, uint32_t at) {
  return *(const uint16_t *)(const void *)(p->file + at);
}
static inline int32_t et_i32(const et_program *p, uint32_t at) { return (int32_t)et_u32(p, at); }
static inline uint64_t et_u64(const et_program *p, uint32_t at) {
  return *(const uint64_t *)(const void *)(p->file + at);
}

/* Position of a field of the table at `table`, 0 where it has the default. */
uint32_t et_field(const et_program *p, uint32_t table, uint32_t slot);
int32_t et_field_i32(const et_program *p, uint32_t table, uint32_t slot);
uint8_t et_field_u8(const et_program *p, uint32_t table, uint32_t slot);
uint64_t et_field_u64(const et_program *p, uint32_t table, uint32_t slot);
/* The table that a field leads to, 0 where there is none. */
uint32_t et_child(const et_program *p, uint32_t table, uint32_t slot);
/* The first element of a vector, or of a string, and the number of elements. */
uint32_t et_vector(const et_program *p, uint32_t table, uint32_t slot, uint32_t *count);
/* A table of a vector of tables. */
static inline uint32_t et_item(const et_program *p, uint32_t first, uint32_t index) {
  uint32_t at = first + 4 * index;
  return at + et_u32(p, at);
}
/* An integer of a vector of 32-bit integers. */
static inline int32_t et_item_i32(const et_program *p, uint32_t first, uint32_t at) { return et_i32(p, first + 4 * at); }
/* The union of a table, absent where its type is None. */
uint32_t et_member(const et_program *p, uint32_t table, uint32_t slot, uint8_t *kind);

/* Report an error to the platform, and return it. */
et_error et_fail(const et_program *p, et_error error, const char *what, uint32_t index);

/* -- et_check.c: a file as FlatBuffers; the tables of `root`. */
et_error et_check_tables(et_program *p);

/* -- et_verify.c: what a program says; `data_size` is what its header gives for the segments, 0 for all. */
et_error et_verify_program(const et_program *p, uint64_t data_size);

/* -- et_program.c */
typedef struct et_extent { /* bytes of a file */
  uint64_t offset;
  uint64_t size;
  bool found;
} et_extent;

/* What is said of a tensor in the file, sizes checked. */
typedef struct et_layout {
  uint32_t table;
  uint32_t rank;
  uint64_t bytes;
  uint64_t offset; /* in its arena */
  uint32_t arena;  /* memory id, 0 without a place */
  uint32_t data;   /* data_buffer_idx */
  bool external;
} et_layout;

/* The bytes of a segment. */
et_extent et_segment(const et_program *p, uint32_t index);
/* Bytes of a shape, 0 for an empty one. False if they do not fit 63 bits, even as if no dimension were empty. */
bool et_shape_bytes(const et_program *p, uint32_t first, uint32_t rank, uint32_t item, uint64_t *bytes);
void et_tensor_layout(const et_program *p, uint32_t table, et_layout *layout);
et_extent et_tensor_extent(const et_program *p, const et_layout *layout);
/* An operator of a call: its number among the primitive operators, or -1. */
int et_find_prim(const et_program *p, uint32_t operator_table);
bool et_is_name(const et_program *p, uint32_t operator_table, const char *name);
bool et_in_place(const et_program *p, uint32_t operator_table);
/* Name of the operator and its length. */
const char *et_operator_name(const et_program *p, uint32_t operator_table, uint32_t *length);
/* The kind of a value. */
uint8_t et_kind_of(const et_program *p, uint32_t values, uint32_t index);

/* An instruction, numbered through all chains. */
typedef struct et_place {
  uint32_t table;  /* of its arguments */
  uint32_t base;   /* the number of the first of its chain; behind the last one, how many there are */
  uint32_t length; /* of the chain */
  uint8_t opcode;
} et_place;
/* Whether there is an instruction `index`. */
bool et_instruction(const et_program *p, uint32_t plan, uint32_t index, et_place *place);
/* The operator of a call. */
uint32_t et_operator(const et_program *p, uint32_t plan, uint32_t call);

/* -- Calls */
typedef struct et_call {
  et_method *method;
  const int32_t *args;
  uint32_t count;
} et_call;

typedef et_error (*et_function)(const et_call *call);

/* A kernel of an operator. `params` has a mask of kinds for each parameter, the last ones are its outputs. */
typedef struct et_kernel {
  const char *name; /* with overload */
  const uint16_t *params;
  const uint32_t *types; /* element types of tensors by parameter, as bits */
  /* Kernel keys, each: number of tensors, then for each its element type, rank and dim order. Any will do if NULL. */
  const uint8_t *keys;
  et_function run;
  uint8_t count;
  uint16_t key_count;
  bool uniform;  /* whether all tensors have to have one element type */
  bool in_place; /* whether the result may be written over an input that starts at the same place */
} et_kernel;

typedef struct et_prim {
  const char *name; /* without the namespace executorch_prim, as aten::sym_numel with its own */
  et_function run;
  uint16_t params[3];
  uint16_t result; /* kinds of its output; 0: it writes its first argument */
  uint8_t arity;   /* number of arguments with the output */
} et_prim;

/* Generated, by what programs use. */
extern const et_kernel et_kernels[];
extern const uint32_t et_kernel_count;
/* All primitive operators; those that are not used have no function. */
extern const et_prim et_prims[];
extern const uint32_t et_prim_count;

#define ET_BIT(kind) (1u << (kind))
#define ET_MASK_LISTS (ET_BIT(ET_KIND_INT_LIST) | ET_BIT(ET_KIND_TENSOR_LIST) | ET_BIT(ET_KIND_OPTIONAL_TENSOR_LIST))

static inline et_value *et_arg(const et_call *call, uint32_t at) { return &call->method->values[call->args[at]]; }
static inline et_tensor *et_tensor_arg(const et_call *call, uint32_t at) { return et_arg(call, at)->as.tensor; }
/* An optional tensor: NULL for None. */
static inline et_tensor *et_optional_arg(const et_call *call, uint32_t at) {
  et_value *value = et_arg(call, at);
  return value->kind == ET_KIND_TENSOR ? value->as.tensor : NULL;
}
static inline int64_t et_int_arg(const et_call *call, uint32_t at) { return et_arg(call, at)->as.integer; }
static inline bool et_bool_arg(const et_call *call, uint32_t at) { return et_arg(call, at)->as.boolean; }
/* A Double, Int or Bool as a double. */
double et_real_arg(const et_call *call, uint32_t at);
/* The integers of a list, and their number; at most `most`. */
et_error et_ints_arg(const et_call *call, uint32_t at, int64_t *items, uint32_t most, uint32_t *count);

#define ET_MAX_RANK 16

uint32_t et_item_size(uint8_t type);
size_t et_numel(const et_tensor *tensor);
/* Give a tensor another shape. */
et_error et_resize(et_tensor *tensor, uint32_t rank, const int32_t *sizes);
et_error et_resize_like(et_tensor *tensor, const et_tensor *other);
/* Strides in elements by dimension. */
void et_strides(const et_tensor *tensor, size_t *strides);
bool et_same_layout(const et_tensor *a, const et_tensor *b);
bool et_contiguous(const et_tensor *tensor);

/* Elements of `out` in the order of memory, with the places of up to two inputs beside them: their shapes are spread
 * over that of `out`. */
typedef struct et_walk {
  uint32_t rank;
  size_t left;
  size_t place[3];
  int32_t sizes[ET_MAX_RANK];
  int32_t index[ET_MAX_RANK];
  size_t strides[3][ET_MAX_RANK];
} et_walk;
void et_walk_start(et_walk *walk, const et_tensor *out, const et_tensor *a, const et_tensor *b);
static inline void et_walk_next(et_walk *walk) {
  walk->left--;
  for (uint32_t dim = walk->rank; dim-- > 0;) {
    if (++walk->index[dim] < walk->sizes[dim]) {
      for (int i = 0; i < 3; i++) walk->place[i] += walk->strides[i][dim];
      return;
    }
    walk->index[dim] = 0;
    for (int i = 0; i < 3; i++) walk->place[i] -= walk->strides[i][dim] * (size_t)(walk->sizes[dim] - 1);
  }
}
/* The shape that two tensors spread to. */
et_error et_broadcast(et_tensor *out, const et_tensor *a, const et_tensor *b);

/* Geometry of a window that slides over the last two dimensions of an image (one: the height is 1). */
typedef struct et_window {
  int32_t in[2], kernel[2], out[2];
  int64_t stride[2], padding[2], dilation[2];
} et_window;

typedef enum et_windowed { ET_CONVOLUTION, ET_MAX_POOL, ET_AVG_POOL } et_windowed;

/* Its geometry, of a call with strides, padding and, unless it is an average, dilation from argument `first` on. A pool
 * without strides has windows side by side. */
et_error et_window_of(const et_call *call, uint32_t first, uint32_t dims, const int32_t *in, const int32_t *kernel, bool ceil,
                      et_windowed kind, et_window *window);
/* The same for a convolution, with the shape of its result. */
et_error et_convolved(const et_call *call, const et_tensor *input, const et_tensor *weight, uint32_t at, int64_t groups,
                      et_tensor *out, et_window *window);
/* Strides of a batch of images [N, C, H, W] or [N, C, W], whose height is 1. */
void et_image_strides(const et_tensor *image, size_t *strides);
/* Of the taps of a window along a dimension, those inside of the image. */
void et_taps(const et_window *window, uint32_t dim, int32_t place, int32_t *first, int32_t *end);

/* A reduction: which dimensions are reduced, as bits, and the number of elements that become one. */
typedef struct et_reduction {
  uint32_t dims;
  size_t number;
  bool keep; /* whether the result has them, too, of size 1 */
} et_reduction;
/* That of a call whose list of dimensions is argument `at`, followed by `keepdim`, with the shape of its result. */
et_error et_reduction_of(const et_call *call, uint32_t at, const et_tensor *self, et_tensor *out, et_reduction *reduction);

float et_exp(float x);

void et_copy(void *to, const void *from, size_t size);
void et_fill(void *to, uint8_t byte, size_t size);
bool et_equal(const void *a, const void *b, size_t size);

#endif
