/* Quantized tensors, in integers: sums are exact, and rounded once, in double precision. Results are those of
 * et_vm.kernels.portable.integer to the bit. */
#include "et_internal.h"
#include "et_selected.h"

typedef struct et_grid { /* of a result */
  double scale;
  int32_t zero_point, least, most;
} et_grid;

#ifdef ET_INTEGER
static bool finite_scale(double scale) {
  double size = scale < 0 ? -scale : scale;
  return size > 0 && size < __builtin_inf();
}

static bool is_point(int64_t point) { return point >= -128 && point <= 127; }

/* Half to even, of a number that is clamped between two integers first. */
static int32_t rounded(double x, int32_t least, int32_t most) {
  if (!(x >= least)) return least;
  if (x >= most) return most;
  volatile double shifted = x + 6755399441055744.0;
  return (int32_t)(shifted - 6755399441055744.0);
}

static int8_t on_grid(const et_grid *grid, double x) {
  return (int8_t)(rounded(x, grid->least - grid->zero_point, grid->most - grid->zero_point) + grid->zero_point);
}

/* Scale, zero point and limits of a result from argument `at` on. */
static et_error grid_of(const et_call *call, uint32_t at, et_grid *grid) {
  int64_t zero = et_int_arg(call, at + 1), least = et_int_arg(call, at + 2), most = et_int_arg(call, at + 3);
  grid->scale = et_real_arg(call, at);
  if (!finite_scale(grid->scale) || !is_point(zero) || !is_point(least) || !is_point(most) || least > most)
    return ET_ERROR_INVALID_ARGUMENT;
  grid->zero_point = (int32_t)zero;
  grid->least = (int32_t)least;
  grid->most = (int32_t)most;
  return ET_ERROR_OK;
}
#endif

#if defined ET_KERNEL_INTEGER_LINEAR || defined ET_KERNEL_INTEGER_CONVOLUTION
/* Products of a number with its zero point and a weight, which are at most 255 * 128, whose sum fits 32 bits. */
#define MOST_PRODUCTS 65793

typedef struct et_layer {
  const et_tensor *input, *weight, *scales, *bias;
  double input_scale;
  int32_t zero_point;
  et_grid grid;
} et_layer;

/* What a product and a convolution have in common: input, scale, zero point, weight, scales, bias, and the result's grid. */
static et_error layer_of(const et_call *call, uint32_t grid, et_layer *layer) {
  layer->input = et_tensor_arg(call, 0);
  layer->input_scale = et_real_arg(call, 1);
  layer->weight = et_tensor_arg(call, 3);
  layer->scales = et_tensor_arg(call, 4);
  layer->bias = et_optional_arg(call, 5);
  int64_t zero = et_int_arg(call, 2);
  if (!finite_scale(layer->input_scale) || !is_point(zero)) return ET_ERROR_INVALID_ARGUMENT;
  layer->zero_point = (int32_t)zero;
  if (layer->weight->rank < 2 || layer->scales->rank != 1 || layer->weight->type != ET_TYPE_CHAR) return ET_ERROR_INVALID_ARGUMENT;
  if (layer->scales->type != ET_TYPE_FLOAT && layer->scales->type != ET_TYPE_DOUBLE) return ET_ERROR_INVALID_ARGUMENT;
  int32_t filters = layer->weight->sizes[0];
  if (layer->scales->sizes[0] != 1 && layer->scales->sizes[0] != filters) return ET_ERROR_INVALID_ARGUMENT;
  if (layer->bias != NULL && (layer->bias->rank != 1 || layer->bias->sizes[0] != filters ||
                              (layer->bias->type != ET_TYPE_FLOAT && layer->bias->type != ET_TYPE_INT)))
    return ET_ERROR_INVALID_ARGUMENT;
  return grid_of(call, grid, &layer->grid);
}

/* The coefficients of a filter: (sum + addend) * factor + offset. */
typedef struct et_coefficients {
  double factor, offset;
  int64_t addend;
} et_coefficients;

