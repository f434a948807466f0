/* Operators that move elements, whatever their type. */
#include "et_internal.h"
#include "et_selected.h"

#ifdef ET_MOVEMENT
/* One element, of 1 to 16 bytes. */
static void put(uint8_t *to, const uint8_t *from, size_t size) {
  for (size_t i = 0; i < size; i++) to[i] = from[i];
}

/* Elements of `out` in its own order, from `start` with these strides (by dimension of `out`). */
static void gather(et_tensor *out, const uint8_t *from, size_t start, const size_t *strides) {
  et_walk walk;
  size_t size = et_item_size(out->type);
  et_walk_start(&walk, out, NULL, NULL);
  for (uint32_t i = 0; i < out->rank; i++) walk.strides[1][i] = strides[out->dim_order[i]];
  for (; walk.left != 0; et_walk_next(&walk))
    put(out->data + walk.place[0] * size, from + (start + walk.place[1]) * size, size);
}

static bool wrap(int64_t *dim, uint32_t rank) {
  int64_t most = rank == 0 ? 1 : rank;
  if (*dim < -most || *dim >= most) return false;
  if (*dim < 0) *dim += most;
  return true;
}
#endif

#ifdef ET_KERNEL_PERMUTE_COPY
et_error et_permute_copy(const et_call *call) {
  const et_tensor *self = et_tensor_arg(call, 0);
  et_tensor *out = et_tensor_arg(call, 2);
  int64_t dims[ET_MAX_RANK];
  int32_t sizes[ET_MAX_RANK];
  size_t strides[ET_MAX_RANK], permuted[ET_MAX_RANK];
  uint32_t count, seen = 0;
  et_error status = et_ints_arg(call, 1, dims, ET_MAX_RANK, &count);
  if (status != ET_ERROR_OK) return status;
  if (count != self->rank || self->type != out->type) return ET_ERROR_INVALID_ARGUMENT;
  et_strides(self, strides);
  for (uint32_t i = 0; i < count; i++) {
    if (!wrap(&dims[i], count) || (seen >> dims[i] & 1) != 0) return ET_ERROR_INVALID_ARGUMENT;
    seen |= 1u << dims[i];
    sizes[i] = self->sizes[dims[i]];
    permuted[i] = strides[dims[i]];
  }
  status = et_resize(out, count, sizes);
  if (status != ET_ERROR_OK) return status;
  gather(out, self->data, 0, permuted);
  return ET_ERROR_OK;
}
#endif

#ifdef ET_KERNEL_VIEW_COPY
et_error et_view_copy(const et_call *call) {
  const et_tensor *self = et_tensor_arg(call, 0);
  et_tensor *out = et_tensor_arg(call, 2);
  int64_t items[ET_MAX_RANK];
  int32_t sizes[ET_MAX_RANK];
  uint32_t count, free = ET_MAX_RANK;
  uint64_t known = 1, numel = et_numel(self);
  et_error status = et_ints_arg(call, 1, items, ET_MAX_RANK, &count);
  if (status != ET_ERROR_OK) return status;
  if (self->type != out->type) return ET_ERROR_INVALID_ARGUMENT;
  if (!et_contiguous(self) || !et_contiguous(out)) return ET_ERROR_NOT_SUPPORTED;
  for (uint32_t i = 0; i < count; i++) {
    if (items[i] == -1 && free == ET_MAX_RANK) {
      free = i;
      continue;
    }
    if (items[i] < 0 || items[i] > INT32_MAX || (items[i] != 0 && known > (uint64_t)INT64_MAX / (uint64_t)items[i]))
      return ET_ERROR_INVALID_ARGUMENT;
    known *= (uint64_t)items[i];
    sizes[i] = (int32_t)items[i];
  }
  if (free < ET_MAX_RANK) {
    if (known == 0 || numel % known != 0) return ET_ERROR_INVALID_ARGUMENT;
    sizes[free] = (int32_t)(numel / known);
  } else if (known != numel) {
    return ET_ERROR_INVALID_ARGUMENT;
  }
  status = et_resize(out, count, sizes);
  if (status != ET_ERROR_OK) return status;
  if (out->data != self->data) et_copy(out->data, self->data, (size_t)numel * et_item_size(self->type));
  return ET_ERROR_OK;
}
#endif

