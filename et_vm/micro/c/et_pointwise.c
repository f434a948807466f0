/* Elementwise operators; shapes are spread over one another. */
#include "et_internal.h"
#include "et_selected.h"

typedef enum { ADD, SUB, MUL, DIV, MAXIMUM, MINIMUM } et_binary;

/* `a` and `b` point to elements; numbers of a call are converted to the element type, as torch does. */
#define BINARY(suffix, T, is_nan)                                                                              \
  static et_error binary_##suffix(const et_call *call, et_binary operation, bool scaled) {                     \
    const et_tensor *self = et_tensor_arg(call, 0), *other = et_tensor_arg(call, 1);                           \
    et_tensor *out = et_tensor_arg(call, scaled ? 3 : 2);                                                      \
    T alpha = scaled ? (T)et_real_arg(call, 2) : (T)1;                                                         \
    et_error status = et_broadcast(out, self, other);                                                          \
    if (status != ET_ERROR_OK) return status;                                                                  \
    const T *a = (const T *)(const void *)self->data, *b = (const T *)(const void *)other->data;               \
    T *to = (T *)(void *)out->data;                                                                            \
    et_walk walk;                                                                                              \
    for (et_walk_start(&walk, out, self, other); walk.left != 0; et_walk_next(&walk)) {                        \
      T x = a[walk.place[1]], y = b[walk.place[2]], z;                                                         \
      switch (operation) {                                                                                     \
        case ADD: z = (T)(x + alpha * y); break;                                                               \
        case SUB: z = (T)(x - alpha * y); break;                                                               \
        case MUL: z = (T)(x * y); break;                                                                       \
        case DIV: z = (T)(x / y); break;                                                                       \
        case MAXIMUM: z = x > y || is_nan(x) ? x : y; break;                                                   \
        default: z = x < y || is_nan(x) ? x : y;                                                               \
      }                                                                                                        \
      to[walk.place[0]] = z;                                                                                   \
    }                                                                                                          \
    return ET_ERROR_OK;                                                                                        \
  }
#define IS_NAN(x) ((x) != (x))

#if defined ET_KERNEL_ADD_F32 || defined ET_KERNEL_SUB_F32 || defined ET_KERNEL_MUL_F32 || defined ET_KERNEL_DIV_F32 || \
    defined ET_KERNEL_MAXIMUM_F32 || defined ET_KERNEL_MINIMUM_F32
BINARY(f32, float, IS_NAN)
#endif
#define KERNEL(name, suffix, operation, scaled) \
  et_error name(const et_call *call) { return binary_##suffix(call, operation, scaled); }
#ifdef ET_KERNEL_ADD_F32
KERNEL(et_add_f32, f32, ADD, true)
#endif
#ifdef ET_KERNEL_SUB_F32
KERNEL(et_sub_f32, f32, SUB, true)
#endif
#ifdef ET_KERNEL_MUL_F32
KERNEL(et_mul_f32, f32, MUL, false)
#endif
#ifdef ET_KERNEL_DIV_F32
KERNEL(et_div_f32, f32, DIV, false)
#endif
#ifdef ET_KERNEL_MAXIMUM_F32
KERNEL(et_maximum_f32, f32, MAXIMUM, false)
#endif
#ifdef ET_KERNEL_MINIMUM_F32
KERNEL(et_minimum_f32, f32, MINIMUM, false)
#endif

/* With a number: `alpha` is the argument of `add.Scalar_out` behind it, or none. */
#define SCALAR(name, expression, last)                                                     \
  et_error name(const et_call *call) {                                                     \
    const et_tensor *self = et_tensor_arg(call, 0);                                        \
    et_tensor *out = et_tensor_arg(call, last);                                            \
    float y = (float)et_real_arg(call, 1);                                                 \
    float alpha = (last) == 3  ? (float)et_real_arg(call, 2) : 1.0f;                       \
    et_error status = et_resize_like(out, self);                                           \
    if (status != ET_ERROR_OK) return status;                                              \
    const float *a = (const float *)(const void *)self->data;                              \
    float *to = (float *)(void *)out->data;                                                \
    et_walk walk;                                                                          \
    for (et_walk_start(&walk, out, self, NULL); walk.left != 0; et_walk_next(&walk)) {     \
      float x = a[walk.place[1]];                                                          \
      to[walk.place[0]] = (expression);                                                    \
    }                                                                                      \
    (void)alpha;                                                                           \
    return ET_ERROR_OK;                                                                    \
  }
#ifdef ET_KERNEL_ADD_SCALAR_F32
SCALAR(et_add_scalar_f32, x + alpha * y, 3)
#endif
#ifdef ET_KERNEL_MUL_SCALAR_F32
SCALAR(et_mul_scalar_f32, x * y, 2)
#endif

#define UNARY(name, expression)                                                            \
  et_error name(const et_call *call) {                                                     \
    const et_tensor *self = et_tensor_arg(call, 0);                                        \
    et_tensor *out = et_tensor_arg(call, 1);                                               \
    et_error status = et_resize_like(out, self);                                           \
    if (status != ET_ERROR_OK) return status;                                              \
    const float *a = (const float *)(const void *)self->data;                              \
    float *to = (float *)(void *)out->data;                                                \
    et_walk walk;                                                                          \
    for (et_walk_start(&walk, out, self, NULL); walk.left != 0; et_walk_next(&walk)) {     \
      float x = a[walk.place[1]];                                                          \
      to[walk.place[0]] = (expression);                                                    \
    }                                                                                      \
    return ET_ERROR_OK;                                                                    \
  }
#ifdef ET_KERNEL_RELU_F32
UNARY(et_relu_f32, x > 0 || IS_NAN(x) ? x : 0)
#endif
#ifdef ET_KERNEL_SIGMOID_F32
UNARY(et_sigmoid_f32, 1.0f / (1.0f + et_exp(-x)))
#endif

#ifdef ET_KERNEL_HARDTANH_F32
et_error et_hardtanh_f32(const et_call *call) {
  const et_tensor *self = et_tensor_arg(call, 0);
  et_tensor *out = et_tensor_arg(call, 3);
  float least = (float)et_real_arg(call, 1), most = (float)et_real_arg(call, 2);
  et_error status = et_resize_like(out, self);
  if (status != ET_ERROR_OK) return status;
  const float *a = (const float *)(const void *)self->data;
  float *to = (float *)(void *)out->data;
  et_walk walk;
  for (et_walk_start(&walk, out, self, NULL); walk.left != 0; et_walk_next(&walk)) {
    float x = a[walk.place[1]];
    x = x < least ? least : x;
    to[walk.place[0]] = x > most ? most : x;
  }
  return ET_ERROR_OK;
}
#endif
