/* Quantized layers as a library of kernels for Cortex-M4 has them: sizes are arguments, activations are widened to 16
 * bits, and pairs of them multiplied by `smlad`. Convolutions copy what two windows cover and compute two pixels of two
 * filters at a time; 1x1 ones compute two rows by two filters of what is there; depthwise ones take four channels of two
 * pixels of a window at a time.
 *
 * Sums are rounded by one float for each filter, half to even, as the code of et-compile does, so that results are equal
 * to the bit. `bench.target_layers` includes this file in one with the numbers of a layer. */
#include <stdint.h>

typedef struct layer {
  int32_t in_height, in_width, channels, out_height, out_width, filters;
  int32_t height, width, step_y, step_x, border_y, border_x; /* of windows */
  int32_t offset;                                            /* added to an activation */
  int32_t zero_point, least, most;                           /* of the result */
  const int8_t *weights; /* [filters][height][width][channels], of depthwise convolutions [height][width][channels] */
  const int32_t *bias;
  const float *multipliers;
} layer;

static inline uint32_t load4(const void *at) {
  uint32_t found;
  __builtin_memcpy(&found, at, 4);
  return found;
}
static inline void store4(void *at, uint32_t value) { __builtin_memcpy(at, &value, 4); }

/* Bytes 0 and 2 as halves, and bytes 1 and 3. */
static inline uint32_t even(uint32_t bytes) { return (uint32_t)__builtin_arm_sxtb16((int)bytes); }
static inline uint32_t odd(uint32_t bytes) { return (uint32_t)__builtin_arm_sxtb16((int)(bytes >> 8 | bytes << 24)); }
static inline int32_t dual(uint32_t a, uint32_t b, int32_t sum) { return __builtin_arm_smlad((int)a, (int)b, sum); }
static inline uint32_t low_halves(uint32_t a, uint32_t b) { return (a & 0xffff) | b << 16; }
static inline uint32_t high_halves(uint32_t a, uint32_t b) { return a >> 16 | (b & 0xffff0000); }

typedef struct bounds {
  float low, high;
  int32_t added;
} bounds;

static inline bounds bounds_of(const layer *l) {
  return (bounds){(float)(l->least - l->zero_point), (float)(l->most - l->zero_point), l->zero_point - 0x4b400000};
}

static inline int8_t rounded(int32_t sum, float multiplier, bounds b) {
  union {
    float number;
    int32_t bits;
  } x = {(float)sum * multiplier};
  x.number = x.number > b.low ? x.number : b.low;
  x.number = x.number < b.high ? x.number : b.high;
  x.number += 12582912.0f;
  return (int8_t)(x.bits + b.added);
}

/* -- Convolutions */

/* `count` activations as halves, by fours: bytes 0, 2, 1, 3, as `even` and `odd` have them. */
static inline int16_t *widened(const int8_t *from, int32_t count, uint32_t offsets, int16_t *to) {
  for (int32_t i = 0; i < count; i += 4, from += 4, to += 4) {
    uint32_t bytes = load4(from);
    store4(to, (uint32_t)__builtin_arm_sadd16((int)even(bytes), (int)offsets));
    store4(to + 2, (uint32_t)__builtin_arm_sadd16((int)odd(bytes), (int)offsets));
  }
  return to;
}

/* Two pixels, whose windows are in columns of `count` halves, of all filters. In fours of weights where `fours`, in pairs
 * that are in order elsewhere. */
static inline void two_pixels(const layer *l, const int16_t *columns, int32_t count, bounds b, int8_t *to, int fours) {
  const int8_t *one = l->weights;
  const int16_t *second = columns + count;
  for (int32_t filter = 0; filter < l->filters; filter += 2) {
    int32_t last = filter + 1 == l->filters; /* an odd one is computed twice */
    const int8_t *other = one + (last ? 0 : count);
    int32_t pair = filter + !last;
    const int16_t *p = columns, *q = second;
    int32_t a = l->bias[filter], c = l->bias[pair], d = a, e = c;
    int32_t i = 0;
    for (; i + 4 <= count; i += 4, p += 4, q += 4) {
      uint32_t w = load4(one + i), v = load4(other + i), w0 = even(w), w1 = odd(w), v0 = even(v), v1 = odd(v);
      if (!fours) {
        uint32_t t = w0, u = v0;
        w0 = low_halves(t, w1), w1 = high_halves(t, w1);
        v0 = low_halves(u, v1), v1 = high_halves(u, v1);
      }
      uint32_t p0 = load4(p), p1 = load4(p + 2), q0 = load4(q), q1 = load4(q + 2);
      a = dual(w0, p0, a), c = dual(v0, p0, c), d = dual(w0, q0, d), e = dual(v0, q0, e);
      a = dual(w1, p1, a), c = dual(v1, p1, c), d = dual(w1, q1, d), e = dual(v1, q1, e);
    }
    for (; i < count; i++, p++, q++) {
      a += one[i] * *p, c += other[i] * *p;
      d += one[i] * *q, e += other[i] * *q;
    }
    float m = l->multipliers[filter], n = l->multipliers[pair];
    to[filter] = rounded(a, m, b), to[l->filters + filter] = rounded(d, m, b);
    to[pair] = rounded(c, n, b), to[l->filters + pair] = rounded(e, n, b);
    one += 2 * count;
  }
}

