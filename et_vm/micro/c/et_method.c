/* A loaded method: registers, the kernels of its calls, and the loop. */
#include "et_internal.h"

#define MOST_INSTRUCTIONS 10000000u
/* Of a call; each of its arguments is compared with them. */
#define MOST_OUTPUTS 256

#define FAIL(error, what, index) return et_fail(p, (error), (what), (index))
#define CHECK(call)                            \
  do {                                         \
    et_error status = (call);                  \
    if (status != ET_ERROR_OK) return status;  \
  } while (0)

static const char *const mnemonics[] = ET_MNEMONICS;

static void *take(const et_program *p, size_t size, size_t alignment) {
  return p->platform->allocate(p->platform->user, 0, size, alignment);
}

static uint32_t values_of(const et_program *p, uint32_t plan, uint32_t *count) {
  return et_vector(p, plan, ET_EXECUTION_PLAN_VALUES, count);
}

static uint32_t value_table(const et_program *p, uint32_t values, uint32_t index) {
  return et_child(p, et_item(p, values, index), ET_EVALUE_VAL);
}

/* -- Registers */

#define OWN 1
#define ALIASED 2

/* Mark as OWN the registers that have memory even if the program has planned none: inputs, and outputs that no move and
 * no view puts something into. */
static void mark_own(const et_method *m, uint16_t *states) {
  const et_program *p = m->program;
  uint32_t count, first;
  et_place here;
  for (uint32_t i = 0; i < m->count; i++) states[i] = 0;
  for (uint32_t at = 0; et_instruction(p, m->plan, at, &here); at++) {
    if (here.opcode == ET_OPCODE_MOVE_CALL) states[et_field_i32(p, here.table, ET_MOVE_CALL_MOVE_TO)] = ALIASED;
    if (here.opcode != ET_OPCODE_KERNEL_CALL) continue;
    uint32_t args = et_vector(p, here.table, ET_KERNEL_CALL_ARGS, &count);
    if (et_is_name(p, et_operator(p, m->plan, here.table), ET_VIEW)) states[et_u32(p, args + 4 * (count - 1))] = ALIASED;
  }
  first = et_vector(p, m->plan, ET_EXECUTION_PLAN_OUTPUTS, &count);
  for (uint32_t i = 0; i < count; i++)
    if (states[et_u32(p, first + 4 * i)] == 0) states[et_u32(p, first + 4 * i)] = OWN;
  first = et_vector(p, m->plan, ET_EXECUTION_PLAN_INPUTS, &count);
  for (uint32_t i = 0; i < count; i++) states[et_u32(p, first + 4 * i)] = OWN;
}

static et_error bind_tensor(const et_method *m, uint32_t index, et_tensor *tensor, uint8_t *const *arenas, bool own) {
  const et_program *p = m->program;
  et_layout layout;
  uint32_t count, values = values_of(p, m->plan, &count);
  et_tensor_layout(p, value_table(p, values, index), &layout);
  if (layout.bytes > SIZE_MAX / 2) FAIL(ET_ERROR_MEMORY_ALLOCATION_FAILED, "size of a tensor", index);
  bool planned = et_child(p, layout.table, ET_TENSOR_ALLOCATION_INFO) != 0;
  uint8_t dynamism = et_field_u8(p, layout.table, ET_TENSOR_SHAPE_DYNAMISM);
  if (layout.external) FAIL(ET_ERROR_INVALID_EXTERNAL_DATA, "data of a tensor", index);
  if (!planned && dynamism == ET_DYNAMISM_DYNAMIC_UNBOUND)
    FAIL(ET_ERROR_NOT_SUPPORTED, "tensor that grows", index);
  const uint8_t *data = NULL;
  if (layout.data != 0 && layout.bytes != 0) {
    et_extent extent = et_tensor_extent(p, &layout);
    data = p->loader.load(p->loader.user, extent.offset, (size_t)extent.size);
    if (data == NULL) FAIL(ET_ERROR_ACCESS_FAILED, "data of a tensor", index);
  }
  if (planned) {
    tensor->data = arenas[layout.arena] + layout.offset;
    if (data != NULL) et_copy(tensor->data, data, (size_t)layout.bytes);
  } else if (layout.data != 0) {
    /* Empty ones point anywhere. */
    tensor->data = (uint8_t *)(uintptr_t)(data != NULL ? data : p->file);
    tensor->constant = true;
  } else if (own) {
    tensor->data = layout.bytes == 0 ? (uint8_t *)(uintptr_t)p->file : take(p, (size_t)layout.bytes, 16);
    if (tensor->data == NULL) FAIL(ET_ERROR_MEMORY_ALLOCATION_FAILED, "memory of the method", index);
    et_fill(tensor->data, 0, (size_t)layout.bytes);
  }
  if (tensor->data != NULL && layout.bytes != 0 && ((uintptr_t)tensor->data & (et_item_size(tensor->type) - 1)) != 0)
    FAIL(ET_ERROR_NOT_SUPPORTED, "alignment of a tensor", index);
  return ET_ERROR_OK;
}

