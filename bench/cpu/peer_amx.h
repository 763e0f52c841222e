#pragma once
// Put in front of llama.cpp's sources by bench/cpu/compare.py. g++ 12's _tile_loadconfig does not
// tell the compiler that it reads 64 bytes, so llama.cpp's tile configuration is optimised away and
// its AMX path crashes. Here the configuration is in memory before it is loaded.

#include <immintrin.h>

#define _tile_loadconfig(config)                     \
  do {                                               \
    __asm__ volatile("" : : "r"(config) : "memory"); \
    (_tile_loadconfig)(config);                      \
  } while (0)
