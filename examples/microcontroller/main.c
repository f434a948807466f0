/* Classifies one digit; a debugger, or the test, reads `image` and `digit`. */
#include "digits.h"

static _Alignas(DIGITS_ARENA_ALIGNMENT) unsigned char arena[DIGITS_ARENA_BYTES];

float image[DIGITS_IMAGE_COUNT]; /* 8 rows of 8 pixels between 0 and 1 */
volatile int digit = -1;

int main(void) {
  float logits[DIGITS_OUTPUT0_COUNT];
  digits_inputs inputs = {image};
  digits_outputs outputs = {logits};
  if (digits_forward(&inputs, &outputs, arena) != 0) return 1;
  int best = 0;
  for (int number = 1; number < DIGITS_OUTPUT0_COUNT; number++)
    if (logits[number] > logits[best]) best = number;
  digit = best;
  return 0;
}
