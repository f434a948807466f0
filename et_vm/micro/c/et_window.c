/* Windows that slide over images. */
#include "et_internal.h"
#include "et_selected.h"

#define MOST INT32_MAX

/* The number for each dimension of a window: of a list with one of them, or with one for all. */
static et_error spread(const et_call *call, uint32_t at, uint32_t dims, int64_t least, int64_t absent, int64_t *numbers) {
  uint32_t count;
  int64_t items[2];
  et_error status = et_ints_arg(call, at, items, 2, &count);
  if (status != ET_ERROR_OK) return status;
  if (count != 1 && count != dims && !(count == 0 && absent != 0)) return ET_ERROR_INVALID_ARGUMENT;
  numbers[0] = absent;
  for (uint32_t i = 0; i < dims; i++) {
    int64_t item = count == 0 ? numbers[2 - dims + i] : items[count == 1 ? 0 : i];
    if (item < least || item > MOST) return ET_ERROR_INVALID_ARGUMENT;
    numbers[2 - dims + i] = item;
  }
  return ET_ERROR_OK;
}

et_error et_window_of(const et_call *call, uint32_t first, uint32_t dims, const int32_t *in, const int32_t *kernel, bool ceil, et_windowed kind, et_window *window) {
  et_window *w = window;
  bool pooled = kind != ET_CONVOLUTION;
  for (uint32_t i = 0; i < 2; i++) {
    bool here = i + dims >= 2;
    w->in[i] = here ? in[i + dims - 2] : 1;
    w->kernel[i] = here ? kernel[i + dims - 2] : 1;
    w->stride[i] = w->kernel[i];
    w->dilation[i] = 1;
    w->padding[i] = 0;
    if (w->in[i] < 1 || w->kernel[i] < 1) return ET_ERROR_INVALID_ARGUMENT;
  }
  et_error status = ET_ERROR_OK;
  if (!(pooled && et_arg(call, first)->count == 0)) status = spread(call, first, dims, 1, 0, w->stride);
  if (status == ET_ERROR_OK) status = spread(call, first + 1, dims, 0, 0, w->padding);
  if (status == ET_ERROR_OK && kind != ET_AVG_POOL) status = spread(call, first + 2, dims, 1, 0, w->dilation);
  if (status != ET_ERROR_OK) return status;
  if (dims == 1) {
    w->stride[0] = w->dilation[0] = 1;
    w->padding[0] = 0;
  }
  for (uint32_t i = 0; i < 2; i++) {
    int64_t span = w->dilation[i] * (w->kernel[i] - 1) + 1, room = w->in[i] + 2 * w->padding[i] - span;
    if (room < 0 || (pooled && 2 * w->padding[i] > w->kernel[i])) return ET_ERROR_INVALID_ARGUMENT;
    int64_t places = (room + (ceil ? w->stride[i] - 1 : 0)) / w->stride[i] + 1;
    if (ceil && (places - 1) * w->stride[i] >= w->in[i] + w->padding[i]) places--;
    if (places > MOST) return ET_ERROR_INVALID_ARGUMENT;
    w->out[i] = (int32_t)places;
  }
  return ET_ERROR_OK;
}

void et_image_strides(const et_tensor *image, size_t *strides) {
  size_t all[ET_MAX_RANK];
  et_strides(image, all);
  strides[0] = all[0];
  strides[1] = all[1];
  strides[2] = image->rank == 4 ? all[2] : 0;
  strides[3] = all[image->rank - 1];
}

void et_taps(const et_window *w, uint32_t dim, int32_t place, int32_t *first, int32_t *end) {
  int64_t start = place * w->stride[dim] - w->padding[dim], step = w->dilation[dim], room = w->in[dim] - start;
  int64_t skipped = start < 0 ? -start : 0, taps = room < 0 ? 0 : room;
  /* Divisions of 64 bits take long on small processors. */
  if (step != 1) {
    skipped = (skipped + step - 1) / step;
    taps = (taps + step - 1) / step;
  }
  *first = (int32_t)(skipped < w->kernel[dim] ? skipped : w->kernel[dim]);
  *end = (int32_t)(taps < w->kernel[dim] ? taps : w->kernel[dim]);
}

