/* What a program says: the rules of et_schema.pte and et_vm.verify that memory safety needs, in their order, so that a
 * file with several faults has the same error here and there.
 *
 * Nothing is allocated. Where that would make the work a product of two sizes, there is a limit. */
#include "et_internal.h"

/* Segments that are out of order, methods, and tensors with initial contents, which are compared in pairs; and chains,
 * which are looked through for each instruction. */
#define MOST_PAIRED 256
/* Bytes of an operator's name, which is looked at for each call. */
#define MOST_NAME 256
/* Items of lists whose registers are looked for among all instructions. */
#define MOST_SEARCHES 1024
/* Registers that instructions may name in all, for each byte of the program. */
#define MENTIONS_PER_BYTE 8

#define FAIL(error, what, index) return et_fail(p, (error), (what), (index))
#define CHECK(call)                            \
  do {                                         \
    et_error status = (call);                  \
    if (status != ET_ERROR_OK) return status;  \
  } while (0)

/* -- The container */

static et_error verify_segments(const et_program *p, uint64_t data_size) {
  uint32_t count, first = et_vector(p, p->root, ET_PROGRAM_SEGMENTS, &count);
  uint64_t end = data_size != 0 ? p->base + data_size : p->loader.size, last = 0;
  bool ordered = true;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t table = et_item(p, first, i);
    uint64_t offset = et_field_u64(p, table, ET_DATA_SEGMENT_OFFSET), size = et_field_u64(p, table, ET_DATA_SEGMENT_SIZE);
    if (size == 0) continue;
    if (p->base == 0 || p->base > end || offset > end - p->base || size > end - p->base - offset)
      FAIL(ET_ERROR_INVALID_PROGRAM, "segment", i);
    ordered = ordered && offset >= last;
    last = offset + size;
  }
  if (ordered) return ET_ERROR_OK;
  if (count > MOST_PAIRED) FAIL(ET_ERROR_NOT_SUPPORTED, "segments out of order", count);
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t j = 0; j < i; j++) {
      uint32_t a = et_item(p, first, i), b = et_item(p, first, j);
      uint64_t start = et_field_u64(p, a, ET_DATA_SEGMENT_OFFSET), size = et_field_u64(p, a, ET_DATA_SEGMENT_SIZE);
      uint64_t other = et_field_u64(p, b, ET_DATA_SEGMENT_OFFSET), extent = et_field_u64(p, b, ET_DATA_SEGMENT_SIZE);
      if (size != 0 && extent != 0 && start < other + extent && other < start + size)
        FAIL(ET_ERROR_INVALID_PROGRAM, "segment", i);
    }
  return ET_ERROR_OK;
}

static et_error verify_offsets(const et_program *p, uint32_t table, uint32_t index) {
  uint32_t count, first = et_vector(p, table, ET_SUBSEGMENT_OFFSETS_OFFSETS, &count);
  et_extent whole = et_segment(p, (uint32_t)et_field_i32(p, table, ET_SUBSEGMENT_OFFSETS_SEGMENT_INDEX));
  if (!whole.found) FAIL(ET_ERROR_INVALID_PROGRAM, "segment of constants", index);
  for (uint32_t i = 0; i < count; i++)
    if (et_u64(p, first + 8 * i) > whole.size) FAIL(ET_ERROR_INVALID_PROGRAM, "segment of constants", i);
  return ET_ERROR_OK;
}