static void describe(const et_program *p, uint32_t table, et_tensor *tensor) {
  uint32_t rank, sizes = et_vector(p, table, ET_TENSOR_SIZES, &rank), order = et_vector(p, table, ET_TENSOR_DIM_ORDER, &rank);
  et_layout layout;
  et_tensor_layout(p, table, &layout);
  tensor->type = et_field_u8(p, table, ET_TENSOR_SCALAR_TYPE);
  tensor->rank = (uint8_t)rank;
  tensor->dim_order = p->file + order;
  tensor->dynamic = et_field_u8(p, table, ET_TENSOR_SHAPE_DYNAMISM) != 0;
  /* Tensors that cannot change share the sizes in the file, which nothing writes. */
  tensor->sizes = (int32_t *)(uintptr_t)(p->file + sizes);
  tensor->capacity = layout.bytes > SIZE_MAX / 2 ? 0 : (size_t)layout.bytes;
}

static void set_register(const et_program *p, uint32_t values, uint32_t index, et_value *value) {
  uint32_t table = value_table(p, values, index);
  value->kind = et_kind_of(p, values, index);
  value->count = 0;
  switch (value->kind) {
    case ET_KIND_INT:
      value->as.integer = (int64_t)et_field_u64(p, table, ET_INT_INT_VAL);
      return;
    case ET_KIND_DOUBLE: {
      union {
        uint64_t bits;
        double real;
      } both = {et_field_u64(p, table, ET_DOUBLE_DOUBLE_VAL)};
      value->as.real = both.real;
      return;
    }
    case ET_KIND_BOOL:
      value->as.boolean = et_field_u8(p, table, ET_BOOL_BOOL_VAL) != 0;
      return;
    case ET_KIND_NULL:
    case ET_KIND_TENSOR:
      return;
    default: {
      uint32_t first = et_vector(p, table, ET_INT_LIST_ITEMS, &value->count);
      value->as.items = p->file + first;
    }
  }
}

/* Give all registers what the file says. The contents of memory stay. */
static void reset(et_method *m) {
  const et_program *p = m->program;
  uint32_t count, values = values_of(p, m->plan, &count), number = 0;
  et_tensor *tensors = m->tensors;
  for (uint32_t i = 0; i < count; i++) {
    et_value *value = &m->values[i];
    set_register(p, values, i, value);
    if (value->kind == ET_KIND_TENSOR) {
      /* Each has a second copy, as it was loaded. */
      tensors[2 * number] = tensors[2 * number + 1];
      value->as.tensor = &tensors[2 * number++];
    }
  }
  m->changed = false;
}

/* -- Kernels */

static bool key_fits(const et_kernel *kernel, const et_program *p, uint32_t values, uint32_t args) {
  if (kernel->keys == NULL) return true;
  const uint8_t *key = kernel->keys;
  for (uint32_t number = 0; number < kernel->key_count; number++) {
    uint32_t left = *key++;
    bool fits = true;
    for (uint32_t i = 0; i < kernel->count; i++) {
      uint32_t register_index = et_u32(p, args + 4 * i), items;
      uint8_t kind = et_kind_of(p, values, register_index);
      uint32_t table = value_table(p, values, register_index);
      if (kind == ET_KIND_TENSOR_LIST || kind == ET_KIND_OPTIONAL_TENSOR_LIST) {
        uint32_t first = et_vector(p, table, ET_TENSOR_LIST_ITEMS, &items);
        kind = ET_KIND_NULL;
        for (uint32_t j = 0; j < items && kind != ET_KIND_TENSOR; j++) {
          if (et_i32(p, first + 4 * j) < 0) continue;
          kind = et_kind_of(p, values, et_u32(p, first + 4 * j));
          table = value_table(p, values, et_u32(p, first + 4 * j));
        }
      }
      if (kind != ET_KIND_TENSOR) continue;
      uint32_t rank, order = et_vector(p, table, ET_TENSOR_DIM_ORDER, &rank);
      fits = fits && left != 0 && key[0] == et_field_u8(p, table, ET_TENSOR_SCALAR_TYPE) && key[1] == rank &&
             et_equal(p->file + order, key + 2, rank);
      if (!fits) break;
      key += 2 + key[1];
      left--;
    }
    if (fits && left == 0) return true;
    while (left-- != 0) key += 2 + key[1];
  }
  return false;
}

