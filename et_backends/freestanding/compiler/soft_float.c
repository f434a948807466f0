/* Floats on processors without a unit for them, and integers on those without division: the functions that LLVM calls.

   Floats are IEEE 754 binary32 as their bits, rounded to nearest, ties to even, with subnormal numbers. A result that
   is no number is 0x7fc00000. `python -m dev.soft_float` makes soft_float.ll of this file. Names are those of LLVM's
   runtime library; Arm's are in runtime.py. */

typedef unsigned u32;
typedef unsigned long long u64;

#define INLINE static inline __attribute__((always_inline))
#define SIGN 0x80000000u
#define INFINITY 0x7f800000u
#define NOT_A_NUMBER 0x7fc00000u

INLINE int is_nan(u32 a) { return (a & ~SIGN) > INFINITY; }
INLINE int exponent(u32 a) { return (a >> 23) & 255; }

/* a shifted right, where the last bit says whether bits were lost. */
INLINE u32 shifted(u32 a, u32 places) {
  if (places > 30) return a != 0;
  return (a >> places) | ((a & ((1u << places) - 1)) != 0);
}

/* The float m * 2^(e - 157), where bit 30 is the first of m, or e is 1. */
INLINE u32 rounded(u32 sign, int e, u32 m) {
  if (e >= 255) return sign | INFINITY;
  if (e < 1) {
    m = shifted(m, (u32)(1 - e));
    e = 1;
  }
  m = (m + 63 + ((m >> 7) & 1)) >> 7;
  return sign | (((u32)(e - 1) << 23) + m);
}

/* The digits of a float that is not zero, bit 23 first; *e is its exponent, below 1 for subnormal numbers. */
INLINE u32 digits(u32 a, int *e) {
  u32 m = a & 0x7fffff;
  *e = exponent(a);
  if (*e) return m | 0x800000;
  *e = 1;
  while (!(m & 0x800000)) {
    m <<= 1;
    --*e;
  }
  return m;
}

u32 __addsf3(u32 a, u32 b) {
  if (is_nan(a) || is_nan(b)) return NOT_A_NUMBER;
  if ((a & ~SIGN) < (b & ~SIGN)) {
    u32 c = a;
    a = b;
    b = c;
  }
  u32 sign = a & SIGN, differ = (a ^ b) & SIGN;
  int e = exponent(a), f = exponent(b);
  if (e == 255) return differ && f == 255 ? NOT_A_NUMBER : a;
  u32 m = (a & 0x7fffff) << 7, n = (b & 0x7fffff) << 7;
  if (e) m |= 1u << 30;
  else e = 1;
  if (f) n |= 1u << 30;
  else f = 1;
  n = shifted(n, (u32)(e - f));
  if (!differ) {
    m += n;
    if (m >> 31) {
      m = (m >> 1) | (m & 1);
      e++;
    }
    return rounded(sign, e, m);
  }
  m -= n;
  if (!m) return 0;
  while (!(m >> 30) && e > 1) {
    m <<= 1;
    e--;
  }
  return rounded(sign, e, m);
}

u32 __subsf3(u32 a, u32 b) { return __addsf3(a, is_nan(b) ? b : b ^ SIGN); }

u32 __mulsf3(u32 a, u32 b) {
  u32 sign = (a ^ b) & SIGN;
  if (is_nan(a) || is_nan(b)) return NOT_A_NUMBER;
  u32 large = (a & ~SIGN) == INFINITY || (b & ~SIGN) == INFINITY;
  u32 none = !(a & ~SIGN) || !(b & ~SIGN);
  if (large) return none ? NOT_A_NUMBER : sign | INFINITY;
  if (none) return sign;
  int e, f;
  u32 m = digits(a, &e), n = digits(b, &f);
  /* 24 by 24 bits, in halves. */
  u32 high = (m >> 12) * (n >> 12), low = (m & 0xfff) * (n & 0xfff);
  u32 middle = (m >> 12) * (n & 0xfff) + (m & 0xfff) * (n >> 12) + (low >> 12);
  u32 product = (high << 8) + (middle >> 4);
  product |= ((middle & 15) | (low & 0xfff)) != 0;
  e += f - 127;
  if (product >> 31) {
    product = (product >> 1) | (product & 1);
    e++;
  }
  return rounded(sign, e, product);
}