static et_error verify_references(const et_program *p) {
  uint32_t segments, count, first;
  et_vector(p, p->root, ET_PROGRAM_SEGMENTS, &segments);
  first = et_vector(p, p->root, ET_PROGRAM_NAMED_DATA, &count);
  if (count != 0 && segments == 0) FAIL(ET_ERROR_INVALID_ARGUMENT, "named data", 0);
  for (uint32_t i = 0; i < count; i++)
    if ((uint32_t)et_field_i32(p, et_item(p, first, i), ET_NAMED_DATA_SEGMENT_INDEX) >= segments)
      FAIL(ET_ERROR_INVALID_PROGRAM, "named data", i);
  uint32_t constants = et_child(p, p->root, ET_PROGRAM_CONSTANT_SEGMENT);
  if (constants != 0) {
    et_vector(p, constants, ET_SUBSEGMENT_OFFSETS_OFFSETS, &count);
    if (count > 1) CHECK(verify_offsets(p, constants, 0));
  }
  first = et_vector(p, p->root, ET_PROGRAM_MUTABLE_DATA_SEGMENTS, &count);
  for (uint32_t i = 0; i < count; i++) CHECK(verify_offsets(p, et_item(p, first, i), i));
  uint32_t plans, plan = et_vector(p, p->root, ET_PROGRAM_EXECUTION_PLAN, &plans), blobs;
  et_vector(p, p->root, ET_PROGRAM_BACKEND_DELEGATE_DATA, &blobs);
  for (uint32_t i = 0; i < plans; i++) {
    first = et_vector(p, et_item(p, plan, i), ET_EXECUTION_PLAN_DELEGATES, &count);
    for (uint32_t j = 0; j < count; j++) {
      uint32_t data = et_child(p, et_item(p, first, j), ET_BACKEND_DELEGATE_PROCESSED);
      if (data == 0) FAIL(ET_ERROR_INVALID_PROGRAM, "delegate", j);
      bool in_line = et_field_u8(p, data, ET_BACKEND_DELEGATE_DATA_REFERENCE_LOCATION) == 0;
      uint32_t index = (uint32_t)et_field_i32(p, data, ET_BACKEND_DELEGATE_DATA_REFERENCE_INDEX);
      if (index >= (in_line ? blobs : segments)) FAIL(ET_ERROR_INVALID_PROGRAM, "delegate", j);
    }
  }
  return ET_ERROR_OK;
}

static et_error verify_names(const et_program *p) {
  uint32_t count, first = et_vector(p, p->root, ET_PROGRAM_EXECUTION_PLAN, &count), length, other;
  if (count == 0) FAIL(ET_ERROR_INVALID_PROGRAM, "name of a method", 0);
  if (count > MOST_PAIRED) FAIL(ET_ERROR_NOT_SUPPORTED, "methods", count);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t name = et_vector(p, et_item(p, first, i), ET_EXECUTION_PLAN_NAME, &length);
    if (length == 0) FAIL(ET_ERROR_INVALID_PROGRAM, "name of a method", i);
    for (uint32_t j = 0; j < i; j++) {
      uint32_t before = et_vector(p, et_item(p, first, j), ET_EXECUTION_PLAN_NAME, &other);
      if (other == length && et_equal(p->file + name, p->file + before, length))
        FAIL(ET_ERROR_INVALID_PROGRAM, "name of a method", i);
    }
  }
  uint32_t constants = et_child(p, p->root, ET_PROGRAM_CONSTANT_SEGMENT), buffers;
  et_vector(p, p->root, ET_PROGRAM_CONSTANT_BUFFER, &buffers);
  if (constants != 0 && buffers != 0) {
    et_vector(p, constants, ET_SUBSEGMENT_OFFSETS_OFFSETS, &count);
    if (count != 0) FAIL(ET_ERROR_INVALID_PROGRAM, "segment of constants", 0);
  }
  first = et_vector(p, p->root, ET_PROGRAM_NAMED_DATA, &count);
  for (uint32_t i = 0; i < count; i++) {
    et_vector(p, et_item(p, first, i), ET_NAMED_DATA_KEY, &length);
    if (length == 0) FAIL(ET_ERROR_INVALID_PROGRAM, "named data", i);
  }
  return ET_ERROR_OK;
}

/* -- Tensors */

static bool is_permutation(const et_program *p, uint32_t first, uint32_t count) {
  uint32_t seen = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint8_t dim = p->file[first + i];
    if (dim >= count || (seen >> dim & 1) != 0) return false;
    seen |= 1u << dim;
  }
  return true;
}