/* Whether the last argument of a call repeats its outputs. */
static bool repeats_outputs(const et_program *p, uint32_t values, uint32_t operator_table, uint32_t args, uint32_t count) {
  uint32_t last = et_u32(p, args + 4 * (count - 1)), items = 1, first = args + 4 * (count - 1);
  if (et_in_place(p, operator_table) && et_u32(p, args) == last) return true;
  if (et_kind_of(p, values, last) == ET_KIND_TENSOR_LIST)
    first = et_vector(p, value_table(p, values, last), ET_TENSOR_LIST_ITEMS, &items);
  if (items <= count - 1 && et_equal(p->file + first, p->file + args + 4 * (count - 1 - items), 4 * items)) return true;
  if (count < 2) return false;
  uint32_t before = et_u32(p, args + 4 * (count - 2)), others;
  if ((ET_BIT(et_kind_of(p, values, before)) & ET_MASK_LISTS) == 0) return false;
  uint32_t list = et_vector(p, value_table(p, values, before), ET_TENSOR_LIST_ITEMS, &others);
  return et_kind_of(p, values, before) != ET_KIND_INT_LIST && others == items &&
         et_equal(p->file + list, p->file + first, 4 * items);
}

/* Whether the kinds of arguments fit. What instructions may change is looked at when they run. */
static bool argument_fits(const et_value *value, uint16_t mask) {
  if (mask == 0 || (ET_BIT(value->kind) & mask) != 0) return true;
  /* Nothing in a file tells empty lists of different kinds apart. */
  return value->kind > ET_KIND_STRING && value->count == 0 && (mask >> (ET_KIND_STRING + 1)) != 0;
}

static et_error link_call(et_method *m, uint32_t call, uint32_t at, const void **found) {
  const et_program *p = m->program;
  uint32_t operator_table = et_operator(p, m->plan, call), count, total;
  uint32_t args = et_vector(p, call, ET_KERNEL_CALL_ARGS, &count), values = values_of(p, m->plan, &total);
  int prim = et_find_prim(p, operator_table);
  if (prim >= 0) {
    if (et_prims[prim].run == NULL) FAIL(ET_ERROR_OPERATOR_MISSING, "operator", at);
    *found = &et_prims[prim];
    return ET_ERROR_OK;
  }
  for (uint32_t i = 0; i < et_kernel_count; i++) {
    const et_kernel *kernel = &et_kernels[i];
    if (!et_is_name(p, operator_table, kernel->name)) continue;
    *found = kernel;
    if (count == kernel->count + 1u && key_fits(kernel, p, values, args)) return ET_ERROR_OK;
  }
  if (*found == NULL) FAIL(ET_ERROR_OPERATOR_MISSING, "operator", at);
  const et_kernel *kernel = *found;
  if (count != kernel->count + 1u) FAIL(ET_ERROR_INVALID_PROGRAM, "arguments of a call", at);
  for (uint32_t i = 0; i < kernel->count; i++)
    if (!argument_fits(&m->values[et_u32(p, args + 4 * i)], kernel->params[i])) return ET_ERROR_OK;
  FAIL(ET_ERROR_OPERATOR_MISSING, "element types and dim orders of a call", at);
}

static et_error check_call(et_method *m, uint32_t call, uint32_t at, const void *found) {
  const et_program *p = m->program;
  uint32_t operator_table = et_operator(p, m->plan, call), count, total;
  uint32_t args = et_vector(p, call, ET_KERNEL_CALL_ARGS, &count), values = values_of(p, m->plan, &total);
  if (et_find_prim(p, operator_table) >= 0) {
    if (count != ((const et_prim *)found)->arity) FAIL(ET_ERROR_INVALID_PROGRAM, "arguments of a call", at);
    return ET_ERROR_OK;
  }
  if (!repeats_outputs(p, values, operator_table, args, count)) FAIL(ET_ERROR_INVALID_PROGRAM, "arguments of a call", at);
  return ET_ERROR_OK;
}

static et_error find_kernels(et_method *m, uint32_t count) {
  const et_program *p = m->program;
  const void **kernels = take(p, (count == 0 ? 1 : count) * sizeof(void *), sizeof(void *));
  if (kernels == NULL) FAIL(ET_ERROR_MEMORY_ALLOCATION_FAILED, "memory of the method", count);
  et_place here;
  m->kernels = kernels;
  for (int pass = 0; pass < 2; pass++)
    for (uint32_t at = 0; et_instruction(p, m->plan, at, &here); at++) {
      if (pass == 0) kernels[at] = NULL;
      if (here.opcode != ET_OPCODE_KERNEL_CALL) continue;
      CHECK(pass == 0 ? link_call(m, here.table, at, &kernels[at]) : check_call(m, here.table, at, kernels[at]));
    }
  return ET_ERROR_OK;
}

/* -- What registers can hold where they are used: the analysis of et_vm.verify.flow in methods without jumps, where a use
 * that fails is one that fails in every execution. In others, uses are checked when they run. */