u32 __divsf3(u32 a, u32 b) {
  u32 sign = (a ^ b) & SIGN;
  if (is_nan(a) || is_nan(b)) return NOT_A_NUMBER;
  a &= ~SIGN;
  b &= ~SIGN;
  if (a == INFINITY) return b == INFINITY ? NOT_A_NUMBER : sign | INFINITY;
  if (!b) return a ? sign | INFINITY : NOT_A_NUMBER;
  if (!a || b == INFINITY) return sign;
  int e, f;
  u32 m = digits(a, &e), n = digits(b, &f), quotient = 0;
  e += 127 - f;
  if (m < n) {
    m <<= 1;
    e--;
  }
  for (int bit = 0; bit < 31; bit++) {
    quotient <<= 1;
    if (m >= n) {
      m -= n;
      quotient |= 1;
    }
    m <<= 1;
  }
  return rounded(sign, e, quotient | (m != 0));
}

u32 sqrtf(u32 a) {
  if (!(a & ~SIGN) || a == INFINITY) return a;
  if (is_nan(a) || a & SIGN) return NOT_A_NUMBER;
  int e;
  u32 m = digits(a, &e);
  e -= 127;
  if (e & 1) {
    m <<= 1;
    e--;
  }
  /* Bit by bit: `twice` is what the square grows by with the next bit, less that bit. */
  u32 root = 0, twice = 0, rest = m << 1;
  for (u32 bit = 1u << 24; bit; bit >>= 1) {
    if (twice + bit <= rest) {
      rest -= twice + bit;
      twice += bit << 1;
      root |= bit;
    }
    rest <<= 1;
  }
  return rounded(0, e / 2 + 127, (root << 6) | (rest != 0));
}

/* A number whose order is that of the floats; zeros of both signs are equal. */
INLINE int key(u32 a) { return a & SIGN ? -(int)(a & ~SIGN) : (int)a; }

INLINE int compared(u32 a, u32 b, int unordered) {
  if (is_nan(a) || is_nan(b)) return unordered;
  int m = key(a), n = key(b);
  return (m > n) - (m < n);
}

int __ltsf2(u32 a, u32 b) { return compared(a, b, 1); }
int __gtsf2(u32 a, u32 b) { return compared(a, b, -1); }
int __unordsf2(u32 a, u32 b) { return is_nan(a) || is_nan(b); }

int __aeabi_fcmpeq(u32 a, u32 b) { return compared(a, b, 2) == 0; }
int __aeabi_fcmplt(u32 a, u32 b) { return compared(a, b, 2) == -1; }
int __aeabi_fcmple(u32 a, u32 b) { return compared(a, b, 2) <= 0; }
int __aeabi_fcmpgt(u32 a, u32 b) { return compared(a, b, -2) == 1; }
int __aeabi_fcmpge(u32 a, u32 b) { return compared(a, b, -2) >= 0; }

u32 fmaxf(u32 a, u32 b) { return is_nan(a) ? b : is_nan(b) || key(a) >= key(b) ? a : b; }
u32 fminf(u32 a, u32 b) { return is_nan(a) ? b : is_nan(b) || key(a) <= key(b) ? a : b; }

/* These give what is no number if one is none, and zeros have an order. */
u32 fmaximumf(u32 a, u32 b) {
  if (is_nan(a) || is_nan(b)) return NOT_A_NUMBER;
  return key(a) == key(b) ? a & b : key(a) > key(b) ? a : b;
}

u32 fminimumf(u32 a, u32 b) {
  if (is_nan(a) || is_nan(b)) return NOT_A_NUMBER;
  return key(a) == key(b) ? a | b : key(a) < key(b) ? a : b;
}

u32 __floatunsisf(u32 m) {
  int e = 157;
  if (!m) return 0;
  if (m >> 31) {
    m = (m >> 1) | (m & 1);
    e++;
  }
  while (!(m >> 30)) {
    m <<= 1;
    e--;
  }
  return rounded(0, e, m);
}

u32 __floatsisf(u32 m) { return m & SIGN ? __floatunsisf(0 - m) | SIGN : __floatunsisf(m); }

u32 __floatundisf(u64 m) {
  int e = 157;
  while (m >> 31) {
    m = (m >> 1) | (m & 1);
    e++;
  }
  if (!m) return 0;
  u32 n = (u32)m;
  while (!(n >> 30)) {
    n <<= 1;
    e--;
  }
  return rounded(0, e, n);
}

u32 __floatdisf(u64 m) { return m >> 63 ? __floatundisf(0 - m) | SIGN : __floatundisf(m); }

/* Toward zero; what is out of range is the nearest there is. */
u32 __fixunssfsi(u32 a) {
  int e = exponent(a) - 150;
  u32 m = (a & 0x7fffff) | 0x800000;
  if (a & SIGN || e < -23 || is_nan(a)) return 0;
  if (e > 8) return ~0u;
  return e < 0 ? m >> -e : m << e;
}

