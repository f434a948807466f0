/* A file as FlatBuffers: every table, vector and string that the schema reaches is inside of the file and aligned.
 *
 * The rules are those of et_schema.reader: https://flatbuffers.dev/internals. The schema is a table that was generated
 * from the same declarations. That strings are UTF-8 is not checked, as nothing here depends on it.
 */
#define ET_SCHEMA
#include "et_internal.h"

typedef struct et_checker {
  const et_program *p;
  uint32_t end;
  uint64_t budget;      /* bytes of vectors that may be visited */
  uint32_t tables_left; /* tables that vectors may lead to */
} et_checker;

static bool follow(const et_checker *c, uint32_t at, uint32_t *to) {
  uint32_t offset = et_u32(c->p, at);
  if (offset > c->end - at) return false;
  *to = at + offset;
  return true;
}

/* A vector behind the offset at `at`: its first element and its count. */
static bool vector(et_checker *c, uint32_t at, uint32_t size, uint32_t *first, uint32_t *count) {
  uint32_t start;
  if (!follow(c, at, &start) || (start & 3) != 0 || start > c->end - 4) return false;
  *count = et_u32(c->p, start);
  *first = start + 4;
  if (*count > (c->end - *first) / size) return false;
  return !(size == 8 && (*first & 7) != 0 && *count != 0);
}

static bool charge(et_checker *c, uint64_t amount) {
  if (amount > c->budget) return false;
  c->budget -= amount;
  return true;
}

static bool string(et_checker *c, uint32_t at) {
  uint32_t first, count;
  return vector(c, at, 1, &first, &count) && first + count < c->end && c->p->file[first + count] == 0;
}

static bool layout(const et_checker *c, uint32_t at, const et_schema_table *table, uint32_t *vtable, uint32_t *entries) {
  if ((at & 3) != 0 || at > c->end - 4) return false;
  int64_t place = (int64_t)at - et_i32(c->p, at);
  if (place < 0 || (place & 1) != 0 || place > (int64_t)c->end - 4) return false;
  *vtable = (uint32_t)place;
  uint32_t vtable_size = et_u16(c->p, *vtable), size = et_u16(c->p, *vtable + 2);
  if (vtable_size < 4 || (vtable_size & 1) != 0 || vtable_size > c->end - *vtable || size < 4) return false;
  *entries = vtable_size;
  for (uint32_t i = 0; i < table->count; i++) {
    const et_schema_field *field = &et_schema_fields[table->first + i];
    uint32_t slots = field->kind == ET_FIELD_UNION ? 2 : 1;
    for (uint32_t part = 0; part < slots; part++) {
      uint32_t entry = 4 + 2 * (uint32_t)(field->slot + part);
      uint32_t place = entry < vtable_size ? et_u16(c->p, *vtable + entry) : 0;
      if (place == 0) continue;
      uint32_t bytes = field->inline_size;
      if (slots == 2) bytes = part == 0 ? 1 : 4;
      if (place < 4 || place + bytes > size) return false;
      if (((bytes == 8 ? at + place : place) & (bytes - 1)) != 0) return false;
    }
  }
  return size <= c->end - at;
}

static bool check_table(et_checker *c, uint32_t at, uint32_t number);

static bool check_field(et_checker *c, uint32_t at, const et_schema_field *field, uint32_t place, uint32_t second) {
  uint32_t here = at + place, first, count, to;
  switch (field->kind) {
    case ET_FIELD_SCALAR:
      return true;
    case ET_FIELD_ENUM: /* a bool has two members */
      return field->inline_size != 1 || c->p->file[here] < field->count;
    case ET_FIELD_STRING:
      return string(c, here);
    case ET_FIELD_BLOB:
      return vector(c, here, 1, &first, &count);
    case ET_FIELD_VECTOR:
      return vector(c, here, field->count, &first, &count) && charge(c, (uint64_t)count * field->count);
    case ET_FIELD_BOOLS:
      if (!vector(c, here, 1, &first, &count) || !charge(c, count)) return false;
      for (uint32_t i = 0; i < count; i++)
        if (c->p->file[first + i] > 1) return false;
      return true;
    case ET_FIELD_TABLE:
      return follow(c, here, &to) && check_table(c, to, field->table);
    case ET_FIELD_TABLES:
      if (!vector(c, here, 4, &first, &count) || !charge(c, 4 * (uint64_t)count) || count > c->tables_left) return false;
      c->tables_left -= count;
      for (uint32_t i = 0; i < count; i++)
        if (!follow(c, first + 4 * i, &to) || !check_table(c, to, field->table)) return false;
      return true;
    default: { /* a union */
      uint32_t member = c->p->file[here];
      if (member == 0) return true;
      if (member > field->count || second == 0) return false;
      return follow(c, at + second, &to) && check_table(c, to, field->table + member - 1);
    }
  }
}

/* The schema has no table in itself, so the depth is that of the schema. */
static bool check_table(et_checker *c, uint32_t at, uint32_t number) {
  const et_schema_table *table = &et_schema_tables[number];
  uint32_t vtable, size;
  if (!layout(c, at, table, &vtable, &size)) return false;
  for (uint32_t i = 0; i < table->count; i++) {
    const et_schema_field *field = &et_schema_fields[table->first + i];
    uint32_t entry = 4 + 2 * (uint32_t)field->slot;
    uint32_t place = entry < size ? et_u16(c->p, vtable + entry) : 0;
    if (place == 0) continue;
    uint32_t second = entry + 2 < size ? et_u16(c->p, vtable + entry + 2) : 0;
    if (!check_field(c, at, field, place, second)) return false;
  }
  return true;
}

et_error et_check_tables(et_program *p) {
  et_checker checker = {p, p->end, 8 * (uint64_t)p->end, p->end / 8};
  if (p->end < 8 || !et_equal(p->file + 4, ET_FILE_IDENTIFIER, 4)) return et_fail(p, ET_ERROR_INVALID_PROGRAM, "file identifier", 4);
  if (!follow(&checker, 0, &p->root) || !check_table(&checker, p->root, ET_SCHEMA_PROGRAM))
    return et_fail(p, ET_ERROR_INVALID_PROGRAM, "flatbuffer", 0);
  return ET_ERROR_OK;
}