static et_error verify_bools(const et_program *p, et_extent data, uint64_t *budget, uint32_t index) {
  if (data.size > *budget) FAIL(ET_ERROR_INVALID_PROGRAM, "bool of a tensor", index);
  *budget -= data.size;
  const uint8_t *bytes = data.size == 0 ? NULL : p->loader.load(p->loader.user, data.offset, (size_t)data.size);
  if (bytes == NULL && data.size != 0) FAIL(ET_ERROR_ACCESS_FAILED, "data of a tensor", index);
  for (size_t i = 0; i < (size_t)data.size; i++)
    if (bytes[i] > 1) FAIL(ET_ERROR_INVALID_PROGRAM, "bool of a tensor", index);
  return ET_ERROR_OK;
}

static et_error verify_tensor(const et_program *p, uint32_t plan, uint32_t table, uint32_t index, uint64_t *budget) {
  et_layout layout;
  uint32_t rank, dims, sizes = et_vector(p, table, ET_TENSOR_SIZES, &rank);
  uint32_t order = et_vector(p, table, ET_TENSOR_DIM_ORDER, &dims);
  uint32_t extra = et_child(p, table, ET_TENSOR_EXTRA_TENSOR_INFO), length;
  uint8_t type = et_field_u8(p, table, ET_TENSOR_SCALAR_TYPE);
  if (et_item_size(type) == 0) FAIL(ET_ERROR_INVALID_PROGRAM, "element type", index);
  if (et_field_i32(p, table, ET_TENSOR_STORAGE_OFFSET) != 0) FAIL(ET_ERROR_NOT_SUPPORTED, "storage offset", index);
  if (extra != 0) {
    if (et_field_u8(p, extra, ET_EXTRA_TENSOR_INFO_DEVICE_TYPE) != 0) FAIL(ET_ERROR_NOT_SUPPORTED, "device", index);
    et_vector(p, extra, ET_EXTRA_TENSOR_INFO_FULLY_QUALIFIED_NAME, &length);
    if (et_field_u8(p, extra, ET_EXTRA_TENSOR_INFO_LOCATION) != 0 && length == 0)
      FAIL(ET_ERROR_INVALID_PROGRAM, "name of a tensor", index);
  }
  if (rank > ET_MAX_RANK) FAIL(ET_ERROR_INVALID_PROGRAM, "size of a tensor", index);
  if (dims != rank) FAIL(ET_ERROR_INVALID_PROGRAM, "dim order", index);
  if (!is_permutation(p, order, rank)) FAIL(ET_ERROR_INTERNAL, "dim order", index);
  for (uint32_t i = 0; i < rank; i++)
    if (et_item_i32(p, sizes, i) < 0) FAIL(ET_ERROR_INVALID_PROGRAM, "size of a tensor", index);
  if (!et_shape_bytes(p, sizes, rank, et_item_size(type), &layout.bytes)) FAIL(ET_ERROR_INVALID_PROGRAM, "size of a tensor", index);
  et_tensor_layout(p, table, &layout);
  if (et_child(p, table, ET_TENSOR_ALLOCATION_INFO) != 0) {
    uint32_t arenas, first = et_vector(p, plan, ET_EXECUTION_PLAN_NON_CONST_BUFFER_SIZES, &arenas);
    if (layout.arena == 0 || layout.arena >= arenas) FAIL(ET_ERROR_INVALID_ARGUMENT, "arena", index);
    uint64_t size = et_u64(p, first + 8 * layout.arena);
    if (layout.offset > size || layout.bytes > size - layout.offset)
      FAIL(ET_ERROR_MEMORY_ALLOCATION_FAILED, "arena", index);
  }
  if (layout.data != 0 && !layout.external) {
    et_extent data = et_tensor_extent(p, &layout);
    if (!data.found) FAIL(ET_ERROR_INVALID_ARGUMENT, "data of a tensor", index);
    if (type == ET_TYPE_BOOL) CHECK(verify_bools(p, data, budget, index));
  }
  return ET_ERROR_OK;
}

