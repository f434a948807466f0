/* Shapes and layouts of tensors, and the arguments of calls. */
#include "et_internal.h"

size_t et_numel(const et_tensor *tensor) {
  size_t count = 1;
  for (uint32_t dim = 0; dim < tensor->rank; dim++) count *= (size_t)tensor->sizes[dim];
  return count;
}

et_error et_resize(et_tensor *tensor, uint32_t rank, const int32_t *sizes) {
  bool same = rank == tensor->rank, empty = false;
  for (uint32_t dim = 0; same && dim < rank; dim++) same = sizes[dim] == tensor->sizes[dim];
  if (same) return ET_ERROR_OK;
  if (rank != tensor->rank || !tensor->dynamic) return ET_ERROR_NOT_SUPPORTED;
  uint64_t bytes = et_item_size(tensor->type);
  for (uint32_t dim = 0; dim < rank; dim++) {
    uint32_t size = (uint32_t)sizes[dim];
    if (sizes[dim] < 0 || (size > 1 && bytes > INT64_MAX / size)) return ET_ERROR_NOT_SUPPORTED;
    bytes *= size > 1 ? size : 1;
    empty = empty || size == 0;
  }
  if (!empty && bytes > tensor->capacity) return ET_ERROR_NOT_SUPPORTED;
  et_copy(tensor->sizes, sizes, rank * sizeof *sizes);
  return ET_ERROR_OK;
}

/* Whether each element of an input at the place of the result has the place of the element that is computed of it. */
static bool is_in_place(const et_tensor *out, const et_tensor *input, uint32_t rank, const int32_t *sizes) {
  if (out->data != input->data || et_numel(input) == 0) return true;
  return input->rank == rank && out->rank == rank && et_equal(input->sizes, sizes, rank * sizeof *sizes) &&
         et_equal(input->dim_order, out->dim_order, rank);
}

et_error et_resize_like(et_tensor *tensor, const et_tensor *other) {
  if (!is_in_place(tensor, other, other->rank, other->sizes)) return ET_ERROR_INVALID_ARGUMENT;
  return et_resize(tensor, other->rank, other->sizes);
}

void et_strides(const et_tensor *tensor, size_t *strides) {
  size_t step = 1;
  for (uint32_t i = tensor->rank; i-- > 0;) {
    uint32_t dim = tensor->dim_order[i];
    strides[dim] = step;
    step *= tensor->sizes[dim] > 1 ? (size_t)tensor->sizes[dim] : 1;
  }
}

bool et_same_layout(const et_tensor *a, const et_tensor *b) {
  return a->rank == b->rank && et_equal(a->sizes, b->sizes, a->rank * sizeof *a->sizes) &&
         et_equal(a->dim_order, b->dim_order, a->rank);
}

bool et_contiguous(const et_tensor *tensor) {
  for (uint32_t i = 0; i < tensor->rank; i++)
    if (tensor->dim_order[i] != i) return false;
  return true;
}

double et_real_arg(const et_call *call, uint32_t at) {
  const et_value *value = et_arg(call, at);
  if (value->kind == ET_KIND_DOUBLE) return value->as.real;
  return value->kind == ET_KIND_BOOL ? (double)value->as.boolean : (double)value->as.integer;
}

et_error et_ints_arg(const et_call *call, uint32_t at, int64_t *items, uint32_t most, uint32_t *count) {
  const et_value *value = et_arg(call, at);
  *count = value->kind == ET_KIND_NULL ? 0 : value->count;
  if (*count > most) return ET_ERROR_INVALID_ARGUMENT;
  for (uint32_t i = 0; i < *count; i++) {
    /* A list of registers is no more than positions that were checked. */
    const et_value *item = &call->method->values[((const int64_t *)(const void *)value->as.items)[i]];
    if (item->kind != ET_KIND_INT) return ET_ERROR_INVALID_TYPE;
    items[i] = item->as.integer;
  }
  return ET_ERROR_OK;
}

void et_walk_start(et_walk *walk, const et_tensor *out, const et_tensor *a, const et_tensor *b) {
  const et_tensor *all[3] = {out, a, b};
  size_t strides[ET_MAX_RANK];
  walk->rank = out->rank;
  walk->left = et_numel(out);
  for (uint32_t i = 0; i < out->rank; i++) {
    walk->sizes[i] = out->sizes[out->dim_order[i]];
    walk->index[i] = 0;
  }
  for (uint32_t i = 0; i < 3; i++) {
    const et_tensor *tensor = all[i];
    walk->place[i] = 0;
    if (tensor != NULL) et_strides(tensor, strides);
    for (uint32_t dim = 0; dim < out->rank; dim++) {
      uint32_t logical = out->dim_order[dim], missing = tensor == NULL ? out->rank : out->rank - tensor->rank;
      bool spread = logical < missing || (tensor->sizes[logical - missing] == 1 && out->sizes[logical] != 1);
      walk->strides[i][dim] = spread ? 0 : strides[logical - missing];
    }
  }
}

et_error et_broadcast(et_tensor *out, const et_tensor *a, const et_tensor *b) {
  int32_t sizes[ET_MAX_RANK];
  uint32_t rank = a->rank > b->rank ? a->rank : b->rank;
  for (uint32_t i = 0; i < rank; i++) {
    int32_t one = i < a->rank ? a->sizes[a->rank - 1 - i] : 1, other = i < b->rank ? b->sizes[b->rank - 1 - i] : 1;
    if (one != other && one != 1 && other != 1) return ET_ERROR_INVALID_ARGUMENT;
    sizes[rank - 1 - i] = one == 1 ? other : one;
  }
  if (!is_in_place(out, a, rank, sizes) || !is_in_place(out, b, rank, sizes)) return ET_ERROR_INVALID_ARGUMENT;
  return et_resize(out, rank, sizes);
}