static et_coefficients coefficients_of(const et_layer *layer, int32_t filter) {
  int32_t at = layer->scales->sizes[0] == 1 ? 0 : filter;
  const void *data = layer->scales->data;
  double scale = layer->scales->type == ET_TYPE_FLOAT ? (double)((const float *)data)[at] : ((const double *)data)[at];
  et_coefficients found = {scale * layer->input_scale / layer->grid.scale, 0, 0};
  if (layer->bias != NULL) {
    const void *bias = layer->bias->data;
    if (layer->bias->type == ET_TYPE_FLOAT) {
      found.offset = (double)((const float *)bias)[filter] / layer->grid.scale;
    } else {
      found.addend = ((const int32_t *)bias)[filter];
    }
  }
  return found;
}

static int8_t result_of(const et_layer *layer, const et_coefficients *numbers, int64_t sum) {
  return on_grid(&layer->grid, (double)(sum + numbers->addend) * numbers->factor + numbers->offset);
}
#endif

#ifdef ET_KERNEL_INTEGER_LINEAR
et_error et_integer_linear(const et_call *call) {
  et_layer layer;
  et_tensor *out = et_tensor_arg(call, 10);
  et_error status = layer_of(call, 6, &layer);
  if (status != ET_ERROR_OK) return status;
  const et_tensor *input = layer.input, *weight = layer.weight;
  int32_t sizes[ET_MAX_RANK];
  size_t f[ET_MAX_RANK];
  if (input->rank == 0 || weight->rank != 2 || input->sizes[input->rank - 1] != weight->sizes[1]) return ET_ERROR_INVALID_ARGUMENT;
  if (!et_contiguous(input) || !et_contiguous(out)) return ET_ERROR_NOT_SUPPORTED;
  et_copy(sizes, input->sizes, input->rank * sizeof *sizes);
  int32_t columns = weight->sizes[1], filters = weight->sizes[0];
  sizes[input->rank - 1] = filters;
  status = et_resize(out, input->rank, sizes);
  if (status != ET_ERROR_OK) return status;
  et_strides(weight, f);
  size_t rows = 1;
  for (uint32_t i = 0; i + 1 < input->rank; i++) rows *= (size_t)input->sizes[i];
  const int8_t *matrix = (const int8_t *)weight->data;
  for (int32_t k = 0; k < filters; k++) {
    et_coefficients numbers = coefficients_of(&layer, k);
    for (size_t row = 0; row < rows; row++) {
      const int8_t *from = (const int8_t *)input->data + row * (size_t)columns;
      const int8_t *other = matrix + (size_t)k * f[0];
      int64_t sum = 0;
      for (int32_t i = 0; i < columns; i++, other += f[1]) sum += (int64_t)((from[i] - layer.zero_point) * *other);
      ((int8_t *)out->data)[row * (size_t)filters + (size_t)k] = result_of(&layer, &numbers, sum);
    }
  }
  return ET_ERROR_OK;
}
#endif

#ifdef ET_KERNEL_INTEGER_CONVOLUTION
et_error et_integer_convolution(const et_call *call) {
  et_layer layer;
  et_window w;
  et_tensor *out = et_tensor_arg(call, 14);
  int64_t groups = et_int_arg(call, 9);
  et_error status = layer_of(call, 10, &layer);
  if (status == ET_ERROR_OK) status = et_convolved(call, layer.input, layer.weight, 6, groups, out, &w);
  if (status != ET_ERROR_OK) return status;
  const et_tensor *input = layer.input, *weight = layer.weight;
  size_t x[4], f[4], z[4];
  et_image_strides(input, x);
  et_image_strides(weight, f);
  et_image_strides(out, z);
  const int8_t *from = (const int8_t *)input->data, *filters = (const int8_t *)weight->data;
  int32_t channels = weight->sizes[1], per_group = (int32_t)(weight->sizes[0] / groups);
  size_t down = (size_t)w.dilation[0] * x[2], across = (size_t)w.dilation[1] * x[3];
  int32_t zero_point = layer.zero_point;
  if (channels > MOST_PRODUCTS) return ET_ERROR_NOT_SUPPORTED;
  for (int32_t n = 0; n < input->sizes[0]; n++)
    for (int32_t k = 0; k < weight->sizes[0]; k++) {
      et_coefficients numbers = coefficients_of(&layer, k);
      for (int32_t i = 0; i < w.out[0]; i++)
        for (int32_t j = 0; j < w.out[1]; j++) {
          int32_t top, bottom, left, right;
          et_taps(&w, 0, i, &top, &bottom);
          et_taps(&w, 1, j, &left, &right);
          int64_t sum = 0;
          /* The first tap inside: the places of the others follow from it. */
          size_t row = (size_t)(i * w.stride[0] - w.padding[0] + top * w.dilation[0]);
          size_t column = (size_t)(j * w.stride[1] - w.padding[1] + left * w.dilation[1]);
          size_t start = (size_t)n * x[0] + (size_t)(k / per_group * channels) * x[1] + row * x[2] + column * x[3];
          size_t filter = (size_t)k * f[0] + (size_t)top * f[2] + (size_t)left * f[3];
          for (int32_t u = top; u < bottom; u++, start += down, filter += f[2])
            for (int32_t v = left; v < right; v++) {
              const int8_t *one = from + start + (size_t)(v - left) * across, *other = filters + filter + (size_t)(v - left) * f[3];
              /* Channels are more than taps, and their part of the sum fits 32 bits. */
              int32_t part = 0;
              for (int32_t c = 0; c < channels; c++, one += x[1], other += f[1]) part += (*one - zero_point) * *other;
              sum += part;
            }
          ((int8_t *)out->data)[(size_t)n * z[0] + (size_t)k * z[1] + (size_t)i * z[2] + (size_t)j * z[3]] =
              result_of(&layer, &numbers, sum);
        }
    }
  return ET_ERROR_OK;
}
#endif

