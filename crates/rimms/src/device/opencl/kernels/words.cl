// What CUDA C says differently.

#define pair(x, y) ((float2)(x, y))
#define shared local

