// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* Two states side by side, one of which is trained by three threads. */
#include "digits.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 3, STEPS = 4 };

static int read_file(void *file, void *data, size_t bytes) {
  return fread(data, 1, bytes, file) != bytes;
}

typedef struct job {
  void (*task)(void *data, int64_t i);
  void *data;
  int64_t i;
} job;

static void *run_job(void *of) {
  job *this = of;
  this->task(this->data, this->i);
  return NULL;
}

/* A thread for each task: slow, but as much at a time as can be. */
static void on_threads(void *pool, int64_t count,
                       void (*task)(void *data, int64_t i), void *data) {
  pthread_t threads[THREADS];
  job jobs[THREADS];
  if (count > THREADS)
    abort();
  ++*(int *)pool;
  for (int64_t i = 0; i < count; ++i) {
    jobs[i] = (job){task, data, i};
    if (pthread_create(&threads[i], NULL, run_job, &jobs[i]))
      abort();
  }
  for (int64_t i = 0; i < count; ++i)
    pthread_join(threads[i], NULL);
}

static float images[40][8][8];
static int32_t labels[40];

typedef struct run {
  int threads, calls;
  uint64_t digest;
  float loss;
  int32_t code;
  digits_eval_results evaluation;
} run;

static void *train(void *of) {
  run *this = of;
  digits_state *state = aligned_alloc(DIGITS_ALIGNMENT, DIGITS_STATE_BYTES);
  void *arena =
      aligned_alloc(DIGITS_ALIGNMENT,
                    DIGITS_ARENA_BYTES + (THREADS - 1) * DIGITS_THREAD_BYTES);
  FILE *file = fopen("digits.safetensors", "rb");
  digits_batch batch = {&images[0][0][0], labels};
  digits_results results;
  this->code = digits_init(state);
  this->code |= digits_load(state, read_file, file);
  if (this->threads > 1)
    this->code |=
        digits_set_parallel_for(state, on_threads, &this->calls, this->threads);
  for (int i = 0; i < STEPS && !this->code; ++i)
    this->code = digits_step(state, arena, &batch, &results);
  digits_eval_batch others = {&images[0][0][0], labels};
  this->code |= digits_eval(state, arena, &others, &this->evaluation);
  this->loss = results.loss;
  this->digest = digits_digest(state);
  fclose(file);
  free(arena);
  free(state);
  return NULL;
}

int main(void) {
  static run alone, together[2];
  alone.threads = together[0].threads = 1;
  together[1].threads = THREADS;
  pthread_t threads[2];
  for (int i = 0; i < 40; ++i) {
    labels[i] = i % 10;
    for (int j = 0; j < 64; ++j)
      images[i][j / 8][j % 8] = (float)(i * 37 % 16 + j % 5) / 32;
  }
  train(&alone);
  for (int i = 0; i < 2; ++i)
    if (pthread_create(&threads[i], NULL, train, &together[i]))
      abort();
  for (int i = 0; i < 2; ++i) {
    pthread_join(threads[i], NULL);
    printf("code %d, %s, %s\n", (int)together[i].code,
           together[i].calls ? "shared loops" : "no shared loops",
           together[i].digest == alone.digest &&
                   together[i].loss == alone.loss &&
                   together[i].evaluation.loss == alone.evaluation.loss
               ? "the same bits"
               : "other bits");
  }
  return 0;
}