#ifdef ET_KERNEL_INTEGER_MAX_POOL2D
et_error et_integer_max_pool2d(const et_call *call) {
  const et_tensor *input = et_tensor_arg(call, 0);
  et_tensor *out = et_tensor_arg(call, 6);
  int64_t kernel[2];
  int32_t taps[2], sizes[4];
  uint32_t count;
  et_window w;
  et_error status = et_ints_arg(call, 1, kernel, 2, &count);
  if (status != ET_ERROR_OK) return status;
  if (input->rank != 3 && input->rank != 4) return ET_ERROR_INVALID_ARGUMENT;
  if (count == 0 || kernel[0] < 1 || kernel[0] > INT32_MAX) return ET_ERROR_INVALID_ARGUMENT;
  if (count == 1) kernel[1] = kernel[0];
  if (kernel[1] < 1 || kernel[1] > INT32_MAX) return ET_ERROR_INVALID_ARGUMENT;
  taps[0] = (int32_t)kernel[0];
  taps[1] = (int32_t)kernel[1];
  uint32_t rank = input->rank, c = rank - 3u;
  if (input->sizes[c] < 1) return ET_ERROR_INVALID_ARGUMENT;
  status = et_window_of(call, 2, 2, input->sizes + rank - 2, taps, et_bool_arg(call, 5), true, &w);
  if (status != ET_ERROR_OK) return status;
  et_copy(sizes, input->sizes, rank * sizeof *sizes);
  sizes[rank - 2] = w.out[0];
  sizes[rank - 1] = w.out[1];
  status = et_resize(out, rank, sizes);
  if (status != ET_ERROR_OK) return status;
  size_t x[ET_MAX_RANK], z[ET_MAX_RANK];
  et_strides(input, x);
  et_strides(out, z);
  size_t batches = rank == 4 ? (size_t)sizes[0] : 1, channels = (size_t)sizes[c];
  const int8_t *from = (const int8_t *)input->data;
  for (size_t n = 0; n < batches; n++)
    for (size_t k = 0; k < channels; k++)
      for (int32_t i = 0; i < w.out[0]; i++)
        for (int32_t j = 0; j < w.out[1]; j++) {
          int32_t top, bottom, left, right;
          int8_t most = -128;
          et_taps(&w, 0, i, &top, &bottom);
          et_taps(&w, 1, j, &left, &right);
          size_t plane = k * x[c] + (rank == 4 ? n * x[0] : 0), place = k * z[c] + (rank == 4 ? n * z[0] : 0);
          for (int32_t u = top; u < bottom; u++)
            for (int32_t v = left; v < right; v++) {
              size_t row = (size_t)(i * w.stride[0] - w.padding[0] + u * w.dilation[0]);
              size_t column = (size_t)(j * w.stride[1] - w.padding[1] + v * w.dilation[1]);
              int8_t one = from[plane + row * x[c + 1] + column * x[c + 2]];
              most = one > most ? one : most;
            }
          ((int8_t *)out->data)[place + (size_t)i * z[c + 1] + (size_t)j * z[c + 2]] = most;
        }
  return ET_ERROR_OK;
}
#endif