/* Whether the file has the first contents of a tensor in an arena. */
static bool has_initial_state(const et_program *p, uint32_t values, uint32_t index, et_layout *layout) {
  uint8_t kind;
  uint32_t table = et_member(p, et_item(p, values, index), ET_EVALUE_VAL_TYPE, &kind);
  if (kind != ET_KIND_TENSOR || et_child(p, table, ET_TENSOR_ALLOCATION_INFO) == 0) return false;
  et_tensor_layout(p, table, layout);
  return layout->bytes != 0 && (layout->external || layout->data != 0);
}

static bool same_state(const et_program *p, const et_layout *a, const et_layout *b) {
  uint32_t one = et_child(p, a->table, ET_TENSOR_EXTRA_TENSOR_INFO), other = et_child(p, b->table, ET_TENSOR_EXTRA_TENSOR_INFO);
  if (a->external != b->external) return false;
  if (!a->external)
    return a->data == b->data &&
           (one == 0 ? 0 : et_field_u64(p, one, ET_EXTRA_TENSOR_INFO_MUTABLE_DATA_SEGMENTS_IDX)) ==
               (other == 0 ? 0 : et_field_u64(p, other, ET_EXTRA_TENSOR_INFO_MUTABLE_DATA_SEGMENTS_IDX));
  uint32_t length, more;
  uint32_t name = et_vector(p, one, ET_EXTRA_TENSOR_INFO_FULLY_QUALIFIED_NAME, &length);
  uint32_t second = et_vector(p, other, ET_EXTRA_TENSOR_INFO_FULLY_QUALIFIED_NAME, &more);
  return length == more && et_equal(p->file + name, p->file + second, length);
}

static et_error verify_states(const et_program *p, uint32_t values, uint32_t count) {
  et_layout a, b;
  uint32_t found = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (!has_initial_state(p, values, i, &a)) continue;
    if (++found > MOST_PAIRED) FAIL(ET_ERROR_NOT_SUPPORTED, "initial contents", found);
    for (uint32_t j = 0; j < i; j++)
      if (has_initial_state(p, values, j, &b) && a.arena == b.arena && a.offset < b.offset + b.bytes &&
          b.offset < a.offset + a.bytes && (a.offset != b.offset || a.bytes != b.bytes || !same_state(p, &a, &b)))
        FAIL(ET_ERROR_INVALID_PROGRAM, "initial contents", i);
  }
  return ET_ERROR_OK;
}

/* -- Methods */

static et_error verify_registers(const et_program *p, uint32_t table, uint32_t slot, uint32_t values) {
  uint32_t count, first = et_vector(p, table, slot, &count);
  for (uint32_t i = 0; i < count; i++)
    if (et_u32(p, first + 4 * i) >= values) FAIL(ET_ERROR_INVALID_PROGRAM, "register", i);
  return ET_ERROR_OK;
}

/* Whether a value is a tensor whose bytes are in the file, or in another, and may not be written. */
static bool is_constant(const et_program *p, uint32_t values, uint32_t index) {
  uint8_t kind;
  uint32_t table = et_member(p, et_item(p, values, index), ET_EVALUE_VAL_TYPE, &kind);
  if (kind != ET_KIND_TENSOR || et_child(p, table, ET_TENSOR_ALLOCATION_INFO) != 0) return false;
  et_layout layout;
  et_tensor_layout(p, table, &layout);
  return layout.data != 0 || layout.external;
}

static et_error verify_ends(const et_program *p, uint32_t plan, uint32_t values, uint32_t count) {
  uint32_t inputs, first = et_vector(p, plan, ET_EXECUTION_PLAN_INPUTS, &inputs);
  CHECK(verify_registers(p, plan, ET_EXECUTION_PLAN_OUTPUTS, count));
  CHECK(verify_registers(p, plan, ET_EXECUTION_PLAN_INPUTS, count));
  for (uint32_t i = 0; i < inputs; i++) {
    uint32_t at = et_u32(p, first + 4 * i);
    uint8_t kind = et_kind_of(p, values, at);
    if (kind > ET_KIND_STRING) FAIL(ET_ERROR_NOT_SUPPORTED, "input", i);
    if (is_constant(p, values, at)) FAIL(ET_ERROR_INVALID_PROGRAM, "input", i);
  }
  return ET_ERROR_OK;
}

