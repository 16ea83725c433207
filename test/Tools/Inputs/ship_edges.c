// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* What an exported step does with wrong memory and wrong files. */
#include "line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct buffer {
  unsigned char *data;
  size_t at, size;
} buffer;

static int read_buffer(void *stream, void *data, size_t bytes) {
  buffer *from = stream;
  if (bytes > from->size - from->at)
    return 1;
  memcpy(data, from->data + from->at, bytes);
  from->at += bytes;
  return 0;
}

static int write_buffer(void *stream, const void *data, size_t bytes) {
  buffer *to = stream;
  if (bytes > to->size - to->at)
    return 1;
  memcpy(to->data + to->at, data, bytes);
  to->at += bytes;
  return 0;
}

static int32_t load(line_state *state, buffer file) {
  file.at = 0;
  return line_load(state, read_buffer, &file);
}

static void expect(const char *what, int32_t code, int32_t expected) {
  printf("%s: %d%s\n", what, (int)code, code == expected ? "" : " WRONG");
}

/* As many threads as one, in the wrong order. */
static void backwards(void *pool, int64_t count,
                      void (*task)(void *data, int64_t i), void *data) {
  ++*(int *)pool;
  while (count > 0)
    task(data, --count);
}

int main(void) {
  line_state *state = aligned_alloc(LINE_ALIGNMENT, LINE_STATE_BYTES);
  line_state *other = aligned_alloc(LINE_ALIGNMENT, LINE_STATE_BYTES);
  void *arena =
      aligned_alloc(LINE_ALIGNMENT, LINE_ARENA_BYTES + 3 * LINE_THREAD_BYTES);
  static float x[32], y[33];
  static unsigned char bytes[4096], saved[4096];
  buffer file = {bytes, 0, 0};
  FILE *values = fopen("line.safetensors", "rb");
  file.size = fread(bytes, 1, sizeof(bytes), values);
  for (int i = 0; i < 32; ++i) {
    x[i] = 1.0f + (float)i;
    y[i] = 2.0f;
  }
  line_batch batch = {x, y};
  line_results results, others;
  memset(state, 1, LINE_STATE_BYTES);

  expect("no state", line_init(NULL), LINE_NULL_POINTER);
  expect("a state of nothing", line_step(state, arena, &batch, &results),
         LINE_OTHER_MODEL);
  expect("init", line_init(state), LINE_OK);
  expect("no values", line_step(state, arena, &batch, &results),
         LINE_NO_VALUES);
  expect("nothing to save", line_save(state, write_buffer, &file),
         LINE_NO_VALUES);
  expect("no function", line_load(state, NULL, &file), LINE_NULL_POINTER);
  expect("load", load(state, file), LINE_OK);
  expect("no state", line_step(NULL, arena, &batch, &results),
         LINE_NULL_POINTER);
  expect("no arena", line_step(state, NULL, &batch, &results),
         LINE_NULL_POINTER);
  expect("no batch", line_step(state, arena, NULL, &results),
         LINE_NULL_POINTER);
  expect("no results", line_step(state, arena, &batch, NULL),
         LINE_NULL_POINTER);
  expect("a misaligned arena",
         line_step(state, (char *)arena + 8, &batch, &results),
         LINE_MISALIGNED);
  batch.y = NULL;
  expect("no array", line_step(state, arena, &batch, &results),
         LINE_NULL_POINTER);
  batch.y = (const float *)((const char *)y + 2);
  expect("a misaligned array", line_step(state, arena, &batch, &results),
         LINE_MISALIGNED);
  batch.y = y;
  expect("nothing has changed", state->step != 0, 0);

  /* Where one goes on, the other comes by a file. */
  expect("step", line_step(state, arena, &batch, &results), LINE_OK);
  buffer copy = {saved, 0, sizeof(saved)};
  expect("save", line_save(state, write_buffer, &copy), LINE_OK);
  copy.size = copy.at;
  expect("the same size", copy.size != file.size, 0);
  line_init(other);
  expect("load it", load(other, copy), LINE_OK);
  expect("the same step", other->step != 1, 0);
  int calls = 0;
  expect("no threads", line_set_parallel_for(other, backwards, &calls, 0),
         LINE_BAD_ARGUMENT);
  expect("four threads", line_set_parallel_for(other, backwards, &calls, 4),
         LINE_OK);
  for (int i = 0; i < 3; ++i) {
    line_step(state, arena, &batch, &results);
    line_step(other, arena, &batch, &others);
  }
  expect("the same loss", memcmp(&results, &others, sizeof(results)), 0);
  expect("the same state", line_digest(state) != line_digest(other), 0);
  expect("the same weights",
         memcmp((char *)state + LINE_OFFSET_w, (char *)other + LINE_OFFSET_w,
                sizeof(x)),
         0);

  /* A learning rate instead of the model's, and that once more. */
  copy.size = copy.at;
  load(other, copy);
  other->learning_rate[0] = 0.5;
  line_step(other, arena, &batch, &others);
  load(state, copy);
  line_step(state, arena, &batch, &results);
  expect("another rate",
         memcmp((char *)state + LINE_OFFSET_w, (char *)other + LINE_OFFSET_w,
                sizeof(x)) == 0,
         0);
  other->learning_rate[0] = 1.0e-2;
  load(other, copy);
  line_step(other, arena, &batch, &others);
  expect("the same rate", line_digest(state) != line_digest(other), 0);

  /* Files that are not whole, or of something else. */
  uint64_t before = line_digest(state);
  copy.size = 20;
  expect("a file without its header", load(state, copy), LINE_TRUNCATED);
  copy.size = 0;
  expect("an empty file", load(state, copy), LINE_TRUNCATED);
  copy.size = file.size;
  saved[100] ^= 1;
  expect("another header", load(state, copy), LINE_BAD_FILE);
  saved[100] ^= 1;
  saved[5] = 1;
  expect("a long header", load(state, copy), LINE_BAD_FILE);
  saved[5] = 0;
  expect("nothing has changed", line_digest(state) != before, 0);
  expect("it goes on", line_step(state, arena, &batch, &results), LINE_OK);
  copy.size = file.size - 1;
  expect("half a file", load(state, copy), LINE_TRUNCATED);
  expect("half a state", line_step(state, arena, &batch, &results),
         LINE_DAMAGED);
  copy.size = file.size;
  expect("a whole file", load(state, copy), LINE_OK);
  expect("it goes on", line_step(state, arena, &batch, &results), LINE_OK);
  copy.size = 100;
  copy.at = 0;
  expect("a full disk", line_save(state, write_buffer, &copy), LINE_TRUNCATED);
  state->model ^= 1;
  expect("another model", line_step(state, arena, &batch, &results),
         LINE_OTHER_MODEL);
  fclose(values);
  free(state);
  free(other);
  free(arena);
  return 0;
}
