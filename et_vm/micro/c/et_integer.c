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
#ifdef __ARM_FEATURE_SIMD32
#include <arm_acle.h>
#endif

/* Activations that are read at once, for this many filters. */
#define COLUMN 96
#define FILTERS 16

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

/* The same in integers, with 16 bits behind the point: ((sum + addend) * factor + offset) / 2 ** shift, of sums from -limit
 * to limit. */
typedef struct et_fixed {
  int64_t offset;
  int32_t factor, addend, shift, limit;
} et_fixed;

static et_fixed fixed_of(const et_coefficients *numbers) {
  union {
    double number;
    uint64_t bits;
  } factor = {numbers->factor}, power;
  et_fixed found = {0, 0, (int32_t)numbers->addend, 0, -1};
  /* Of a negative number, or one that is not finite, it is below. */
  int32_t shift = 1023 + 30 - (int32_t)(factor.bits >> 52);
  if (shift < 30 || shift > 47) return found;
  power.bits = (uint64_t)(1023 + shift) << 52;
  if (!(numbers->offset < 0x1p13 && numbers->offset > -0x1p13)) return found;
  found.factor = (int32_t)((factor.bits & 0xfffffffffffff) >> 22) | 1 << 30;
  found.offset = (int64_t)(numbers->offset * power.number);
  found.shift = shift - 16;
  found.limit = (1 << (shift - 17)) - 4096;
  return found;
}

static void fixed_of_filters(const et_layer *layer, int32_t first, int32_t count, et_fixed *fixed) {
  for (int32_t k = 0; k < count; k++) {
    et_coefficients numbers = coefficients_of(layer, first + k);
    fixed[k] = fixed_of(&numbers);
  }
}

/* Double precision takes a processor that has none for it hundreds of instructions. It is left to sums whose results are so
 * close to the middle of two integers that less would not tell which one is next. Factor and offset are exact to one unit of
 * 2 ** -(shift + 16), and of what double precision rounds, less than 4096 units are lost: for sums within the limit, less than
 * one and a half of the last bits here. */
static int8_t result_of(const et_layer *layer, const et_fixed *fixed, int32_t filter, int64_t sum) {
  int64_t all = sum + fixed->addend;
  if (all >= -fixed->limit && all <= fixed->limit) {
    int32_t number = (int32_t)(((int64_t)(int32_t)all * fixed->factor + fixed->offset) >> fixed->shift) + (1 << 15);
    uint32_t rest = (uint32_t)number & 0xffff;
    if (rest >= 2 && rest <= 0xfffe) {
      const et_grid *grid = &layer->grid;
      number = (number >> 16) + grid->zero_point;
      return (int8_t)(number < grid->least ? grid->least : number > grid->most ? grid->most : number);
    }
  }
  et_coefficients numbers = coefficients_of(layer, filter);
  return on_grid(&layer->grid, (double)all * numbers.factor + numbers.offset);
}

/* What is under a window, element after element in an order of its channels, rows and columns: places, and bounds within
 * which there is something. */
typedef struct et_view {
  const int8_t *from;
  size_t start, steps[3];
  int32_t sizes[3], first[3], end[3], index[3];
} et_view;

/* The next elements, less their zero point; their number. */
static int32_t gathered(et_view *view, int32_t zero_point, int16_t *to) {
  int32_t count = 0, *at = view->index;
  while (count < COLUMN && at[0] < view->sizes[0]) {
    bool inside = at[0] >= view->first[0] && at[0] < view->end[0] && at[1] >= view->first[1] && at[1] < view->end[1];
    size_t place = view->start + (size_t)at[0] * view->steps[0] + (size_t)at[1] * view->steps[1] + (size_t)at[2] * view->steps[2];
    int32_t size = view->sizes[2] - at[2] < COLUMN - count ? view->sizes[2] : at[2] + COLUMN - count;
    int32_t first = inside ? view->first[2] : size, end = view->end[2];
    for (int32_t i = at[2]; i < size; i++, place += view->steps[2])
      to[count++] = i >= first && i < end ? (int16_t)(view->from[place] - zero_point) : 0;
    at[2] = size;
    if (size < view->sizes[2]) continue;
    at[2] = 0;
    if (++at[1] < view->sizes[1]) continue;
    at[1] = 0;
    at[0]++;
  }
  return count;
}