et_error et_convolved(const et_call *call, const et_tensor *input, const et_tensor *weight, uint32_t at, int64_t groups, et_tensor *out, et_window *window) {
  if (input->rank != weight->rank || input->rank < 3) return ET_ERROR_INVALID_ARGUMENT;
  if (input->rank > 4) return ET_ERROR_NOT_SUPPORTED;
  if (groups < 1 || groups > MOST || input->sizes[1] % groups != 0 || weight->sizes[0] % groups != 0 ||
      weight->sizes[1] != input->sizes[1] / groups || input->sizes[1] < 1)
    return ET_ERROR_INVALID_ARGUMENT;
  uint32_t dims = input->rank - 2u;
  et_error status = et_window_of(call, at, dims, input->sizes + 2, weight->sizes + 2, false, ET_CONVOLUTION, window);
  if (status != ET_ERROR_OK) return status;
  int32_t sizes[4] = {input->sizes[0], weight->sizes[0], window->out[2 - dims], window->out[1]};
  return et_resize(out, input->rank, sizes);
}

#ifdef ET_KERNEL_CONVOLUTION_F32
et_error et_convolution_f32(const et_call *call) {
  const et_tensor *input = et_tensor_arg(call, 0), *weight = et_tensor_arg(call, 1), *bias = et_optional_arg(call, 2);
  et_tensor *out = et_tensor_arg(call, 9);
  int64_t groups = et_int_arg(call, 8);
  et_window w;
  if (et_bool_arg(call, 6)) return ET_ERROR_NOT_SUPPORTED; /* transposed */
  if (bias != NULL && (bias->rank != 1 || bias->sizes[0] != weight->sizes[0])) return ET_ERROR_INVALID_ARGUMENT;
  et_error status = et_convolved(call, input, weight, 3, groups, out, &w);
  if (status != ET_ERROR_OK) return status;
  size_t x[4], f[4], z[4];
  et_image_strides(input, x);
  et_image_strides(weight, f);
  et_image_strides(out, z);
  const float *from = (const float *)(const void *)input->data, *filters = (const float *)(const void *)weight->data;
  const float *added = bias == NULL ? NULL : (const float *)(const void *)bias->data;
  float *to = (float *)(void *)out->data;
  int32_t channels = weight->sizes[1], per_group = (int32_t)(weight->sizes[0] / groups);
  for (int32_t n = 0; n < input->sizes[0]; n++)
    for (int32_t k = 0; k < weight->sizes[0]; k++)
      for (int32_t i = 0; i < w.out[0]; i++)
        for (int32_t j = 0; j < w.out[1]; j++) {
          int32_t top, bottom, left, right;
          et_taps(&w, 0, i, &top, &bottom);
          et_taps(&w, 1, j, &left, &right);
          float sum = added == NULL ? 0 : added[k];
          for (int32_t c = 0; c < channels; c++)
            for (int32_t u = top; u < bottom; u++)
              for (int32_t v = left; v < right; v++) {
                size_t row = (size_t)(i * w.stride[0] - w.padding[0] + u * w.dilation[0]);
                size_t column = (size_t)(j * w.stride[1] - w.padding[1] + v * w.dilation[1]);
                sum += from[(size_t)n * x[0] + (size_t)(k / per_group * channels + c) * x[1] + row * x[2] + column * x[3]] *
                       filters[(size_t)k * f[0] + (size_t)c * f[1] + (size_t)u * f[2] + (size_t)v * f[3]];
              }
          to[(size_t)n * z[0] + (size_t)k * z[1] + (size_t)i * z[2] + (size_t)j * z[3]] = sum;
        }
  return ET_ERROR_OK;
}
#endif