/* Registers and other numbers of an instruction exist. The first field of a call is what is called, that of others is a
 * register, and the second field is a register, a list of them or an instruction. */
static et_error verify_instruction(const et_program *p, uint32_t plan, const et_place *place, uint32_t values, uint32_t at) {
  uint32_t count, table = place->table;
  if (place->opcode == 0) FAIL(ET_ERROR_INVALID_PROGRAM, "instruction", at);
  uint32_t first = (uint32_t)et_field_i32(p, table, 0), second = 0, most = values;
  if (place->opcode == ET_OPCODE_KERNEL_CALL || place->opcode == ET_OPCODE_DELEGATE_CALL) {
    bool kernel = place->opcode == ET_OPCODE_KERNEL_CALL;
    et_vector(p, plan, kernel ? ET_EXECUTION_PLAN_OPERATORS : ET_EXECUTION_PLAN_DELEGATES, &most);
    if (first >= most) FAIL(ET_ERROR_INVALID_PROGRAM, "operator", at);
    CHECK(verify_registers(p, table, 1, values));
    et_vector(p, table, 1, &count);
    if (kernel && count == 0) FAIL(ET_ERROR_INVALID_PROGRAM, "arguments of a call", at);
    return ET_ERROR_OK;
  }
  if (place->opcode == ET_OPCODE_MOVE_CALL) second = (uint32_t)et_field_i32(p, table, 1);
  if (place->opcode == ET_OPCODE_JUMP_FALSE_CALL) {
    second = (uint32_t)et_field_i32(p, table, 1);
    most = place->length + 1;
  }
  if (first >= values || second >= most) FAIL(ET_ERROR_INVALID_PROGRAM, "register", at);
  return ET_ERROR_OK;
}

static et_error verify_chains(const et_program *p, uint32_t plan, uint32_t values) {
  uint32_t chains, first = et_vector(p, plan, ET_EXECUTION_PLAN_CHAINS, &chains), at = 0;
  et_place place;
  if (chains == 0) FAIL(ET_ERROR_INVALID_PROGRAM, "chains", 0);
  if (chains > MOST_PAIRED) FAIL(ET_ERROR_NOT_SUPPORTED, "chains", chains);
  for (uint32_t i = 0; i < chains; i++) {
    uint32_t chain = et_item(p, first, i);
    CHECK(verify_registers(p, chain, ET_CHAIN_INPUTS, values));
    CHECK(verify_registers(p, chain, ET_CHAIN_OUTPUTS, values));
  }
  for (; et_instruction(p, plan, at, &place); at++) CHECK(verify_instruction(p, plan, &place, values, at));
  return ET_ERROR_OK;
}

/* Whether some instruction makes a register hold something else. */
static bool is_assigned(const et_program *p, uint32_t plan, uint32_t index) {
  et_place place;
  uint32_t count;
  for (uint32_t at = 0; et_instruction(p, plan, at, &place); at++) {
    if (place.opcode == ET_OPCODE_MOVE_CALL && (uint32_t)et_field_i32(p, place.table, ET_MOVE_CALL_MOVE_TO) == index) return true;
    if (place.opcode != ET_OPCODE_KERNEL_CALL) continue;
    uint32_t args = et_vector(p, place.table, ET_KERNEL_CALL_ARGS, &count);
    if (et_u32(p, args + 4 * (count - 1)) != index) continue;
    int prim = et_find_prim(p, et_operator(p, plan, place.table));
    if (prim >= 0 && et_prims[prim].result != 0) return true;
  }
  return false;
}