#ifdef ET_KERNEL_SLICE_COPY
et_error et_slice_copy(const et_call *call) {
  const et_tensor *self = et_tensor_arg(call, 0);
  et_tensor *out = et_tensor_arg(call, 5);
  int64_t dim = et_int_arg(call, 1), step = et_int_arg(call, 4);
  int32_t sizes[ET_MAX_RANK];
  size_t strides[ET_MAX_RANK];
  if (self->rank == 0 || !wrap(&dim, self->rank) || step < 1 || self->type != out->type) return ET_ERROR_INVALID_ARGUMENT;
  int64_t size = self->sizes[dim];
  int64_t start = et_arg(call, 2)->kind == ET_KIND_NULL ? 0 : et_int_arg(call, 2);
  int64_t end = et_arg(call, 3)->kind == ET_KIND_NULL ? size : et_int_arg(call, 3);
  if (start < 0) start += size;
  if (end < 0) end += size;
  start = start < 0 ? 0 : start > size ? size : start;
  end = end < start ? start : end > size ? size : end;
  et_copy(sizes, self->sizes, self->rank * sizeof *sizes);
  sizes[dim] = (int32_t)((end - start) / step + ((end - start) % step != 0));
  et_error status = et_resize(out, self->rank, sizes);
  if (status != ET_ERROR_OK) return status;
  et_strides(self, strides);
  size_t first = (size_t)start * strides[dim];
  strides[dim] *= (size_t)step;
  gather(out, self->data, first, strides);
  return ET_ERROR_OK;
}
#endif

#ifdef ET_KERNEL_AS_STRIDED_COPY
et_error et_as_strided_copy(const et_call *call) {
  const et_tensor *self = et_tensor_arg(call, 0);
  et_tensor *out = et_tensor_arg(call, 4);
  int64_t wanted[ET_MAX_RANK], steps[ET_MAX_RANK];
  int32_t sizes[ET_MAX_RANK];
  size_t strides[ET_MAX_RANK];
  uint32_t count, other;
  et_error status = et_ints_arg(call, 1, wanted, ET_MAX_RANK, &count);
  if (status == ET_ERROR_OK) status = et_ints_arg(call, 2, steps, ET_MAX_RANK, &other);
  if (status != ET_ERROR_OK) return status;
  int64_t start = et_arg(call, 3)->kind == ET_KIND_NULL ? 0 : et_int_arg(call, 3);
  int64_t room = (int64_t)et_numel(self) - 1, last = start;
  bool empty = false;
  if (count != other || start < 0 || start > INT32_MAX || self->type != out->type) return ET_ERROR_INVALID_ARGUMENT;
  for (uint32_t i = 0; i < count; i++) {
    if (wanted[i] < 0 || wanted[i] > INT32_MAX || steps[i] < 0 || steps[i] > INT32_MAX) return ET_ERROR_INVALID_ARGUMENT;
    empty = empty || wanted[i] == 0;
    sizes[i] = (int32_t)wanted[i];
    strides[i] = (size_t)steps[i];
    if (!empty && last <= room) last += (wanted[i] - 1) * steps[i];
  }
  if (!empty && last > room) return ET_ERROR_INVALID_ARGUMENT;
  status = et_resize(out, count, sizes);
  if (status != ET_ERROR_OK) return status;
  gather(out, self->data, (size_t)start, strides);
  return ET_ERROR_OK;
}
#endif

