/* The primitive operators: arithmetic on registers, sizes, views, and the stacking of the results of loops. */
#include "et_internal.h"
#include "et_prims.h"

typedef enum { ADD, SUB, MUL, DIV, FLOOR_DIV, TRUNC_DIV, REMAINDER, MAXIMUM, MINIMUM } et_arithmetic;
typedef enum { EQUAL, GREATER, LESS, AT_LEAST, AT_MOST } et_comparison;

static __attribute__((unused)) void put_int(const et_call *call, int64_t number) {
  et_value *out = et_arg(call, call->count - 1);
  *out = (et_value){.kind = ET_KIND_INT};
  out->as.integer = number;
}

static __attribute__((unused)) void put_real(const et_call *call, double number) {
  et_value *out = et_arg(call, call->count - 1);
  *out = (et_value){.kind = ET_KIND_DOUBLE};
  out->as.real = number;
}

static __attribute__((unused)) void put_bool(const et_call *call, bool truth) {
  et_value *out = et_arg(call, call->count - 1);
  *out = (et_value){.kind = ET_KIND_BOOL};
  out->as.boolean = truth;
}

#ifdef ET_PRIM_ARITHMETIC
static double floor_of(double x) {
  if (!(x > -4503599627370496.0 && x < 4503599627370496.0)) return x;
  double whole = (double)(int64_t)x;
  return whole > x ? whole - 1 : whole;
}

static et_error on_ints(et_arithmetic operation, int64_t a, int64_t b, int64_t *result) {
  bool wrong = false;
  switch (operation) {
    case ADD:
      wrong = b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b;
      *result = wrong ? 0 : a + b;
      break;
    case SUB:
      wrong = b < 0 ? a > INT64_MAX + b : a < INT64_MIN + b;
      *result = wrong ? 0 : a - b;
      break;
    case MUL:
      wrong = __builtin_mul_overflow(a, b, result);
      break;
    case MAXIMUM:
      *result = a > b ? a : b;
      break;
    case MINIMUM:
      *result = a < b ? a : b;
      break;
    default: {
      if (b == 0) return ET_ERROR_INVALID_ARGUMENT;
      if (a == INT64_MIN && b == -1) {
        *result = 0;
        return operation == REMAINDER ? ET_ERROR_OK : ET_ERROR_INVALID_ARGUMENT;
      }
      int64_t quotient = a / b, rest = a % b;
      if (operation == FLOOR_DIV && rest != 0 && (rest < 0) != (b < 0)) quotient--;
      *result = operation == REMAINDER ? rest : quotient;
    }
  }
  return wrong ? ET_ERROR_INVALID_ARGUMENT : ET_ERROR_OK;
}

static et_error arithmetic(const et_call *call, et_arithmetic operation) {
  const et_value *a = et_arg(call, 0), *b = et_arg(call, 1);
  int64_t result;
  if (a->kind == ET_KIND_INT && b->kind == ET_KIND_INT && operation != DIV) {
    et_error status = on_ints(operation, a->as.integer, b->as.integer, &result);
    if (status == ET_ERROR_OK) put_int(call, result);
    return status;
  }
  double x = et_real_arg(call, 0), y = et_real_arg(call, 1), inf = __builtin_inf(), sum;
  switch (operation) {
    case ADD:
      sum = x + y;
      break;
    case SUB:
      sum = x - y;
      break;
    case MUL:
      sum = x * y;
      break;
    case FLOOR_DIV:
      if (y == 0) {
        sum = __builtin_signbit(x) ? -inf : inf;
      } else if (x - x != 0 || y != y) {
        sum = __builtin_nan("");
      } else {
        sum = floor_of(x / y);
      }
      break;
    default: /* a division */
      sum = x / y;
  }
  put_real(call, sum);
  return ET_ERROR_OK;
}
#endif

#ifdef ET_PRIM_COMPARISON
static et_error comparison(const et_call *call, et_comparison operation) {
  const et_value *a = et_arg(call, 0), *b = et_arg(call, 1);
  if ((a->kind == ET_KIND_BOOL) != (b->kind == ET_KIND_BOOL)) return ET_ERROR_INVALID_TYPE;
  bool less, equal;
  if (a->kind == ET_KIND_INT && b->kind == ET_KIND_INT) {
    less = a->as.integer < b->as.integer;
    equal = a->as.integer == b->as.integer;
  } else {
    double x = et_real_arg(call, 0), y = et_real_arg(call, 1);
    less = x < y;
    equal = x == y;
    if (x != x || y != y) {
      put_bool(call, false);
      return ET_ERROR_OK;
    }
  }
  put_bool(call, operation == EQUAL     ? equal
                 : operation == LESS    ? less
                 : operation == AT_MOST ? less || equal
                 : operation == GREATER ? !less && !equal
                                        : !less);
  return ET_ERROR_OK;
}
#endif

#define ARITHMETIC(name, operation) \
  et_error name(const et_call *call) { return arithmetic(call, operation); }