#define NO_DATA (1u << 12)
#define CONSTANT (1u << 13)
#define DATA ET_BIT(ET_KIND_TENSOR)
#define TENSOR (DATA | NO_DATA | CONSTANT)

static bool grows(const et_program *p, uint32_t values, uint32_t index) {
  return et_kind_of(p, values, index) == ET_KIND_TENSOR &&
         et_field_u8(p, value_table(p, values, index), ET_TENSOR_SHAPE_DYNAMISM) == ET_DYNAMISM_DYNAMIC_UNBOUND;
}

static uint16_t first_state(const et_method *m, uint32_t values, uint32_t index, bool own) {
  const et_program *p = m->program;
  uint8_t kind = et_kind_of(p, values, index);
  if (kind != ET_KIND_TENSOR) return (uint16_t)ET_BIT(kind);
  et_layout layout;
  et_tensor_layout(p, value_table(p, values, index), &layout);
  if (et_child(p, layout.table, ET_TENSOR_ALLOCATION_INFO) != 0) return DATA;
  if (layout.data != 0 || layout.external) return CONSTANT;
  return own ? DATA : NO_DATA;
}

/* Check that an argument, and the items of one that is a list, have data; an output may grow. */
static et_error check_data(const et_method *m, const uint16_t *states, uint32_t values, uint32_t index, bool output, uint32_t at) {
  const et_program *p = m->program;
  if (states[index] == NO_DATA && !(output && grows(p, values, index))) FAIL(ET_ERROR_INVALID_PROGRAM, "tensor without data", at);
  uint8_t kind = et_kind_of(p, values, index);
  if ((ET_BIT(kind) & ET_MASK_LISTS) == 0 || states[index] != ET_BIT(kind)) return ET_ERROR_OK;
  uint32_t count, first = et_vector(p, value_table(p, values, index), ET_INT_LIST_ITEMS, &count);
  uint32_t wanted = kind == ET_KIND_INT_LIST ? ET_BIT(ET_KIND_INT) : TENSOR;
  if (kind == ET_KIND_OPTIONAL_TENSOR_LIST) wanted |= ET_BIT(ET_KIND_NULL);
  for (uint32_t i = 0; i < count; i++) {
    int32_t item = et_i32(p, first + (kind == ET_KIND_INT_LIST ? 8 : 4) * i);
    if (item < 0) continue;
    if (states[item] == NO_DATA && !(output && grows(p, values, (uint32_t)item)))
      FAIL(ET_ERROR_INVALID_PROGRAM, "tensor without data", at);
    if ((states[item] & wanted) == 0) FAIL(ET_ERROR_INVALID_TYPE, "item of a list", at);
  }
  return ET_ERROR_OK;
}

static bool kind_fits(const et_method *m, uint32_t values, uint32_t index, uint16_t state, uint16_t mask) {
  uint32_t wanted = mask | ((mask & DATA) != 0 ? TENSOR : 0), count;
  uint8_t kind = et_kind_of(m->program, values, index);
  if (mask == 0 || (state & wanted) != 0) return true;
  if (kind <= ET_KIND_STRING || (mask >> (ET_KIND_STRING + 1)) == 0) return false;
  et_vector(m->program, value_table(m->program, values, index), ET_INT_LIST_ITEMS, &count);
  return count == 0;
}