u32 __fixsfsi(u32 a) {
  u32 m = __fixunssfsi(a & ~SIGN);
  if (a & SIGN) return m > SIGN ? SIGN : 0 - m;
  return m > ~SIGN ? ~SIGN : m;
}

u64 __fixsfdi(u32 a) {
  int e = exponent(a) - 150;
  u64 m = (a & 0x7fffff) | 0x800000, most = ~0ull >> 1;
  if (e < -23 || is_nan(a)) return 0;
  if (e > 39) return a & SIGN ? most + 1 : most;
  for (; e < 0; e++) m >>= 1;
  for (; e > 0; e--) m <<= 1;
  return a & SIGN ? 0 - m : m;
}

/* Quotient in the low, remainder in the high half; division by zero gives all ones. */
u64 __aeabi_uidivmod(u32 a, u32 b) {
  u32 quotient = 0, rest = 0;
  for (int bit = 31; bit >= 0; bit--) {
    u32 carry = rest >> 31;
    rest = (rest << 1) | ((a >> bit) & 1);
    quotient <<= 1;
    if (carry || rest >= b) {
      rest -= b;
      quotient |= 1;
    }
  }
  return (u64)rest << 32 | quotient;
}

u64 __aeabi_idivmod(u32 a, u32 b) {
  u64 both = __aeabi_uidivmod(a & SIGN ? 0 - a : a, b & SIGN ? 0 - b : b);
  u32 quotient = (u32)both, rest = (u32)(both >> 32);
  if ((a ^ b) & SIGN) quotient = 0 - quotient;
  if (a & SIGN) rest = 0 - rest;
  return (u64)rest << 32 | quotient;
}

u32 __udivsi3(u32 a, u32 b) { return (u32)__aeabi_uidivmod(a, b); }
u32 __divsi3(u32 a, u32 b) { return (u32)__aeabi_idivmod(a, b); }

/* As long division by bits; a divisor of 0 gives all ones. */
u64 __udivdi3(u64 a, u64 b) {
  u64 quotient = 0;
  int places = 0;
  if (!b) return ~0ull;
  if (!(a >> 32)) return b >> 32 ? 0 : (u32)a / (u32)b;
  while (!(b >> 63) && b < a) {
    b <<= 1;
    places++;
  }
  for (; places >= 0; places--) {
    quotient <<= 1;
    if (a >= b) {
      a -= b;
      quotient |= 1;
    }
    b >>= 1;
  }
  return quotient;
}

u64 __umoddi3(u64 a, u64 b) { return a - __udivdi3(a, b) * b; }

u64 __divdi3(u64 a, u64 b) {
  u64 quotient = __udivdi3(a >> 63 ? 0 - a : a, b >> 63 ? 0 - b : b);
  return (a ^ b) >> 63 ? 0 - quotient : quotient;
}

u64 __moddi3(u64 a, u64 b) { return a - __divdi3(a, b) * b; }

u64 __muldi3(u64 a, u64 b) {
  u32 m = (u32)a, n = (u32)b;
  u32 low = (m & 0xffff) * (n & 0xffff), high = (m >> 16) * (n >> 16);
  u32 one = (m >> 16) * (n & 0xffff), other = (m & 0xffff) * (n >> 16);
  u32 middle = (low >> 16) + (one & 0xffff) + (other & 0xffff);
  high += (one >> 16) + (other >> 16) + (middle >> 16);
  high += m * (u32)(b >> 32) + n * (u32)(a >> 32);
  return (u64)high << 32 | (middle << 16) | (low & 0xffff);
}

u64 __ashldi3(u64 a, u32 places) {
  u32 low = (u32)a, high = (u32)(a >> 32);
  if (!places) return a;
  if (places > 31) return (u64)(low << (places - 32)) << 32;
  return (u64)((high << places) | (low >> (32 - places))) << 32 | (low << places);
}

u64 __lshrdi3(u64 a, u32 places) {
  u32 low = (u32)a, high = (u32)(a >> 32);
  if (!places) return a;
  if (places > 31) return high >> (places - 32);
  return (u64)(high >> places) << 32 | ((low >> places) | (high << (32 - places)));
}

u64 __ashrdi3(u64 a, u32 places) {
  u32 low = (u32)a;
  int high = (int)(a >> 32);
  if (!places) return a;
  if (places > 31) return (u64)(u32)(high >> 31) << 32 | (u32)(high >> (places - 32));
  return (u64)(u32)(high >> places) << 32 | ((low >> places) | ((u32)high << (32 - places)));
}
