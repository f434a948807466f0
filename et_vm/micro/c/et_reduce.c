/* Sums, means and softmax. */
#include "et_internal.h"
#include "et_selected.h"

/* The exponential function: x = n ln 2 + r with |r| <= ln 2 / 2, and the series of exp r to the seventh power. Within two
 * units in the last place. */
float et_exp(float x) {
  if (x != x) return x;
  if (x > 88.72283f) return __builtin_inff();
  if (x < -103.97f) return 0;
  float scaled = x * 1.44269504f, whole = (float)(int32_t)(scaled + (scaled < 0 ? -0.5f : 0.5f));
  float r = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
  float series = 1 + r * (1 + r * (0.5f + r * (0.16666667f + r * (0.041666668f + r * (0.008333334f + r * 0.0013888889f)))));
  union {
    uint32_t bits;
    float number;
  } power;
  int32_t n = (int32_t)whole;
  /* In two steps, as neither end of the range has a power of its own. */
  power.bits = (uint32_t)(127 + n / 2) << 23;
  series *= power.number;
  power.bits = (uint32_t)(127 + n - n / 2) << 23;
  return series * power.number;
}

#ifdef ET_KERNEL_SOFTMAX_F32
et_error et_softmax_f32(const et_call *call) {
  const et_tensor *self = et_tensor_arg(call, 0);
  et_tensor *out = et_tensor_arg(call, 3);
  int64_t dim = et_int_arg(call, 1), most = self->rank == 0 ? 1 : self->rank;
  size_t x[ET_MAX_RANK], z[ET_MAX_RANK];
  if (dim < -most || dim >= most) return ET_ERROR_INVALID_ARGUMENT;
  if (dim < 0) dim += most;
  et_error status = et_resize_like(out, self);
  if (status != ET_ERROR_OK) return status;
  et_strides(self, x);
  et_strides(out, z);
  size_t count = self->rank == 0 ? 1 : (size_t)self->sizes[dim], step = self->rank == 0 ? 1 : x[dim];
  size_t stride = self->rank == 0 ? 1 : z[dim];
  const float *from = (const float *)(const void *)self->data;
  float *to = (float *)(void *)out->data;
  et_walk walk;
  for (et_walk_start(&walk, out, self, NULL); walk.left != 0; et_walk_next(&walk)) {
    /* Once for each row: at its first element. */
    bool first = true;
    for (uint32_t k = 0; k < walk.rank; k++) first = first && !(out->dim_order[k] == dim && walk.index[k] != 0);
    if (!first) continue;
    const float *row = from + walk.place[1];
    float *result = to + walk.place[0], top = row[0], sum = 0;
    for (size_t i = 1; i < count; i++) top = row[i * step] > top ? row[i * step] : top;
    for (size_t i = 0; i < count; i++) sum += result[i * stride] = et_exp(row[i * step] - top);
    for (size_t i = 0; i < count; i++) result[i * stride] /= sum;
  }
  return ET_ERROR_OK;
}
#endif

#if defined ET_KERNEL_MEAN_F32 || defined ET_KERNEL_INTEGER_MEAN
et_error et_reduction_of(const et_call *call, uint32_t at, const et_tensor *self, et_tensor *out, et_reduction *reduction) {
  int64_t dims[ET_MAX_RANK];
  int32_t sizes[ET_MAX_RANK];
  uint32_t count, reduced = 0, rank = 0;
  bool keep = et_bool_arg(call, at + 1);
  et_error status = et_ints_arg(call, at, dims, ET_MAX_RANK, &count);
  if (status != ET_ERROR_OK) return status;
  for (uint32_t i = 0; i < count; i++) {
    int64_t most = self->rank == 0 ? 1 : self->rank, dim = dims[i] < 0 ? dims[i] + most : dims[i];
    if (dim < 0 || dim >= most || (reduced >> dim & 1) != 0) return ET_ERROR_INVALID_ARGUMENT;
    reduced |= 1u << dim;
  }
  if (count == 0) reduced = (1u << self->rank) - 1;
  size_t number = 1;
  for (uint32_t i = 0; i < self->rank; i++) {
    bool gone = (reduced >> i & 1) != 0;
    if (gone) number *= (size_t)self->sizes[i];
    if (!gone || keep) sizes[rank++] = gone ? 1 : self->sizes[i];
  }
  *reduction = (et_reduction){reduced, number, keep};
  return et_resize(out, rank, sizes);
}
#endif

#ifdef ET_KERNEL_MEAN_F32
et_error et_mean_f32(const et_call *call) {
  const et_tensor *self = et_tensor_arg(call, 0);
  et_tensor *out = et_tensor_arg(call, 4);
  et_reduction of;
  size_t z[ET_MAX_RANK];
  et_error status = et_reduction_of(call, 1, self, out, &of);
  if (status != ET_ERROR_OK) return status;
  et_strides(out, z);
  const float *from = (const float *)(const void *)self->data;
  float *to = (float *)(void *)out->data;
  for (size_t i = 0; i < et_numel(out); i++) to[i] = 0;
  et_walk walk;
  et_walk_start(&walk, self, NULL, NULL);
  for (uint32_t k = 0; k < self->rank; k++) {
    uint32_t dim = self->dim_order[k], place = dim;
    for (uint32_t i = 0; !of.keep && i < dim; i++) place -= of.dims >> i & 1;
    walk.strides[1][k] = (of.dims >> dim & 1) != 0 ? 0 : z[place];
  }
  for (; walk.left != 0; et_walk_next(&walk)) to[walk.place[1]] += from[walk.place[0]];
  for (size_t i = 0; i < et_numel(out); i++) to[i] /= (float)of.number;
  return ET_ERROR_OK;
}
#endif