/* A call of an operator, before kernels are known, or (with them) that its arguments are of the kinds that they take. */
static et_error flow_call(const et_method *m, uint16_t *states, uint32_t values, const et_place *here, uint32_t at) {
  const et_program *p = m->program;
  uint32_t count, items, args = et_vector(p, here->table, ET_KERNEL_CALL_ARGS, &count);
  uint32_t operator_table = et_operator(p, m->plan, here->table), last = et_u32(p, args + 4 * (count - 1));
  int number = et_find_prim(p, operator_table);
  const et_prim *prim = number < 0 ? NULL : &et_prims[number];
  bool in_place = prim != NULL ? prim->result == 0 : et_in_place(p, operator_table);
  if (m->kernels != NULL) {
    const et_kernel *kernel = m->kernels[at];
    for (uint32_t i = 0; prim == NULL && i < kernel->count; i++) {
      uint32_t index = et_u32(p, args + 4 * i);
      if (!kind_fits(m, values, index, states[index], kernel->params[i])) FAIL(ET_ERROR_INVALID_TYPE, "arguments of a call", at);
    }
  } else if (prim != NULL) {
    if (count != prim->arity) FAIL(ET_ERROR_INVALID_PROGRAM, "arguments of a call", at);
    for (uint32_t i = 0; i < count - !in_place; i++) {
      uint32_t index = et_u32(p, args + 4 * i);
      CHECK(check_data(m, states, values, index, in_place && i == 0, at));
      if (!kind_fits(m, values, index, states[index], prim->params[i])) FAIL(ET_ERROR_INVALID_TYPE, "arguments of a call", at);
    }
    if (in_place && states[et_u32(p, args)] == CONSTANT) FAIL(ET_ERROR_INVALID_PROGRAM, "write to a constant", at);
    if (et_is_name(p, operator_table, ET_VIEW) && (states[last] & TENSOR) == 0) FAIL(ET_ERROR_INVALID_TYPE, "arguments of a call", at);
  } else {
    uint32_t list = 0, outputs = 1;
    if (et_kind_of(p, values, last) == ET_KIND_TENSOR_LIST)
      list = et_vector(p, value_table(p, values, last), ET_TENSOR_LIST_ITEMS, &outputs);
    if (outputs > MOST_OUTPUTS) FAIL(ET_ERROR_NOT_SUPPORTED, "outputs of a call", at);
    for (uint32_t i = 0; i < count; i++) {
      uint32_t index = et_u32(p, args + 4 * i);
      bool output = index == last && list == 0;
      for (uint32_t j = 0; list != 0 && j < outputs; j++) output = output || et_u32(p, list + 4 * j) == index;
      CHECK(check_data(m, states, values, index, output, at));
    }
    for (uint32_t j = 0; j < outputs; j++)
      if (states[list != 0 ? et_u32(p, list + 4 * j) : last] == CONSTANT) FAIL(ET_ERROR_INVALID_PROGRAM, "write to a constant", at);
    if (in_place && states[et_u32(p, args)] == CONSTANT) FAIL(ET_ERROR_INVALID_PROGRAM, "write to a constant", at);
  }
  if (prim != NULL && et_is_name(p, operator_table, ET_VIEW)) {
    uint16_t state = states[et_u32(p, args)] & (DATA | CONSTANT);
    states[last] = state == 0 ? (uint16_t)DATA : state;
  } else if (prim != NULL && !in_place) {
    states[last] = prim->result;
  } else if (grows(p, values, in_place ? et_u32(p, args) : last)) {
    states[in_place ? et_u32(p, args) : last] = DATA;
  } else if (et_kind_of(p, values, last) == ET_KIND_TENSOR_LIST) {
    uint32_t list = et_vector(p, value_table(p, values, last), ET_TENSOR_LIST_ITEMS, &items);
    for (uint32_t j = 0; j < items; j++)
      if (grows(p, values, et_u32(p, list + 4 * j))) states[et_u32(p, list + 4 * j)] = DATA;
  }
  return ET_ERROR_OK;
}

static et_error check_flow(const et_method *m, uint16_t *states) {
  const et_program *p = m->program;
  uint32_t total, values = values_of(p, m->plan, &total), outputs;
  et_place here;
  for (uint32_t at = 0; et_instruction(p, m->plan, at, &here); at++)
    if (here.opcode == ET_OPCODE_JUMP_FALSE_CALL) return ET_ERROR_OK;
  mark_own(m, states);
  for (uint32_t i = 0; i < total; i++) states[i] = first_state(m, values, i, states[i] == OWN);
  for (uint32_t at = 0; et_instruction(p, m->plan, at, &here); at++) {
    uint32_t named, args, index;
    switch (here.opcode) {
      case ET_OPCODE_KERNEL_CALL:
        CHECK(flow_call(m, states, values, &here, at));
        break;
      case ET_OPCODE_MOVE_CALL:
        states[et_field_i32(p, here.table, ET_MOVE_CALL_MOVE_TO)] = states[et_field_i32(p, here.table, ET_MOVE_CALL_MOVE_FROM)];
        break;
      case ET_OPCODE_FREE_CALL:
        index = (uint32_t)et_field_i32(p, here.table, ET_FREE_CALL_VALUE_INDEX);
        if ((states[index] & TENSOR) == 0) FAIL(ET_ERROR_INVALID_TYPE, "register", at);
        states[index] = NO_DATA;
        break;
      default:
        args = et_vector(p, here.table, ET_DELEGATE_CALL_ARGS, &named);
        for (uint32_t i = 0; i < named; i++) {
          index = et_u32(p, args + 4 * i);
          CHECK(check_data(m, states, values, index, true, at));
          if (grows(p, values, index)) states[index] = DATA;
        }
    }
  }
  uint32_t first = et_vector(p, m->plan, ET_EXECUTION_PLAN_OUTPUTS, &outputs);
  for (uint32_t i = 0; i < outputs; i++) {
    uint32_t index = et_u32(p, first + 4 * i);
    if (states[index] == NO_DATA) FAIL(ET_ERROR_INVALID_PROGRAM, "output", i);
    if ((states[index] & TENSOR) == 0 && et_kind_of(p, values, index) == ET_KIND_TENSOR)
      FAIL(ET_ERROR_INVALID_PROGRAM, "output", i);
  }
  return ET_ERROR_OK;
}