static inline void one_pixel(const layer *l, const int16_t *column, int32_t count, bounds b, int8_t *to, int fours) {
  const int8_t *weights = l->weights;
  for (int32_t filter = 0; filter < l->filters; filter++, weights += count) {
    int32_t sum = l->bias[filter], i = 0;
    for (; i + 4 <= count; i += 4) {
      uint32_t w = load4(weights + i), w0 = even(w), w1 = odd(w);
      if (!fours) {
        uint32_t t = w0;
        w0 = low_halves(t, w1), w1 = high_halves(t, w1);
      }
      sum = dual(w1, load4(column + i + 2), dual(w0, load4(column + i), sum));
    }
    for (; i < count; i++) sum += weights[i] * column[i];
    to[filter] = rounded(sum, l->multipliers[filter], b);
  }
}

static inline void convolution_of(const layer *l, const int8_t *x, int8_t *y, int16_t *columns, int fours) {
  bounds b = bounds_of(l);
  int32_t count = l->height * l->width * l->channels, filled = 0;
  uint32_t offsets = low_halves((uint32_t)l->offset, (uint32_t)l->offset);
  int16_t *at = columns;
  for (int32_t i = 0; i < l->out_height; i++)
    for (int32_t j = 0; j < l->out_width; j++) {
      int32_t top = i * l->step_y - l->border_y, left = j * l->step_x - l->border_x;
      for (int32_t row = top; row < top + l->height; row++)
        for (int32_t column = left; column < left + l->width; column++) {
          if (row < 0 || row >= l->in_height || column < 0 || column >= l->in_width) {
            for (int32_t c = 0; c < l->channels; c++) *at++ = 0;
            continue;
          }
          const int8_t *from = x + (row * l->in_width + column) * l->channels;
          if (fours) {
            at = widened(from, l->channels, offsets, at);
          } else {
            for (int32_t c = 0; c < l->channels; c++) *at++ = (int16_t)(from[c] + l->offset);
          }
        }
      if (++filled == 2) {
        two_pixels(l, columns, count, b, y, fours);
        y += 2 * l->filters;
        at = columns;
        filled = 0;
      }
    }
  if (filled != 0) one_pixel(l, columns, count, b, y, fours);
}

static void convolution(const layer *l, const int8_t *x, int8_t *y, int16_t *columns) {
  if (l->channels % 4 == 0) {
    convolution_of(l, x, y, columns, 1);
  } else {
    convolution_of(l, x, y, columns, 0);
  }
}

/* -- Products: rows of activations by filters, of channels in fours. What the offset adds is a sum of weights. */

static int32_t sum_of(const int8_t *weights, int32_t count) {
  int32_t sum = 0;
  for (int32_t i = 0; i < count; i += 4) {
    uint32_t w = load4(weights + i);
    sum = dual(odd(w), 0x00010001, dual(even(w), 0x00010001, sum));
  }
  return sum;
}