#define COMPARISON(name, operation) \
  et_error name(const et_call *call) { return comparison(call, operation); }

#ifdef ET_PRIM_ADD_SCALAR
ARITHMETIC(et_prim_add_Scalar, ADD)
#endif
#ifdef ET_PRIM_SUB_SCALAR
ARITHMETIC(et_prim_sub_Scalar, SUB)
#endif
#ifdef ET_PRIM_MUL_SCALAR
ARITHMETIC(et_prim_mul_Scalar, MUL)
#endif
#ifdef ET_PRIM_FLOORDIV_SCALAR
ARITHMETIC(et_prim_floordiv_Scalar, FLOOR_DIV)
#endif
#ifdef ET_PRIM_FLOORDIV_INT
ARITHMETIC(et_prim_floordiv_int, TRUNC_DIV)
#endif
#ifdef ET_PRIM_TRUEDIV_SCALAR
ARITHMETIC(et_prim_truediv_Scalar, DIV)
#endif
#ifdef ET_PRIM_MOD_INT
ARITHMETIC(et_prim_mod_int, REMAINDER)
#endif
#ifdef ET_PRIM_MOD_SCALAR
ARITHMETIC(et_prim_mod_Scalar, REMAINDER)
#endif
#ifdef ET_PRIM_SYM_MAX_SCALAR
ARITHMETIC(et_prim_sym_max_Scalar, MAXIMUM)
#endif
#ifdef ET_PRIM_SYM_MIN_SCALAR
ARITHMETIC(et_prim_sym_min_Scalar, MINIMUM)
#endif
#ifdef ET_PRIM_EQ_SCALAR
COMPARISON(et_prim_eq_Scalar, EQUAL)
#endif
#ifdef ET_PRIM_GT_SCALAR
COMPARISON(et_prim_gt_Scalar, GREATER)
#endif
#ifdef ET_PRIM_LT_SCALAR
COMPARISON(et_prim_lt_Scalar, LESS)
#endif
#ifdef ET_PRIM_GE_SCALAR
COMPARISON(et_prim_ge_Scalar, AT_LEAST)
#endif
#ifdef ET_PRIM_LE_SCALAR
COMPARISON(et_prim_le_Scalar, AT_MOST)
#endif

#ifdef ET_PRIM_NEG_SCALAR
et_error et_prim_neg_Scalar(const et_call *call) {
  const et_value *a = et_arg(call, 0);
  if (a->kind == ET_KIND_INT && a->as.integer == INT64_MIN) return ET_ERROR_INVALID_ARGUMENT;
  if (a->kind == ET_KIND_INT) {
    put_int(call, -a->as.integer);
  } else {
    put_real(call, -a->as.real);
  }
  return ET_ERROR_OK;
}
#endif

#ifdef ET_PRIM_SYM_FLOAT_SCALAR
et_error et_prim_sym_float_Scalar(const et_call *call) {
  put_real(call, et_real_arg(call, 0));
  return ET_ERROR_OK;
}
#endif

#ifdef ET_PRIM_SYM_NOT_SCALAR
et_error et_prim_sym_not_Scalar(const et_call *call) {
  put_bool(call, !et_bool_arg(call, 0));
  return ET_ERROR_OK;
}
#endif

#ifdef ET_PRIM_SYM_ITE_SCALAR
et_error et_prim_sym_ite_Scalar(const et_call *call) {
  et_value chosen = *et_arg(call, et_bool_arg(call, 0) ? 1 : 2);
  *et_arg(call, 3) = chosen;
  return ET_ERROR_OK;
}
#endif

#ifdef ET_PRIM_SYM_SIZE_INT
et_error et_prim_sym_size_int(const et_call *call) {
  const et_tensor *tensor = et_tensor_arg(call, 0);
  int64_t dim = et_int_arg(call, 1);
  if (dim < -(int64_t)tensor->rank || dim >= tensor->rank) return ET_ERROR_INVALID_ARGUMENT;
  put_int(call, tensor->sizes[dim < 0 ? dim + tensor->rank : dim]);
  return ET_ERROR_OK;
}
#endif

#ifdef ET_PRIM_SYM_NUMEL
et_error et_prim_sym_numel(const et_call *call) {
  put_int(call, (int64_t)et_numel(et_tensor_arg(call, 0)));
  return ET_ERROR_OK;
}
#endif