/* By fours, activations are in the order in which instructions widen weights: 0, 2, 1, 3. */
static void interleave(int16_t *column, int32_t count) {
#ifdef __ARM_FEATURE_SIMD32
  for (int32_t i = 0; i + 4 <= count; i += 4) {
    int16_t kept = column[i + 1];
    column[i + 1] = column[i + 2];
    column[i + 2] = kept;
  }
#else
  (void)column;
  (void)count;
#endif
}

static int32_t dot(const int16_t *column, const int8_t *weights, int32_t count) {
  int32_t sum = 0;
#ifdef __ARM_FEATURE_SIMD32
  for (; count >= 4; count -= 4, column += 4, weights += 4) {
    int32_t pairs[2];
    uint32_t bytes;
    __builtin_memcpy(pairs, column, 8);
    __builtin_memcpy(&bytes, weights, 4);
    sum = __smlad(__sxtb16((int32_t)bytes), pairs[0], sum);
    sum = __smlad(__sxtb16((int32_t)(bytes >> 8 | bytes << 24)), pairs[1], sum);
  }
#endif
  for (; count > 0; count--) sum += *column++ * *weights++;
  return sum;
}

/* A layer as a window over images, with strides of images, filters and results. */
typedef struct et_windows {
  et_window window;
  size_t x[4], f[4], z[4];
  size_t batch;
  int32_t channels, groups;
} et_windows;

/* Windows, from the start, of some filters of a group. */
static void run_filters(const et_layer *layer, const et_windows *all, int8_t *out, int32_t first, int32_t count) {
  const et_window *w = &all->window;
  size_t down = (size_t)w->dilation[0] * all->x[2], across = (size_t)w->dilation[1] * all->x[3], run = 1;
  const size_t steps[3] = {all->x[1], down, across};
  const int32_t sizes[3] = {all->channels, w->kernel[0], w->kernel[1]};
  int32_t per_group = layer->weight->sizes[0] / all->groups, order[3] = {0, 1, 2};
  et_fixed fixed[FILTERS];
  et_view view = {.from = (const int8_t *)layer->input->data}, filter = {.from = (const int8_t *)layer->weight->data};
  bool packed = true;
  /* As weights are in memory, so that a filter is read from its start to its end; dimensions of one element first. */
  for (int32_t i = 1; i < 3; i++)
    for (int32_t j = i; j > 0; j--) {
      int32_t outer = order[j - 1], inner = order[j];
      if (sizes[outer] == 1 || (sizes[inner] != 1 && all->f[outer + 1] >= all->f[inner + 1])) break;
      order[j - 1] = inner;
      order[j] = outer;
    }
  for (int32_t i = 3; i-- > 0;) {
    view.sizes[i] = filter.sizes[i] = filter.end[i] = sizes[order[i]];
    view.steps[i] = steps[order[i]];
    filter.steps[i] = all->f[order[i] + 1];
    packed = packed && (sizes[order[i]] == 1 || filter.steps[i] == run);
    run *= (size_t)sizes[order[i]];
  }
  fixed_of_filters(layer, first, count, fixed);
  for (size_t n = 0; n < all->batch; n++)
    for (int32_t i = 0; i < w->out[0]; i++) {
      int32_t from[3] = {0}, to[3] = {all->channels}, some;
      et_taps(w, 0, i, &from[1], &to[1]);
      for (int32_t j = 0; j < w->out[1]; j++) {
        int16_t column[COLUMN], spare[COLUMN];
        int64_t sums[FILTERS] = {0};
        size_t done = 0;
        et_taps(w, 1, j, &from[2], &to[2]);
        for (int32_t dim = 0; dim < 3; dim++) {
          view.index[dim] = 0;
          view.first[dim] = from[order[dim]];
          view.end[dim] = to[order[dim]];
        }
        /* Where nothing is, this is no place; those of others follow from it. */
        view.start = n * all->x[0] + (size_t)(first / per_group * all->channels) * all->x[1] +
                     (size_t)(i * w->stride[0] - w->padding[0]) * all->x[2] + (size_t)(j * w->stride[1] - w->padding[1]) * all->x[3];
        while ((some = gathered(&view, layer->zero_point, column)) != 0) {
          interleave(column, some);
          for (int32_t k = 0; k < count; k++) {
            const int8_t *weights = filter.from + (size_t)(first + k) * all->f[0] + done;
            if (!packed) {
              filter.start = (size_t)(first + k) * all->f[0];
              for (int32_t dim = 0, rest = (int32_t)done; dim < 3; dim++) {
                int32_t inner = dim == 0 ? filter.sizes[1] * filter.sizes[2] : dim == 1 ? filter.sizes[2] : 1;
                filter.index[dim] = rest / inner;
                rest %= inner;
              }
              (void)gathered(&filter, 0, spare);
              for (int32_t at = 0; at < some; at++) ((int8_t *)spare)[at] = (int8_t)spare[at];
              weights = (const int8_t *)spare;
            }
            sums[k] += dot(column, weights, some);
          }
          done += (size_t)some;
        }
        int8_t *pixel = out + n * all->z[0] + (size_t)i * all->z[2] + (size_t)j * all->z[3];
        for (int32_t k = 0; k < count; k++)
          pixel[(size_t)(first + k) * all->z[1]] = result_of(layer, &fixed[k], first + k, sums[k]);
      }
    }
}