static void product(const layer *l, const int8_t *x, int8_t *y, int16_t *columns) {
  (void)columns;
  bounds b = bounds_of(l);
  int32_t rows = l->in_height * l->in_width, count = l->channels;
  for (int32_t filter = 0; filter < l->filters; filter += 2) {
    int32_t pair = filter + (filter + 1 < l->filters);
    const int8_t *one = l->weights + filter * count, *other = l->weights + pair * count;
    int32_t first = l->bias[filter] + l->offset * sum_of(one, count);
    int32_t second = l->bias[pair] + l->offset * sum_of(other, count);
    float m = l->multipliers[filter], n = l->multipliers[pair];
    int32_t row = 0;
    for (; row + 2 <= rows; row += 2) {
      const int8_t *p = x + row * count, *q = p + count;
      int32_t a = first, c = second, d = first, e = second;
      for (int32_t i = 0; i < count; i += 4) {
        uint32_t w = load4(one + i), v = load4(other + i), s = load4(p + i), t = load4(q + i);
        uint32_t w0 = even(w), w1 = odd(w), v0 = even(v), v1 = odd(v), s0 = even(s), s1 = odd(s), t0 = even(t), t1 = odd(t);
        a = dual(w0, s0, a), c = dual(v0, s0, c), d = dual(w0, t0, d), e = dual(v0, t0, e);
        a = dual(w1, s1, a), c = dual(v1, s1, c), d = dual(w1, t1, d), e = dual(v1, t1, e);
      }
      int8_t *to = y + row * l->filters, *next = to + l->filters;
      to[filter] = rounded(a, m, b), to[pair] = rounded(c, n, b);
      next[filter] = rounded(d, m, b), next[pair] = rounded(e, n, b);
    }
    if (row < rows) {
      const int8_t *p = x + row * count;
      int32_t a = first, c = second;
      for (int32_t i = 0; i < count; i += 4) {
        uint32_t w = load4(one + i), v = load4(other + i), s = load4(p + i), s0 = even(s), s1 = odd(s);
        a = dual(odd(w), s1, dual(even(w), s0, a)), c = dual(odd(v), s1, dual(even(v), s0, c));
      }
      int8_t *to = y + row * l->filters;
      to[filter] = rounded(a, m, b), to[pair] = rounded(c, n, b);
    }
  }
}

/* -- Depthwise convolutions: of four channels, two pixels of a window at a time */

static void depthwise(const layer *l, const int8_t *x, int8_t *y, int16_t *columns) {
  bounds b = bounds_of(l);
  int32_t taps = l->height * l->width, channels = l->channels;
  uint32_t offsets = low_halves((uint32_t)l->offset, (uint32_t)l->offset);
  for (int32_t i = 0; i < l->out_height; i++)
    for (int32_t j = 0; j < l->out_width; j++, y += channels) {
      int32_t top = i * l->step_y - l->border_y, left = j * l->step_x - l->border_x;
      int16_t *at = columns;
      for (int32_t row = top; row < top + l->height; row++)
        for (int32_t column = left; column < left + l->width; column++) {
          if (row < 0 || row >= l->in_height || column < 0 || column >= l->in_width) {
            for (int32_t c = 0; c < channels; c += 2) store4(at + c, 0);
            at += channels;
          } else {
            at = widened(x + (row * l->in_width + column) * channels, channels, offsets, at);
          }
        }
      for (int32_t c = 0; c < channels; c += 4) {
        const int16_t *p = columns + c;
        const int8_t *weights = l->weights + c;
        int32_t s0 = l->bias[c], s1 = l->bias[c + 1], s2 = l->bias[c + 2], s3 = l->bias[c + 3], tap = 0;
        for (; tap + 2 <= taps; tap += 2, p += 2 * channels, weights += 2 * channels) {
          uint32_t w = load4(weights), v = load4(weights + channels), w0 = even(w), w1 = odd(w), v0 = even(v), v1 = odd(v);
          uint32_t p0 = load4(p), p1 = load4(p + 2), q0 = load4(p + channels), q1 = load4(p + channels + 2);
          s0 = dual(low_halves(w0, v0), low_halves(p0, q0), s0), s2 = dual(high_halves(w0, v0), high_halves(p0, q0), s2);
          s1 = dual(low_halves(w1, v1), low_halves(p1, q1), s1), s3 = dual(high_halves(w1, v1), high_halves(p1, q1), s3);
        }
        for (; tap < taps; tap++, p += channels, weights += channels) {
          s0 += weights[0] * p[0], s2 += weights[2] * p[1];
          s1 += weights[1] * p[2], s3 += weights[3] * p[3];
        }
        y[c] = rounded(s0, l->multipliers[c], b), y[c + 1] = rounded(s1, l->multipliers[c + 1], b);
        y[c + 2] = rounded(s2, l->multipliers[c + 2], b), y[c + 3] = rounded(s3, l->multipliers[c + 3], b);
      }
    }
}
