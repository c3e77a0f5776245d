// What CUDA C says differently. (It uses OpenCL's own words for memory inside of its attributes.)

#define pair(x, y) ((float2)(x, y))
#define buffer global
#define group_memory local
#define in_group local

