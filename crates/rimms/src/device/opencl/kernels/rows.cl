// What moves elements: fftshift, transpose, copies of tiles, fill.

#define SHIFT(NAME, T) \
    kernel void NAME(buffer const T *in, ulong4 li, buffer T *out, ulong4 lo, ulong count, ulong n) { \
        ulong i = get_global_id(0); \
        if (i >= count) return; \
        ulong column = i % n + n / 2; \
        out[at(lo, i - i % n + (column < n ? column : column - n))] = in[at(li, i)]; \
    }

SHIFT(shift_real, float)
SHIFT(shift_complex, float2)

// Square tiles, so that both sides are used along their rows; one item does one element.
#define TILE 8
#define TRANSPOSE(NAME, T, RESULT) \
    kernel void NAME(buffer const T *in, ulong4 li, buffer T *out, ulong4 lo, ulong rows, ulong cols) { \
        group_memory T tile[TILE][TILE + 1]; \
        ulong c0 = get_group_id(0) * TILE, r0 = get_group_id(1) * TILE; \
        size_t i = get_local_id(0), j = get_local_id(1); \
        if (r0 + j < rows && c0 + i < cols) { \
            T x = in[at(li, (r0 + j) * cols + c0 + i)]; \
            tile[j][i] = RESULT; \
        } \
        barrier(CLK_LOCAL_MEM_FENCE); \
        if (c0 + j < cols && r0 + i < rows) out[at(lo, (c0 + j) * rows + r0 + i)] = tile[i][j]; \
    }

TRANSPOSE(transpose_real, float, x)
TRANSPOSE(transpose_complex, float2, x)
TRANSPOSE(transpose_conjugate, float2, conjugate(x))

// `size` units make an element; n units in all.
#define FILL(NAME, T) \
    kernel void NAME(buffer T *out, ulong4 lo, buffer const T *pattern, uint size, ulong n) { \
        ulong i = get_global_id(0); \
        if (i < n) out[at(lo, i)] = pattern[i % size]; \
    }

#define COPY(NAME, T)                                                                                                  \
    kernel void NAME(buffer const T *in, ulong4 li, buffer T *out, ulong4 lo, ulong n) {                               \
        ulong i = get_global_id(0);                                                                                    \
        if (i < n) out[at(lo, i)] = in[at(li, i)];                                                                     \
    }

COPY(copy_bytes, uchar)
COPY(copy_words, uint)
FILL(fill_bytes, uchar)
FILL(fill_words, uint)