#ifdef ET_KERNEL_CAT
et_error et_cat(const et_call *call) {
  const et_value *list = et_arg(call, 0);
  et_tensor *out = et_tensor_arg(call, 2);
  const int32_t *items = (const int32_t *)(const void *)list->as.items;
  const et_value *values = call->method->values;
  int32_t sizes[ET_MAX_RANK];
  size_t strides[ET_MAX_RANK], size = et_item_size(out->type), start = 0;
  const et_tensor *first = NULL;
  int64_t dim = et_int_arg(call, 1), all = 0;
  for (uint32_t i = 0; i < list->count; i++) {
    const et_tensor *one = values[items[i]].as.tensor;
    if (one->type != out->type) return ET_ERROR_INVALID_ARGUMENT;
    /* Those of shape [0] are left out, whatever the shape of the others. */
    if (one->rank == 1 && one->sizes[0] == 0) continue;
    if (first == NULL) {
      first = one;
      if (one->rank == 0 || !wrap(&dim, one->rank)) return ET_ERROR_INVALID_ARGUMENT;
      et_copy(sizes, one->sizes, one->rank * sizeof *sizes);
    }
    if (one->rank != first->rank) return ET_ERROR_INVALID_ARGUMENT;
    for (uint32_t k = 0; k < one->rank; k++)
      if (k != dim && one->sizes[k] != sizes[k]) return ET_ERROR_INVALID_ARGUMENT;
    all += one->sizes[dim];
  }
  if (first == NULL) return ET_ERROR_NOT_SUPPORTED;
  if (all > INT32_MAX) return ET_ERROR_INVALID_ARGUMENT;
  sizes[dim] = (int32_t)all;
  et_error status = et_resize(out, first->rank, sizes);
  if (status != ET_ERROR_OK) return status;
  et_strides(out, strides);
  for (uint32_t i = 0; i < list->count; i++) {
    et_tensor *one = values[items[i]].as.tensor;
    if (one->rank == 1 && one->sizes[0] == 0 && first->rank != 1) continue;
    /* Written in the order of the part: its elements go to places of the whole. */
    et_walk walk;
    et_walk_start(&walk, one, NULL, NULL);
    for (uint32_t k = 0; k < one->rank; k++) walk.strides[1][k] = strides[one->dim_order[k]];
    for (; walk.left != 0; et_walk_next(&walk))
      put(out->data + (start + walk.place[1]) * size, one->data + walk.place[0] * size, size);
    start += (size_t)one->sizes[dim] * strides[dim];
  }
  return ET_ERROR_OK;
}
#endif

#ifdef ET_KERNEL_CONSTANT_PAD_F32
et_error et_constant_pad_f32(const et_call *call) {
  const et_tensor *self = et_tensor_arg(call, 0);
  et_tensor *out = et_tensor_arg(call, 3);
  int64_t pad[2 * ET_MAX_RANK];
  int32_t sizes[ET_MAX_RANK];
  size_t strides[ET_MAX_RANK];
  uint32_t count;
  float filler = (float)et_real_arg(call, 2);
  et_error status = et_ints_arg(call, 1, pad, 2 * ET_MAX_RANK, &count);
  if (status != ET_ERROR_OK) return status;
  if (count % 2 != 0 || count > 2u * self->rank || self->rank == 0) return ET_ERROR_INVALID_ARGUMENT;
  for (uint32_t i = count; i < 2u * self->rank; i++) pad[i] = 0;
  for (uint32_t i = 0; i < self->rank; i++) {
    uint32_t pair = 2 * (self->rank - 1 - i);
    if (pad[pair] < INT32_MIN || pad[pair] > INT32_MAX || pad[pair + 1] < INT32_MIN || pad[pair + 1] > INT32_MAX)
      return ET_ERROR_INVALID_ARGUMENT;
    int64_t size = self->sizes[i] + pad[pair] + pad[pair + 1];
    if (size < 0 || size > INT32_MAX) return ET_ERROR_INVALID_ARGUMENT;
    sizes[i] = (int32_t)size;
  }
  status = et_resize(out, self->rank, sizes);
  if (status != ET_ERROR_OK) return status;
  et_strides(self, strides);
  et_walk walk;
  const float *from = (const float *)(const void *)self->data;
  float *to = (float *)(void *)out->data;
  for (et_walk_start(&walk, out, NULL, NULL); walk.left != 0; et_walk_next(&walk)) {
    size_t place = 0;
    bool inside = true;
    for (uint32_t k = 0; k < walk.rank; k++) {
      uint32_t dim = out->dim_order[k];
      int64_t at = walk.index[k] - pad[2 * (walk.rank - 1 - dim)];
      inside = inside && at >= 0 && at < self->sizes[dim];
      if (inside) place += (size_t)at * strides[dim];
    }
    to[walk.place[0]] = inside ? from[place] : filler;
  }
  return ET_ERROR_OK;
}
#endif