static void run_layer(const et_layer *layer, const et_windows *all, et_tensor *out) {
  int32_t per_group = layer->weight->sizes[0] / all->groups;
  for (int32_t first = 0; first < layer->weight->sizes[0];) {
    int32_t left = per_group - first % per_group, count = left < FILTERS ? left : FILTERS;
    run_filters(layer, all, (int8_t *)out->data, first, count);
    first += count;
  }
}
#endif

#ifdef ET_KERNEL_INTEGER_CONVOLUTION
/* Of groups of one channel: no activation is read for several of them, so that windows are not gathered. For filters whose
 * sums are below 2 ** 31. */
static void run_depthwise(const et_layer *layer, const et_windows *all, int8_t *out, int32_t first, int32_t count) {
  const et_window *w = &all->window;
  size_t down = (size_t)w->dilation[0] * all->x[2], across = (size_t)w->dilation[1] * all->x[3], below = all->f[2], next = all->f[3];
  const int8_t *from = (const int8_t *)layer->input->data, *weights = (const int8_t *)layer->weight->data;
  int32_t per_group = layer->weight->sizes[0] / all->groups;
  et_fixed fixed[FILTERS];
  fixed_of_filters(layer, first, count, fixed);
  for (size_t n = 0; n < all->batch; n++)
    for (int32_t i = 0; i < w->out[0]; i++)
      for (int32_t j = 0; j < w->out[1]; j++) {
        int32_t top, bottom, left, right;
        et_taps(w, 0, i, &top, &bottom);
        et_taps(w, 1, j, &left, &right);
        /* Of the first taps that are inside of the image: where there are none, these are no places. */
        size_t corner = n * all->x[0] + (size_t)(i * w->stride[0] - w->padding[0]) * all->x[2] + (size_t)top * down +
                        (size_t)(j * w->stride[1] - w->padding[1]) * all->x[3] + (size_t)left * across;
        size_t start = (size_t)top * below + (size_t)left * next;
        int8_t *pixel = out + n * all->z[0] + (size_t)i * all->z[2] + (size_t)j * all->z[3];
        for (int32_t k = first; k < first + count; k++) {
          size_t x = corner + (size_t)(k / per_group) * all->x[1], f = start + (size_t)k * all->f[0];
          int32_t sum = 0;
          for (int32_t rows = bottom - top; rows > 0; rows--, x += down, f += below) {
            size_t tap = x, weight = f;
            for (int32_t taps = right - left; taps > 0; taps--, tap += across, weight += next)
              sum += (from[tap] - layer->zero_point) * weights[weight];
          }
          pixel[(size_t)k * all->z[1]] = result_of(layer, &fixed[k - first], k, sum);
        }
      }
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
  et_windows all = {.window = {{1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {1, 1}},
                    .x = {(size_t)columns, 1, 0, 0},
                    .f = {f[0], f[1], 0, 0},
                    .z = {(size_t)filters, 1, 0, 0},
                    .batch = 1,
                    .channels = columns,
                    .groups = 1};
  for (uint32_t i = 0; i + 1 < input->rank; i++) all.batch *= (size_t)input->sizes[i];
  run_layer(&layer, &all, out);
  return ET_ERROR_OK;
}
#endif

#ifdef ET_KERNEL_INTEGER_CONVOLUTION
et_error et_integer_convolution(const et_call *call) {
  et_layer layer;
  et_windows all;
  et_tensor *out = et_tensor_arg(call, 14);
  int64_t groups = et_int_arg(call, 9);
  et_error status = layer_of(call, 10, &layer);
  if (status == ET_ERROR_OK) status = et_convolved(call, layer.input, layer.weight, 6, groups, out, &all.window);
  if (status != ET_ERROR_OK) return status;
  et_image_strides(layer.input, all.x);
  et_image_strides(layer.weight, all.f);
  et_image_strides(out, all.z);
  all.batch = (size_t)layer.input->sizes[0];
  all.channels = layer.weight->sizes[1];
  all.groups = (int32_t)groups;
  int64_t taps = (int64_t)all.window.kernel[0] * all.window.kernel[1];
  if (all.channels != 1 || groups == 1 || taps > 1 << 16) {
    run_layer(&layer, &all, out);
    return ET_ERROR_OK;
  }
  for (int32_t first = 0, filters = layer.weight->sizes[0]; first < filters; first += FILTERS)
    run_depthwise(&layer, &all, (int8_t *)out->data, first, filters - first < FILTERS ? filters - first : FILTERS);
  return ET_ERROR_OK;
}
#endif

#if defined ET_KERNEL_INTEGER_MAX_POOL2D || defined ET_KERNEL_INTEGER_AVG_POOL2D
/* Places along a dimension that a window covers with the padding, which averages divide by. */
static int64_t covered(const et_window *w, uint32_t dim, int32_t place) {
  int64_t start = place * w->stride[dim] - w->padding[dim], end = w->in[dim] + w->padding[dim];
  return (start + w->kernel[dim] < end ? start + w->kernel[dim] : end) - start;
}

/* A pool with the size of its window from argument `at` on, followed by its geometry and whether sizes are rounded up. */
static et_error pool(const et_call *call, uint32_t at, et_tensor *out, et_windowed kind) {
  const et_tensor *input = et_tensor_arg(call, 0);
  int64_t kernel[2];
  int32_t taps[2], sizes[4];
  uint32_t count;
  et_window w;
  et_grid grid = {0, 0, 0, 0};
  bool averages = kind == ET_AVG_POOL, padded = false;
  double scale = 0;
  int64_t zero = 0, divisor = 0;
  et_error status = et_ints_arg(call, at, kernel, 2, &count);
  if (status != ET_ERROR_OK) return status;
  if (input->rank != 3 && input->rank != 4) return ET_ERROR_INVALID_ARGUMENT;
  if (count == 0 || kernel[0] < 1 || kernel[0] > INT32_MAX) return ET_ERROR_INVALID_ARGUMENT;
  if (count == 1) kernel[1] = kernel[0];
  if (kernel[1] < 1 || kernel[1] > INT32_MAX) return ET_ERROR_INVALID_ARGUMENT;
  if (averages) {
    scale = et_real_arg(call, 1);
    zero = et_int_arg(call, 2);
    padded = et_bool_arg(call, at + 4);
    if (et_arg(call, at + 5)->kind != ET_KIND_NULL) divisor = et_int_arg(call, at + 5);
    if (!finite_scale(scale) || !is_point(zero)) return ET_ERROR_INVALID_ARGUMENT;
    if (et_arg(call, at + 5)->kind != ET_KIND_NULL && divisor == 0) return ET_ERROR_INVALID_ARGUMENT;
    status = grid_of(call, at + 6, &grid);
    if (status != ET_ERROR_OK) return status;
  }
  taps[0] = (int32_t)kernel[0];
  taps[1] = (int32_t)kernel[1];
  uint32_t rank = input->rank, c = rank - 3u;
  if (input->sizes[c] < 1) return ET_ERROR_INVALID_ARGUMENT;
  bool ceil = et_bool_arg(call, averages ? at + 3 : at + 4);
  status = et_window_of(call, at + 1, 2, input->sizes + rank - 2, taps, ceil, kind, &w);
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
    for (int32_t i = 0; i < w.out[0]; i++)
      for (int32_t j = 0; j < w.out[1]; j++) {
        int32_t top, bottom, left, right;
        et_taps(&w, 0, i, &top, &bottom);
        et_taps(&w, 1, j, &left, &right);
        size_t row = (size_t)(i * w.stride[0] - w.padding[0]), column = (size_t)(j * w.stride[1] - w.padding[1]);
        size_t start = (rank == 4 ? n * x[0] : 0) + row * x[c + 1] + column * x[c + 2];
        size_t place = (rank == 4 ? n * z[0] : 0) + (size_t)i * z[c + 1] + (size_t)j * z[c + 2];
        size_t down = (size_t)w.dilation[0] * x[c + 1], across = (size_t)w.dilation[1] * x[c + 2];
        for (size_t k = 0; k < channels; k++) {
          int32_t most = -128;
          int64_t sum = 0;
          for (int32_t u = top; u < bottom; u++) {
            size_t here = start + k * x[c] + (size_t)u * down + (size_t)left * across;
            for (int32_t v = left; v < right; v++, here += across) {
              int32_t one = from[here];
              most = one > most ? one : most;
              sum += one;
            }
          }
          if (averages) {
            int64_t inside = (int64_t)(bottom - top) * (right - left), by = divisor;
            if (by == 0) by = padded ? covered(&w, 0, i) * covered(&w, 1, j) : inside;
            most = on_grid(&grid, (double)(sum - zero * inside) * (scale / (grid.scale * (double)by)));
          }
          ((int8_t *)out->data)[place + k * z[c]] = (int8_t)most;
        }
      }
  return ET_ERROR_OK;
}
#endif
#ifdef ET_KERNEL_INTEGER_MAX_POOL2D
et_error et_integer_max_pool2d(const et_call *call) { return pool(call, 1, et_tensor_arg(call, 6), ET_MAX_POOL); }
#endif
#ifdef ET_KERNEL_INTEGER_AVG_POOL2D
et_error et_integer_avg_pool2d(const et_call *call) { return pool(call, 3, et_tensor_arg(call, 13), ET_AVG_POOL); }
#endif

#ifdef ET_KERNEL_INTEGER_MEAN
et_error et_integer_mean(const et_call *call) {
  const et_tensor *input = et_tensor_arg(call, 0);
  et_tensor *out = et_tensor_arg(call, 9);
  double scale = et_real_arg(call, 1);
  int64_t zero = et_int_arg(call, 2);
  size_t x[ET_MAX_RANK];
  uint32_t kept[ET_MAX_RANK], count = 0;
  et_reduction of;
  et_grid grid;
  if (!finite_scale(scale) || !is_point(zero)) return ET_ERROR_INVALID_ARGUMENT;
  et_error status = grid_of(call, 5, &grid);
  if (status == ET_ERROR_OK) status = et_reduction_of(call, 3, input, out, &of);
  if (status != ET_ERROR_OK) return status;
  et_strides(input, x);
  /* Over the result, and for each of its elements over the dimensions that are reduced. */
  et_walk walk, inner = {.rank = 0};
  for (uint32_t dim = 0; dim < input->rank; dim++) {
    bool gone = (of.dims >> dim & 1) != 0;
    if (!gone || of.keep) kept[count++] = dim;
    if (!gone) continue;
    inner.sizes[inner.rank] = input->sizes[dim];
    inner.strides[0][inner.rank++] = x[dim];
  }
  double factor = scale / (grid.scale * (double)of.number);
  et_walk_start(&walk, out, NULL, NULL);
  for (uint32_t k = 0; k < out->rank; k++) {
    uint32_t dim = kept[out->dim_order[k]];
    walk.strides[1][k] = (of.dims >> dim & 1) != 0 ? 0 : x[dim];
  }
  for (; walk.left != 0; et_walk_next(&walk)) {
    int64_t sum = 0;
    /* Behind the last one it is at the first again. */
    for (inner.left = of.number; inner.left != 0; et_walk_next(&inner))
      sum += ((const int8_t *)input->data)[walk.place[1] + inner.place[0]];
    ((int8_t *)out->data)[walk.place[0]] = on_grid(&grid, (double)(sum - zero * (int64_t)of.number) * factor);
  }
  return ET_ERROR_OK;
}
#endif

#ifdef ET_KERNEL_INTEGER_LOOKUP
et_error et_integer_lookup(const et_call *call) {
  const et_tensor *input = et_tensor_arg(call, 0), *table = et_tensor_arg(call, 1);
  et_tensor *out = et_tensor_arg(call, 2);
  if (table->rank != 1 || table->sizes[0] != 256) return ET_ERROR_INVALID_ARGUMENT;
  et_error status = et_resize_like(out, input);
  if (status != ET_ERROR_OK) return status;
  et_walk walk;
  for (et_walk_start(&walk, out, input, NULL); walk.left != 0; et_walk_next(&walk))
    ((int8_t *)out->data)[walk.place[0]] = ((const int8_t *)table->data)[((const int8_t *)input->data)[walk.place[1]] + 128];
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
