// Matrix products and convolutions.

float real_times(float x, float y) {
    return x * y;
}

// One item does a column of four elements: what it reads of b serves four times.
#define GEMM(NAME, T, ZERO, TIMES) \
    kernel void NAME(buffer const T *a, ulong4 la, buffer const T *b, ulong4 lb, buffer T *c, ulong4 lc, ulong rows, \
                     ulong inner, ulong cols) { \
        ulong col = get_global_id(0), row = get_global_id(1) * 4; \
        if (col >= cols) return; \
        T sum[4] = {ZERO, ZERO, ZERO, ZERO}; \
        ulong there = min(rows - row, (ulong)4); \
        for (ulong k = 0; k < inner; k++) { \
            T y = b[at(lb, k * cols + col)]; \
            for (ulong i = 0; i < there; i++) sum[i] += TIMES(a[at(la, (row + i) * inner + k)], y); \
        } \
        for (ulong i = 0; i < there; i++) c[at(lc, (row + i) * cols + col)] = sum[i]; \
    }

GEMM(gemm_real, float, 0.0f, real_times)
GEMM(gemm_complex, float2, pair(0.0f, 0.0f), times)

// Beyond the edges there are zeros.
#define CONVOLVE(NAME, T, ZERO, TIMES) \
    kernel void NAME(buffer const T *x, ulong4 lx, buffer const T *mask, ulong4 lm, buffer T *out, ulong4 lo, \
                     long rows, long cols, long mask_rows, long mask_cols) { \
        long place = get_global_id(0); \
        if (place >= rows * cols) return; \
        long r0 = place / cols - mask_rows / 2, c0 = place % cols - mask_cols / 2; \
        T sum = ZERO; \
        for (long i = 0; i < mask_rows; i++) { \
            if (r0 + i < 0 || r0 + i >= rows) continue; \
            for (long j = 0; j < mask_cols; j++) { \
                if (c0 + j < 0 || c0 + j >= cols) continue; \
                sum += TIMES(mask[at(lm, i * mask_cols + j)], x[at(lx, (r0 + i) * cols + c0 + j)]); \
            } \
        } \
        out[at(lo, place)] = sum; \
    }

CONVOLVE(convolve_real, float, 0.0f, real_times)
CONVOLVE(convolve_complex, float2, pair(0.0f, 0.0f), times)