et_error et_method_load(et_method *method, const et_program *program, uint32_t index) {
  et_method *m = method;
  const et_program *p = program;
  uint32_t plans, first = et_vector(p, p->root, ET_PROGRAM_EXECUTION_PLAN, &plans), arena_count, tensors = 0, numbers = 0, count;
  if (index >= plans) FAIL(ET_ERROR_INVALID_ARGUMENT, "method", index);
  m->program = p;
  m->plan = et_item(p, first, index);
  m->limit = MOST_INSTRUCTIONS;
  m->executed = m->failed = 0;
  uint32_t values = values_of(p, m->plan, &m->count);
  for (uint32_t i = 0; i < m->count; i++)
    if (et_kind_of(p, values, i) == ET_KIND_TENSOR) {
      et_tensor tensor;
      describe(p, value_table(p, values, i), &tensor);
      tensors++;
      if (tensor.dynamic) numbers += tensor.rank;
    }
  uint32_t sizes = et_vector(p, m->plan, ET_EXECUTION_PLAN_NON_CONST_BUFFER_SIZES, &arena_count);
  et_place end;
  (void)et_instruction(p, m->plan, UINT32_MAX, &end);
  uint16_t *states = take(p, (m->count + 1) * sizeof(uint16_t), sizeof(uint16_t));
  if (states == NULL) FAIL(ET_ERROR_MEMORY_ALLOCATION_FAILED, "memory of the method", m->count);
  m->kernels = NULL;
  CHECK(check_flow(m, states));
  m->values = take(p, (m->count + 1) * sizeof(et_value), 8);
  /* Two for each: as it is now, and as it was loaded. */
  m->tensors = take(p, (2 * (size_t)tensors + 1) * sizeof(et_tensor), sizeof(void *));
  int32_t *dynamic = take(p, ((size_t)numbers + 1) * sizeof(int32_t), sizeof(int32_t));
  uint8_t **arenas = take(p, ((size_t)arena_count + 1) * sizeof(void *), sizeof(void *));
  if (m->values == NULL || m->tensors == NULL || dynamic == NULL || arenas == NULL)
    FAIL(ET_ERROR_MEMORY_ALLOCATION_FAILED, "memory of the method", m->count);
  for (uint32_t i = 1; i < arena_count; i++) {
    uint64_t size = et_u64(p, sizes + 8 * i);
    arenas[i] = NULL;
    if (size <= SIZE_MAX / 2 && size != 0) arenas[i] = p->platform->allocate(p->platform->user, i, (size_t)size, 16);
    /* What is empty may be anywhere. */
    if (size == 0) arenas[i] = (uint8_t *)(uintptr_t)p->file;
    if (arenas[i] == NULL) FAIL(ET_ERROR_MEMORY_ALLOCATION_FAILED, "arena", i);
    et_fill(arenas[i], 0, (size_t)size);
  }
  tensors = 0;
  mark_own(m, states);
  for (uint32_t i = 0; i < m->count; i++) {
    if (et_kind_of(p, values, i) != ET_KIND_TENSOR) continue;
    et_tensor *tensor = &m->tensors[2 * tensors++];
    et_fill(tensor, 0, 2 * sizeof *tensor);
    describe(p, value_table(p, values, i), tensor);
    if (tensor->dynamic) {
      et_copy(dynamic, tensor->sizes, tensor->rank * sizeof *dynamic);
      tensor->sizes = dynamic;
      dynamic += tensor->rank;
    }
    CHECK(bind_tensor(m, i, tensor, arenas, states[i] == OWN));
    tensor[1] = *tensor;
  }
  reset(m);
  et_vector(p, m->plan, ET_EXECUTION_PLAN_DELEGATES, &count);
  if (count != 0) FAIL(ET_ERROR_NOT_FOUND, "backend", 0);
  CHECK(find_kernels(m, end.base));
  return check_flow(m, states);
}

/* -- Inputs and outputs */

static const et_value *listed(const et_method *m, uint32_t slot, uint32_t index) {
  uint32_t count, first = et_vector(m->program, m->plan, slot, &count);
  return index >= count ? NULL : &m->values[et_u32(m->program, first + 4 * index)];
}

static uint32_t length(const et_method *m, uint32_t slot) {
  uint32_t count;
  et_vector(m->program, m->plan, slot, &count);
  return count;
}