#ifdef ET_PRIM__LOCAL_SCALAR_DENSE
et_error et_prim__local_scalar_dense(const et_call *call) {
  const et_tensor *tensor = et_tensor_arg(call, 0);
  const void *data = tensor->data;
  if (et_numel(tensor) < 1) return ET_ERROR_INVALID_ARGUMENT;
  switch (tensor->type) {
    case ET_TYPE_BOOL:
      put_bool(call, *(const uint8_t *)data != 0);
      return ET_ERROR_OK;
    case ET_TYPE_BYTE:
      put_int(call, *(const uint8_t *)data);
      return ET_ERROR_OK;
    case ET_TYPE_CHAR:
      put_int(call, *(const int8_t *)data);
      return ET_ERROR_OK;
    case ET_TYPE_INT:
      put_int(call, *(const int32_t *)data);
      return ET_ERROR_OK;
    case ET_TYPE_LONG:
      put_int(call, *(const int64_t *)data);
      return ET_ERROR_OK;
    case ET_TYPE_FLOAT:
      put_real(call, (double)*(const float *)data);
      return ET_ERROR_OK;
    case ET_TYPE_DOUBLE:
      put_real(call, *(const double *)data);
      return ET_ERROR_OK;
    default:
      return ET_ERROR_NOT_SUPPORTED;
  }
}
#endif

#ifdef ET_PRIM_ET_VIEW_DEFAULT
et_error et_prim_et_view_default(const et_call *call) {
  const et_tensor *source = et_tensor_arg(call, 0);
  et_value *out = et_arg(call, 2);
  int64_t items[ET_MAX_RANK];
  int32_t sizes[ET_MAX_RANK];
  uint32_t rank, free = ET_MAX_RANK;
  if (out->kind != ET_KIND_TENSOR) return ET_ERROR_INVALID_TYPE;
  et_error status = et_ints_arg(call, 1, items, ET_MAX_RANK, &rank);
  if (status != ET_ERROR_OK) return status;
  et_tensor *target = out->as.tensor;
  uint64_t numel = et_numel(source), known = 1;
  bool empty = false, over = false;
  for (uint32_t i = 0; i < rank; i++) {
    if (items[i] == -1 && free == ET_MAX_RANK) {
      free = i;
      continue;
    }
    if (items[i] < 0) return ET_ERROR_INVALID_ARGUMENT;
    empty = empty || items[i] == 0;
    over = over || items[i] > INT32_MAX || (items[i] != 0 && known > (uint64_t)INT64_MAX / (uint64_t)items[i]);
    if (!over && items[i] != 0) known *= (uint64_t)items[i];
    sizes[i] = over ? 0 : (int32_t)items[i];
  }
  if (empty) known = 0;
  if (over && !empty) return ET_ERROR_INVALID_ARGUMENT;
  if (free < ET_MAX_RANK) {
    if (known == 0 || numel % known != 0) return ET_ERROR_INVALID_ARGUMENT;
    sizes[free] = (int32_t)(numel / known);
  } else if (known != numel) {
    return ET_ERROR_INVALID_ARGUMENT;
  }
  if (source->type != target->type) return ET_ERROR_INVALID_ARGUMENT;
  bool same = rank == source->rank && et_equal(sizes, source->sizes, rank * sizeof *sizes);
  if (!same && !(et_contiguous(source) && et_contiguous(target))) return ET_ERROR_INVALID_ARGUMENT;
  bool shaped = rank == target->rank && et_equal(sizes, target->sizes, rank * sizeof *sizes);
  /* Of the two records of a tensor, the second has what was loaded. The sizes outlive the view: they have to fit that. */
  size_t capacity = target[1].capacity;
  if (rank != target->rank || (!shaped && !target->dynamic) || numel * et_item_size(target->type) > capacity)
    return ET_ERROR_NOT_SUPPORTED;
  if (!shaped) et_copy(target->sizes, sizes, rank * sizeof *sizes);
  target->data = source->data;
  target->constant = source->constant;
  target->capacity = source->capacity < capacity ? source->capacity : capacity;
  return ET_ERROR_OK;
}
#endif

#ifdef ET_PRIM_ET_COPY_INDEX_TENSOR
et_error et_prim_et_copy_index_tensor(const et_call *call) {
  et_tensor *to = et_tensor_arg(call, 0);
  const et_tensor *from = et_tensor_arg(call, 1);
  int64_t at = et_int_arg(call, 2);
  if (to->type != from->type || to->rank != from->rank + 1 || !et_equal(to->sizes + 1, from->sizes, from->rank * sizeof *from->sizes))
    return ET_ERROR_INVALID_ARGUMENT;
  if (at < 0) return ET_ERROR_INVALID_ARGUMENT;
  if (!et_contiguous(to) || !et_contiguous(from) || at >= INT32_MAX) return ET_ERROR_NOT_SUPPORTED;
  if (to->dynamic) {
    int32_t sizes[ET_MAX_RANK];
    et_copy(sizes, to->sizes, to->rank * sizeof *sizes);
    sizes[0] = (int32_t)at + 1;
    et_error status = et_resize(to, to->rank, sizes);
    if (status != ET_ERROR_OK) return status;
  } else if (at >= to->sizes[0]) {
    return ET_ERROR_NOT_SUPPORTED;
  }
  size_t bytes = et_numel(from) * et_item_size(from->type);
  et_copy(to->data + (size_t)at * bytes, from->data, bytes);
  return ET_ERROR_OK;
}
#endif
