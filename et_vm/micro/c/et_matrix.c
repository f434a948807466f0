/* Products of matrices. */
#include "et_internal.h"
#include "et_selected.h"

#if defined ET_KERNEL_MM_F32 || defined ET_KERNEL_ADDMM_F32 || defined ET_KERNEL_BMM_F32
/* `scale` times the product, and `beta` times `added` if there is one, whose shape is spread. */
static et_error product(et_tensor *out, const et_tensor *a, const et_tensor *b, const et_tensor *added, float beta, float scale) {
  uint32_t rank = a->rank;
  int32_t sizes[3];
  size_t x[ET_MAX_RANK], y[ET_MAX_RANK], z[ET_MAX_RANK], w[ET_MAX_RANK];
  if (b->rank != rank || a->sizes[rank - 1] != b->sizes[rank - 2]) return ET_ERROR_INVALID_ARGUMENT;
  if (rank == 3 && a->sizes[0] != b->sizes[0]) return ET_ERROR_INVALID_ARGUMENT;
  sizes[0] = a->sizes[0];
  sizes[rank - 2] = a->sizes[rank - 2];
  sizes[rank - 1] = b->sizes[rank - 1];
  if (added != NULL) {
    if (added->rank > 2) return ET_ERROR_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < added->rank; i++) {
      int32_t size = added->sizes[added->rank - 1 - i];
      if (size != 1 && size != sizes[rank - 1 - i]) return ET_ERROR_INVALID_ARGUMENT;
    }
    et_strides(added, w);
  }
  et_error status = et_resize(out, rank, sizes);
  if (status != ET_ERROR_OK || et_numel(out) == 0) return status;
  et_strides(a, x);
  et_strides(b, y);
  et_strides(out, z);
  const float *left = (const float *)(const void *)a->data, *right = (const float *)(const void *)b->data;
  const float *more = added == NULL ? NULL : (const float *)(const void *)added->data;
  float *to = (float *)(void *)out->data;
  size_t batches = rank == 3 ? (size_t)sizes[0] : 1, rows = (size_t)sizes[rank - 2], columns = (size_t)sizes[rank - 1];
  size_t depth = (size_t)a->sizes[rank - 1];
  uint32_t r = rank - 2, c = rank - 1;
  for (size_t n = 0; n < batches; n++)
    for (size_t i = 0; i < rows; i++)
      for (size_t j = 0; j < columns; j++) {
        size_t one = i * x[r], other = j * y[c], place = i * z[r] + j * z[c];
        if (rank == 3) {
          one += n * x[0];
          other += n * y[0];
          place += n * z[0];
        }
        float sum = 0;
        for (size_t k = 0; k < depth; k++) sum += left[one + k * x[c]] * right[other + k * y[r]];
        sum *= scale;
        if (more != NULL) {
          size_t at = 0;
          if (added->rank == 2 && added->sizes[0] != 1) at += i * w[0];
          if (added->rank != 0 && added->sizes[added->rank - 1] != 1) at += j * w[added->rank - 1];
          sum += beta * more[at];
        }
        to[place] = sum;
      }
  return ET_ERROR_OK;
}
#endif

#ifdef ET_KERNEL_MM_F32
et_error et_mm_f32(const et_call *call) {
  if (et_tensor_arg(call, 0)->rank != 2) return ET_ERROR_INVALID_ARGUMENT;
  return product(et_tensor_arg(call, 2), et_tensor_arg(call, 0), et_tensor_arg(call, 1), NULL, 0, 1);
}
#endif
#ifdef ET_KERNEL_BMM_F32
et_error et_bmm_f32(const et_call *call) {
  if (et_tensor_arg(call, 0)->rank != 3) return ET_ERROR_INVALID_ARGUMENT;
  return product(et_tensor_arg(call, 2), et_tensor_arg(call, 0), et_tensor_arg(call, 1), NULL, 0, 1);
}
#endif
#ifdef ET_KERNEL_ADDMM_F32
et_error et_addmm_f32(const et_call *call) {
  if (et_tensor_arg(call, 1)->rank != 2) return ET_ERROR_INVALID_ARGUMENT;
  float beta = (float)et_real_arg(call, 3);
  const et_tensor *added = et_tensor_arg(call, 0);
  return product(et_tensor_arg(call, 5), et_tensor_arg(call, 1), et_tensor_arg(call, 2), beta == 0 ? NULL : added, beta,
                 (float)et_real_arg(call, 4));
}
#endif
