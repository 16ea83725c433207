// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* An assertion of the model that fails is a code and a message. */
#include "embedding.h"

#include <stdio.h>
#include <stdlib.h>

static int read_file(void *file, void *data, size_t bytes) {
  return fread(data, 1, bytes, file) != bytes;
}

int main(void) {
  embedding_state *state = aligned_alloc(EMBEDDING_ALIGNMENT, EMBEDDING_STATE_BYTES);
  void *arena = aligned_alloc(EMBEDDING_ALIGNMENT, EMBEDDING_ARENA_BYTES);
  FILE *file = fopen("embedding.safetensors", "rb");
  int64_t tokens[2] = {1, 2};
  embedding_batch batch = {tokens};
  embedding_results results;
  embedding_init(state);
  embedding_load(state, read_file, file);
  printf("good: %d\n", (int)embedding_step(state, arena, &batch, &results));
  uint64_t before = embedding_digest(state);
  tokens[1] = 5;
  printf("bad: %d\n", (int)embedding_step(state, arena, &batch, &results));
  printf("message: %.*s\n", (int)state->message_bytes, state->message);
  printf("step %d, %s\n", (int)state->step, embedding_digest(state) == before ? "unchanged" : "changed");
  tokens[1] = 3;
  printf("good: %d\n", (int)embedding_step(state, arena, &batch, &results));
  fclose(file);
  free(arena);
  free(state);
  return 0;
}
