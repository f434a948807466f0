/* Access to a program: fields of its tables, operators, tensors and instructions.
 *
 * The file was checked before (et_check.c); where the verifier has still to decide, the answer says so. */
#include "et_internal.h"

/* -- Fields */

uint32_t et_field(const et_program *p, uint32_t table, uint32_t slot) {
  uint32_t vtable = table - (uint32_t)et_i32(p, table), entry = 4 + 2 * slot;
  if (entry >= et_u16(p, vtable)) return 0;
  uint32_t place = et_u16(p, vtable + entry);
  return place == 0 ? 0 : table + place;
}

int32_t et_field_i32(const et_program *p, uint32_t table, uint32_t slot) {
  uint32_t at = et_field(p, table, slot);
  return at == 0 ? 0 : et_i32(p, at);
}

uint8_t et_field_u8(const et_program *p, uint32_t table, uint32_t slot) {
  uint32_t at = et_field(p, table, slot);
  return at == 0 ? 0 : p->file[at];
}

uint64_t et_field_u64(const et_program *p, uint32_t table, uint32_t slot) {
  uint32_t at = et_field(p, table, slot);
  return at == 0 ? 0 : et_u64(p, at);
}

uint32_t et_child(const et_program *p, uint32_t table, uint32_t slot) {
  uint32_t at = et_field(p, table, slot);
  return at == 0 ? 0 : at + et_u32(p, at);
}

uint32_t et_vector(const et_program *p, uint32_t table, uint32_t slot, uint32_t *count) {
  uint32_t at = et_child(p, table, slot);
  *count = at == 0 ? 0 : et_u32(p, at);
  return at == 0 ? 0 : at + 4;
}

et_error et_fail(const et_program *p, et_error error, const char *what, uint32_t index) {
  if (p->platform->log != NULL) p->platform->log(p->platform->user, error, what, index);
  return error;
}

/* The union of a table, absent where its type is None. */
uint32_t et_member(const et_program *p, uint32_t table, uint32_t slot, uint8_t *kind) {
  *kind = et_field_u8(p, table, slot);
  return *kind == 0 ? 0 : et_child(p, table, slot + 1);
}

uint8_t et_kind_of(const et_program *p, uint32_t values, uint32_t index) {
  return et_field_u8(p, et_item(p, values, index), ET_EVALUE_VAL_TYPE);
}

/* -- Operators */

static uint32_t text_length(const char *text) {
  uint32_t length = 0;
  while (text[length] != 0) length++;
  return length;
}

const char *et_operator_name(const et_program *p, uint32_t operator_table, uint32_t *length) {
  uint32_t first = et_vector(p, operator_table, ET_OPERATOR_NAME, length);
  return first == 0 ? "" : (const char *)p->file + first;
}

/* Whether an operator is `name`, which has the overload behind a point unless that is empty; from byte `skipped` on. */
static bool is_name(const et_program *p, uint32_t operator_table, const char *name, uint32_t skipped) {
  uint32_t length, more, given = text_length(name);
  const char *own = et_operator_name(p, operator_table, &length) + skipped;
  length -= skipped;
  uint32_t overload = et_vector(p, operator_table, ET_OPERATOR_OVERLOAD, &more);
  if (given != length + (more == 0 ? 0 : more + 1) || !et_equal(own, name, length)) return false;
  return more == 0 || (name[length] == '.' && et_equal(p->file + overload, name + length + 1, more));
}

bool et_is_name(const et_program *p, uint32_t operator_table, const char *name) { return is_name(p, operator_table, name, 0); }

int et_find_prim(const et_program *p, uint32_t operator_table) {
  static const char space[] = "executorch_prim::";
  uint32_t length, prefix = sizeof space - 1;
  const char *own = et_operator_name(p, operator_table, &length);
  uint32_t skipped = length >= prefix && et_equal(own, space, prefix) ? prefix : 0;
  for (uint32_t i = 0; i < et_prim_count; i++) {
    const char *name = et_prims[i].name;
    if ((skipped == 0) == (name[0] == 'a' && name[4] == ':') && is_name(p, operator_table, name, skipped)) return (int)i;
  }
  return -1;
}

/* Whether an operator changes its first argument and returns it: its name ends in one underscore. */
bool et_in_place(const et_program *p, uint32_t operator_table) {
  uint32_t length, start = 0, end;
  const char *name = et_operator_name(p, operator_table, &length);
  for (uint32_t i = 0; i + 1 < length; i++)
    if (name[i] == ':' && name[i + 1] == ':') start = i + 2;
  for (end = start; end < length && name[end] != '.';) end++;
  return end > start && name[end - 1] == '_' && !(end - start > 1 && name[end - 2] == '_');
}

/* -- Tensors */

/* The bytes of a segment from the start of the segments. */
et_extent et_segment(const et_program *p, uint32_t index) {
  et_extent found = {0, 0, false};
  uint32_t count, first = et_vector(p, p->root, ET_PROGRAM_SEGMENTS, &count);
  if (index >= count) return found;
  uint32_t table = et_item(p, first, index);
  found.size = et_field_u64(p, table, ET_DATA_SEGMENT_SIZE);
  found.offset = found.size == 0 ? 0 : p->base + et_field_u64(p, table, ET_DATA_SEGMENT_OFFSET);
  found.found = true;
  return found;
}

static const uint8_t item_sizes[] = ET_ITEM_SIZES;