static et_error verify_lists(const et_program *p, uint32_t plan, uint32_t values, uint32_t count) {
  uint32_t searches = 0, items;
  for (uint32_t i = 0; i < count; i++) {
    uint8_t kind;
    uint32_t table = et_member(p, et_item(p, values, i), ET_EVALUE_VAL_TYPE, &kind);
    if ((ET_BIT(kind) & ET_MASK_LISTS) == 0) continue;
    uint32_t first = et_vector(p, table, ET_INT_LIST_ITEMS, &items);
    uint32_t wanted = kind == ET_KIND_INT_LIST ? ET_BIT(ET_KIND_INT) : ET_BIT(ET_KIND_TENSOR);
    bool optional = kind == ET_KIND_OPTIONAL_TENSOR_LIST;
    if (optional) wanted |= ET_BIT(ET_KIND_NULL);
    for (uint32_t j = 0; j < items; j++) {
      int64_t item = kind == ET_KIND_INT_LIST ? (int64_t)et_u64(p, first + 8 * j) : et_item_i32(p, first, j);
      if (optional && item == -1) continue;
      if (item < 0 || item >= (int64_t)count) FAIL(ET_ERROR_INVALID_PROGRAM, "item of a list", i);
      uint32_t held = ET_BIT(et_kind_of(p, values, (uint32_t)item));
      if ((held & wanted) != 0) continue;
      if ((held & ET_MASK_LISTS) == 0) {
        if (++searches > MOST_SEARCHES) FAIL(ET_ERROR_OUT_OF_RESOURCES, "item of a list", i);
        if (is_assigned(p, plan, (uint32_t)item)) continue;
      }
      FAIL(optional ? ET_ERROR_INVALID_TYPE : ET_ERROR_INVALID_PROGRAM, "item of a list", i);
    }
  }
  return ET_ERROR_OK;
}

/* Number of items of a value that is a list of registers. */
static uint32_t list_items(const et_program *p, uint32_t values, uint32_t index, uint32_t *first) {
  uint8_t kind;
  uint32_t count = 0, table = et_member(p, et_item(p, values, index), ET_EVALUE_VAL_TYPE, &kind);
  if ((ET_BIT(kind) & ET_MASK_LISTS) != 0) *first = et_vector(p, table, ET_INT_LIST_ITEMS, &count);
  return count;
}

static uint64_t mentions(const et_program *p, uint32_t values, uint32_t first, uint32_t count) {
  uint64_t all = count;
  uint32_t items;
  for (uint32_t i = 0; i < count; i++) all += list_items(p, values, et_u32(p, first + 4 * i), &items);
  return all;
}

static et_error verify_mentions(const et_program *p, uint32_t plan, uint32_t values, uint64_t *left) {
  uint32_t named, items, outputs = et_vector(p, plan, ET_EXECUTION_PLAN_OUTPUTS, &named), at = 0;
  uint64_t all = mentions(p, values, outputs, named);
  et_place place;
  for (; et_instruction(p, plan, at, &place) && all <= *left; at++) {
    if (place.opcode <= ET_OPCODE_DELEGATE_CALL) {
      uint32_t args = et_vector(p, place.table, 1, &named);
      all += mentions(p, values, args, named);
      continue;
    }
    all += 1 + list_items(p, values, (uint32_t)et_field_i32(p, place.table, 0), &items);
    if (place.opcode == ET_OPCODE_MOVE_CALL) all += 1 + list_items(p, values, (uint32_t)et_field_i32(p, place.table, 1), &items);
  }
  if (all > *left) FAIL(ET_ERROR_INVALID_PROGRAM, "registers of all instructions", at);
  *left -= all;
  return ET_ERROR_OK;
}

static et_error verify_writes(const et_program *p, uint32_t plan, uint32_t values) {
  uint32_t count;
  et_place place;
  for (uint32_t at = 0; et_instruction(p, plan, at, &place); at++) {
    if (place.opcode != ET_OPCODE_KERNEL_CALL) continue;
    uint32_t operator_table = et_operator(p, plan, place.table), items = 1;
    uint32_t args = et_vector(p, place.table, ET_KERNEL_CALL_ARGS, &count), written = args + 4 * (count - 1);
    int prim = et_find_prim(p, operator_table);
    bool in_place = prim >= 0 ? et_prims[prim].result == 0 : et_in_place(p, operator_table);
    bool wrong = in_place && is_constant(p, values, et_u32(p, args));
    if (et_kind_of(p, values, et_u32(p, written)) == ET_KIND_TENSOR_LIST) items = list_items(p, values, et_u32(p, written), &written);
    for (uint32_t i = 0; prim < 0 && i < items; i++) wrong = wrong || is_constant(p, values, et_u32(p, written + 4 * i));
    if (wrong) FAIL(ET_ERROR_INVALID_PROGRAM, "write to a constant", at);
  }
  return ET_ERROR_OK;
}