uint32_t et_method_inputs(const et_method *method) { return length(method, ET_EXECUTION_PLAN_INPUTS); }
uint32_t et_method_outputs(const et_method *method) { return length(method, ET_EXECUTION_PLAN_OUTPUTS); }
const et_value *et_method_input(const et_method *method, uint32_t index) {
  return listed(method, ET_EXECUTION_PLAN_INPUTS, index);
}
const et_value *et_method_output(const et_method *method, uint32_t index) {
  return listed(method, ET_EXECUTION_PLAN_OUTPUTS, index);
}

et_error et_method_set_input(et_method *method, uint32_t index, const void *data, size_t size, const int32_t *sizes) {
  const et_program *p = method->program;
  if (method->changed) reset(method);
  const et_value *value = et_method_input(method, index);
  if (value == NULL || value->kind != ET_KIND_TENSOR) FAIL(ET_ERROR_INVALID_ARGUMENT, "input", index);
  et_tensor *tensor = value->as.tensor;
  if (sizes != NULL) {
    et_error status = et_resize(tensor, tensor->rank, sizes);
    if (status != ET_ERROR_OK) FAIL(status, "input", index);
  }
  if (size != et_numel(tensor) * et_item_size(tensor->type)) FAIL(ET_ERROR_INVALID_ARGUMENT, "input", index);
  et_copy(tensor->data, data, size);
  return ET_ERROR_OK;
}

/* -- The loop */

/* Check an argument of a call: its kind, that a tensor has data, and the same for the items of a list. */
static et_error check_argument(const et_method *m, const et_value *value, uint16_t mask) {
  if (!argument_fits(value, mask)) return ET_ERROR_INVALID_TYPE;
  if (value->kind == ET_KIND_TENSOR && value->as.tensor->data == NULL) return ET_ERROR_INVALID_STATE;
  if (value->kind != ET_KIND_TENSOR_LIST && value->kind != ET_KIND_OPTIONAL_TENSOR_LIST) return ET_ERROR_OK;
  for (uint32_t i = 0; i < value->count; i++) {
    int32_t item = ((const int32_t *)(const void *)value->as.items)[i];
    if (item < 0) continue;
    const et_value *held = &m->values[item];
    if (held->kind == ET_KIND_NULL && value->kind == ET_KIND_OPTIONAL_TENSOR_LIST) continue;
    if (held->kind != ET_KIND_TENSOR) return ET_ERROR_INVALID_TYPE;
    if (held->as.tensor->data == NULL) return ET_ERROR_INVALID_STATE;
  }
  return ET_ERROR_OK;
}

/* Whether a tensor would be written to before it is read: its memory is that of the result, which is as large as it may
 * become. Where kernels read and write one place after the other, it may be the same. */
static bool is_overwritten(const et_kernel *kernel, const et_tensor *tensor, const et_tensor *out) {
  uintptr_t start = (uintptr_t)tensor->data, to = (uintptr_t)out->data;
  size_t bytes = et_numel(tensor) * et_item_size(tensor->type);
  if (kernel->in_place && start == to) return false;
  return tensor == out || (bytes != 0 && start < to + out->capacity && to < start + bytes);
}

/* Check that an argument, or what is in a list, is not overwritten. */
static et_error check_places(const et_method *m, const et_kernel *kernel, const et_value *value, const et_tensor *out) {
  bool list = value->kind == ET_KIND_TENSOR_LIST || value->kind == ET_KIND_OPTIONAL_TENSOR_LIST;
  for (uint32_t i = 0; i < (list ? value->count : 1); i++) {
    int32_t item = list ? ((const int32_t *)(const void *)value->as.items)[i] : 0;
    const et_value *held = !list ? value : item < 0 ? NULL : &m->values[item];
    if (held != NULL && held->kind == ET_KIND_TENSOR && is_overwritten(kernel, held->as.tensor, out))
      return ET_ERROR_INVALID_ARGUMENT;
  }
  return ET_ERROR_OK;
}

static et_error run_call(et_method *m, uint32_t table, const void *found) {
  const et_program *p = m->program;
  uint32_t count, args = et_vector(p, table, ET_KERNEL_CALL_ARGS, &count);
  et_call call = {m, (const int32_t *)(const void *)(p->file + args), count};
  if (found == NULL) { /* no method is loaded that has a call without a kernel */
    if (p->platform->panic != NULL) p->platform->panic(p->platform->user);
    return ET_ERROR_INTERNAL;
  }
  if ((const et_prim *)found >= et_prims && (const et_prim *)found < et_prims + et_prim_count) {
    const et_prim *prim = found;
    bool in_place = prim->result == 0;
    for (uint32_t i = 0; i + !in_place < prim->arity; i++) CHECK(check_argument(m, et_arg(&call, i), prim->params[i]));
    if (in_place && et_tensor_arg(&call, 0)->constant) return ET_ERROR_INVALID_ARGUMENT;
    return prim->run(&call);
  }
  const et_kernel *kernel = found;
  uint32_t types = UINT32_MAX;
  for (uint32_t i = 0; i < kernel->count; i++) {
    const et_value *value = et_arg(&call, i);
    CHECK(check_argument(m, value, kernel->params[i]));
    if (value->kind != ET_KIND_TENSOR) continue;
    /* A move may have put a tensor of another type here than the file has. */
    types = (kernel->uniform ? types : UINT32_MAX) & 1u << value->as.tensor->type;
    if ((types & kernel->types[i]) == 0) return ET_ERROR_INVALID_ARGUMENT;
  }
  /* The last argument repeats the output. */
  const et_value *last = et_arg(&call, kernel->count);
  if (last->kind == ET_KIND_TENSOR && last->as.tensor->constant) return ET_ERROR_INVALID_ARGUMENT;
  for (uint32_t i = 0; i + 1 < kernel->count; i++)
    CHECK(check_places(m, kernel, et_arg(&call, i), et_tensor_arg(&call, kernel->count - 1u)));
  return kernel->run(&call);
}