uint32_t et_item_size(uint8_t type) { return item_sizes[type]; }

/* Bytes of a shape, also as if no dimension were empty, which have to fit 63 bits. */
bool et_shape_bytes(const et_program *p, uint32_t first, uint32_t rank, uint32_t item, uint64_t *bytes) {
  uint64_t all = item, most = INT64_MAX;
  bool empty = false;
  for (uint32_t i = 0; i < rank; i++) {
    uint32_t size = (uint32_t)et_item_i32(p, first, i);
    empty = empty || size == 0;
    if (size > 1 && all > most / size) return false;
    all *= size > 1 ? size : 1;
  }
  *bytes = empty ? 0 : all;
  return true;
}

void et_tensor_layout(const et_program *p, uint32_t table, et_layout *layout) {
  uint32_t sizes = et_vector(p, table, ET_TENSOR_SIZES, &layout->rank);
  uint32_t place = et_child(p, table, ET_TENSOR_ALLOCATION_INFO), extra = et_child(p, table, ET_TENSOR_EXTRA_TENSOR_INFO);
  layout->table = table;
  layout->bytes = layout->offset = layout->arena = 0;
  (void)et_shape_bytes(p, sizes, layout->rank, item_sizes[et_field_u8(p, table, ET_TENSOR_SCALAR_TYPE)], &layout->bytes);
  layout->data = (uint32_t)et_field_i32(p, table, ET_TENSOR_DATA_BUFFER_IDX);
  layout->external = extra != 0 && et_field_u8(p, extra, ET_EXTRA_TENSOR_INFO_LOCATION) != 0;
  if (place != 0) {
    layout->arena = (uint32_t)et_field_i32(p, place, ET_ALLOCATION_DETAILS_MEMORY_ID);
    layout->offset = (uint64_t)(uint32_t)et_field_i32(p, place, ET_ALLOCATION_DETAILS_MEMORY_OFFSET_HIGH) << 32 |
                     (uint32_t)et_field_i32(p, place, ET_ALLOCATION_DETAILS_MEMORY_OFFSET_LOW);
  }
}

static et_extent subsegment(const et_program *p, uint32_t entry, uint32_t index, uint64_t bytes) {
  et_extent none = {0, 0, false};
  uint32_t count, first = et_vector(p, entry, ET_SUBSEGMENT_OFFSETS_OFFSETS, &count);
  if (index == 0 || index >= count) return none;
  et_extent found = et_segment(p, (uint32_t)et_field_i32(p, entry, ET_SUBSEGMENT_OFFSETS_SEGMENT_INDEX));
  uint64_t start = et_u64(p, first + 8 * index);
  if (!found.found || start > found.size || bytes > found.size - start) return none;
  found.offset += start;
  found.size = bytes;
  return found;
}

/* Where in the file the bytes of a constant are, or the first ones of a state. */
et_extent et_tensor_extent(const et_program *p, const et_layout *layout) {
  et_extent none = {0, 0, false};
  uint32_t count, first;
  if (et_child(p, layout->table, ET_TENSOR_ALLOCATION_INFO) != 0) {
    uint32_t extra = et_child(p, layout->table, ET_TENSOR_EXTRA_TENSOR_INFO);
    uint64_t entry = extra == 0 ? 0 : et_field_u64(p, extra, ET_EXTRA_TENSOR_INFO_MUTABLE_DATA_SEGMENTS_IDX);
    first = et_vector(p, p->root, ET_PROGRAM_MUTABLE_DATA_SEGMENTS, &count);
    return entry >= count ? none : subsegment(p, et_item(p, first, (uint32_t)entry), layout->data, layout->bytes);
  }
  uint32_t constants = et_child(p, p->root, ET_PROGRAM_CONSTANT_SEGMENT);
  if (constants != 0) {
    et_vector(p, constants, ET_SUBSEGMENT_OFFSETS_OFFSETS, &count);
    if (count != 0) return subsegment(p, constants, layout->data, layout->bytes);
  }
  first = et_vector(p, p->root, ET_PROGRAM_CONSTANT_BUFFER, &count);
  if (layout->data == 0 || layout->data >= count) return none;
  uint32_t bytes = et_vector(p, et_item(p, first, layout->data), ET_BUFFER_STORAGE, &count);
  if (layout->bytes > count) return none;
  return (et_extent){bytes, layout->bytes, true};
}

/* -- Instructions */

bool et_instruction(const et_program *p, uint32_t plan, uint32_t index, et_place *place) {
  uint32_t chains, first = et_vector(p, plan, ET_EXECUTION_PLAN_CHAINS, &chains);
  place->base = 0;
  for (uint32_t i = 0; i < chains; i++) {
    uint32_t instructions = et_vector(p, et_item(p, first, i), ET_CHAIN_INSTRUCTIONS, &place->length);
    if (index - place->base < place->length) {
      place->table = et_member(p, et_item(p, instructions, index - place->base), ET_INSTRUCTION_INSTR_ARGS_TYPE, &place->opcode);
      return true;
    }
    place->base += place->length;
  }
  return false;
}

uint32_t et_operator(const et_program *p, uint32_t plan, uint32_t call) {
  uint32_t count, first = et_vector(p, plan, ET_EXECUTION_PLAN_OPERATORS, &count);
  return et_item(p, first, (uint32_t)et_field_i32(p, call, ET_KERNEL_CALL_OP_INDEX));
}