#if defined ET_KERNEL_INTEGER_ADD || defined ET_KERNEL_INTEGER_MUL
static et_error binary(const et_call *call, bool product) {
  const et_tensor *self = et_tensor_arg(call, 0), *other = et_tensor_arg(call, 3);
  et_tensor *out = et_tensor_arg(call, 10);
  et_grid grid;
  double one = et_real_arg(call, 1), two = et_real_arg(call, 4);
  int64_t first = et_int_arg(call, 2), second = et_int_arg(call, 5);
  if (!finite_scale(one) || !finite_scale(two) || !is_point(first) || !is_point(second)) return ET_ERROR_INVALID_ARGUMENT;
  et_error status = grid_of(call, 6, &grid);
  if (status == ET_ERROR_OK) status = et_broadcast(out, self, other);
  if (status != ET_ERROR_OK) return status;
  double a = product ? one * two / grid.scale : one / grid.scale, b = two / grid.scale;
  et_walk walk;
  for (et_walk_start(&walk, out, self, other); walk.left != 0; et_walk_next(&walk)) {
    int32_t x = ((const int8_t *)self->data)[walk.place[1]] - (int32_t)first;
    int32_t y = ((const int8_t *)other->data)[walk.place[2]] - (int32_t)second;
    ((int8_t *)out->data)[walk.place[0]] = on_grid(&grid, product ? (double)(x * y) * a : (double)x * a + (double)y * b);
  }
  return ET_ERROR_OK;
}
#endif
#ifdef ET_KERNEL_INTEGER_ADD
et_error et_integer_add(const et_call *call) { return binary(call, false); }
#endif
#ifdef ET_KERNEL_INTEGER_MUL
et_error et_integer_mul(const et_call *call) { return binary(call, true); }
#endif

#ifdef ET_KERNEL_QUANTIZE
/* round(x / scale) + zero_point in float, the scale being inverted in double. */
et_error et_quantize(const et_call *call) {
  const et_tensor *input = et_tensor_arg(call, 0);
  et_tensor *out = et_tensor_arg(call, 6);
  double scale = et_real_arg(call, 1);
  int64_t zero = et_int_arg(call, 2), least = et_int_arg(call, 3), most = et_int_arg(call, 4);
  if (et_int_arg(call, 5) != out->type || least < -128 || most > 127 || least > most || scale == 0) return ET_ERROR_INVALID_ARGUMENT;
  et_error status = et_resize_like(out, input);
  if (status != ET_ERROR_OK) return status;
  float inverse = (float)(1.0 / scale);
  et_walk walk;
  for (et_walk_start(&walk, out, input, NULL); walk.left != 0; et_walk_next(&walk)) {
    float x = ((const float *)(const void *)input->data)[walk.place[1]] * inverse;
    if (x < 4194304.0f && x > -4194304.0f) {
      volatile float shifted = x + 12582912.0f;
      x = shifted - 12582912.0f;
    }
    x += (float)zero;
    x = x < (float)least ? (float)least : x > (float)most ? (float)most : x;
    ((int8_t *)out->data)[walk.place[0]] = (int8_t)(x != x ? 0 : x);
  }
  return ET_ERROR_OK;
}
#endif

#ifdef ET_KERNEL_DEQUANTIZE
et_error et_dequantize(const et_call *call) {
  const et_tensor *input = et_tensor_arg(call, 0);
  et_tensor *out = et_tensor_arg(call, 7);
  float scale = (float)et_real_arg(call, 1), zero = (float)et_int_arg(call, 2);
  et_error status = et_resize_like(out, input);
  if (status != ET_ERROR_OK) return status;
  et_walk walk;
  for (et_walk_start(&walk, out, input, NULL); walk.left != 0; et_walk_next(&walk)) {
    float x = (float)((const int8_t *)input->data)[walk.place[1]] - zero;
    ((float *)(void *)out->data)[walk.place[0]] = x * scale;
  }
  return ET_ERROR_OK;
}
#endif