static et_error verify_plan(const et_program *p, uint32_t plan, uint64_t *left, uint64_t *budget) {
  uint32_t count, length, first = et_vector(p, plan, ET_EXECUTION_PLAN_NON_CONST_BUFFER_SIZES, &length);
  for (uint32_t i = 0; i < length; i++)
    if ((int64_t)et_u64(p, first + 8 * i) < 0) FAIL(ET_ERROR_INVALID_PROGRAM, "arena", i);
  uint32_t devices = et_vector(p, plan, ET_EXECUTION_PLAN_NON_CONST_BUFFER_DEVICE, &count);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t device = et_item(p, devices, i);
    if ((uint32_t)et_field_i32(p, device, ET_NON_CONST_BUFFER_DEVICE_BUFFER_IDX) >= length)
      FAIL(ET_ERROR_INVALID_PROGRAM, "device", i);
    if (et_field_u8(p, device, ET_NON_CONST_BUFFER_DEVICE_DEVICE_TYPE) != 0) FAIL(ET_ERROR_NOT_SUPPORTED, "device", i);
  }
  first = et_vector(p, plan, ET_EXECUTION_PLAN_OPERATORS, &count);
  for (uint32_t i = 0; i < count; i++) {
    et_vector(p, et_item(p, first, i), ET_OPERATOR_NAME, &length);
    if (length == 0) FAIL(ET_ERROR_INVALID_PROGRAM, "operator", i);
    if (length > MOST_NAME) FAIL(ET_ERROR_NOT_SUPPORTED, "name of an operator", i);
  }
  first = et_vector(p, plan, ET_EXECUTION_PLAN_DELEGATES, &count);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t delegate = et_item(p, first, i), specs;
    et_vector(p, delegate, ET_BACKEND_DELEGATE_ID, &length);
    if (length == 0) FAIL(ET_ERROR_INVALID_PROGRAM, "delegate", i);
    uint32_t spec = et_vector(p, delegate, ET_BACKEND_DELEGATE_COMPILE_SPECS, &specs);
    for (uint32_t j = 0; j < specs; j++) {
      et_vector(p, et_item(p, spec, j), ET_COMPILE_SPEC_KEY, &length);
      if (length == 0) FAIL(ET_ERROR_INVALID_PROGRAM, "delegate", i);
    }
  }
  uint32_t values = et_vector(p, plan, ET_EXECUTION_PLAN_VALUES, &count);
  for (uint32_t i = 0; i < count; i++) {
    uint8_t kind;
    uint32_t table = et_member(p, et_item(p, values, i), ET_EVALUE_VAL_TYPE, &kind);
    if (kind == ET_KIND_TENSOR) CHECK(verify_tensor(p, plan, table, i, budget));
    if (kind == 0) FAIL(ET_ERROR_INVALID_PROGRAM, "value", i);
  }
  CHECK(verify_states(p, values, count));
  CHECK(verify_ends(p, plan, values, count));
  CHECK(verify_chains(p, plan, count));
  CHECK(verify_lists(p, plan, values, count));
  CHECK(verify_mentions(p, plan, values, left));
  return verify_writes(p, plan, values);
}

et_error et_verify_program(const et_program *p, uint64_t data_size) {
  uint32_t count, first = et_vector(p, p->root, ET_PROGRAM_EXECUTION_PLAN, &count);
  CHECK(verify_segments(p, data_size));
  CHECK(verify_references(p));
  CHECK(verify_names(p));
  uint64_t left = MENTIONS_PER_BYTE * p->loader.size, budget = 4 * p->loader.size;
  for (uint32_t i = 0; i < count; i++) CHECK(verify_plan(p, et_item(p, first, i), &left, &budget));
  return ET_ERROR_OK;
}