static et_error condition(const et_value *value, bool *holds) {
  *holds = true;
  if (value->kind == ET_KIND_BOOL) {
    *holds = value->as.boolean;
    return ET_ERROR_OK;
  }
  if (value->kind != ET_KIND_TENSOR || value->as.tensor->type != ET_TYPE_BOOL) return ET_ERROR_INVALID_TYPE;
  const et_tensor *tensor = value->as.tensor;
  if (tensor->data == NULL) return ET_ERROR_INVALID_STATE;
  for (size_t i = 0; i < et_numel(tensor); i++) *holds = *holds && tensor->data[i] != 0;
  return ET_ERROR_OK;
}

static et_error step(et_method *m, const et_place *here, uint32_t *at) {
  const et_program *p = m->program;
  et_value *value;
  bool holds = true;
  switch (here->opcode) {
    case ET_OPCODE_KERNEL_CALL:
      return run_call(m, here->table, m->kernels[*at]);
    case ET_OPCODE_MOVE_CALL:
      m->values[et_field_i32(p, here->table, ET_MOVE_CALL_MOVE_TO)] =
          m->values[et_field_i32(p, here->table, ET_MOVE_CALL_MOVE_FROM)];
      return ET_ERROR_OK;
    case ET_OPCODE_JUMP_FALSE_CALL:
      CHECK(condition(&m->values[et_field_i32(p, here->table, ET_JUMP_FALSE_CALL_COND_VALUE_INDEX)], &holds));
      if (!holds) *at = here->base + (uint32_t)et_field_i32(p, here->table, ET_JUMP_FALSE_CALL_DESTINATION_INSTRUCTION) - 1;
      return ET_ERROR_OK;
    case ET_OPCODE_FREE_CALL:
      value = &m->values[et_field_i32(p, here->table, ET_FREE_CALL_VALUE_INDEX)];
      if (value->kind != ET_KIND_TENSOR) return ET_ERROR_INVALID_TYPE;
      value->as.tensor->data = NULL;
      return ET_ERROR_OK;
    default:
      return ET_ERROR_NOT_FOUND;
  }
}

static void report(const et_method *m, const et_place *here, uint32_t index, uint64_t start) {
  const et_program *p = m->program;
  const et_platform *platform = p->platform;
  et_event event = {.start = start, .index = index, .opcode = here->opcode, .name = mnemonics[here->opcode]};
  event.end = platform->ticks != NULL ? platform->ticks(platform->user) : 0;
  while (event.name[event.name_length] != 0) event.name_length++;
  if (here->opcode == ET_OPCODE_KERNEL_CALL) {
    uint32_t operator_table = et_operator(p, m->plan, here->table);
    event.name = et_operator_name(p, operator_table, &event.name_length);
    event.overload = (const char *)p->file + et_vector(p, operator_table, ET_OPERATOR_OVERLOAD, &event.overload_length);
  }
  platform->on_instruction(platform->user, &event);
}

et_error et_method_execute(et_method *method) {
  et_method *m = method;
  const et_program *p = m->program;
  const et_platform *platform = p->platform;
  if (m->changed) reset(m);
  m->changed = true;
  m->executed = 0;
  et_place here;
  for (uint32_t at = 0; et_instruction(p, m->plan, at, &here); at++) {
    m->failed = at;
    if (++m->executed > m->limit) FAIL(ET_ERROR_INVALID_PROGRAM, "number of instructions", at);
    uint32_t index = at;
    uint64_t start = platform->on_instruction != NULL && platform->ticks != NULL ? platform->ticks(platform->user) : 0;
    et_error status = step(m, &here, &at);
    if (status != ET_ERROR_OK) FAIL(status, "instruction", index);
    if (platform->on_instruction != NULL) report(m, &here, index, start);
  }
  return ET_ERROR_OK;
}
