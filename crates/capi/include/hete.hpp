/*
 * rimms in C++17: hete.h with types, owners and exceptions. Header only.
 *
 *   rimms::hete_data<rimms::complex> x(64 * 256), y(64 * 256);   // hete_Malloc; hete_Free at the end of the scope
 *   for (auto &sample : x.overwrite()) sample = 1.0F;            // the program writes all of it: nothing is copied in
 *   x.fragment(64);
 *   y.fragment(64);
 *   for (std::size_t i = 0; i < 64; ++i) rimms::fft(x[i], y[i]); // the i-th fragment
 *   float re = y.read()[0].real();                               // the newest elements
 *
 * What fails throws rimms::error, which has the code and the message of hete.h. Calls return when they are done; given
 * rimms::later they return an event when they are accepted.
 */
#ifndef HETE_HPP
#define HETE_HPP

#include "hete.h"

#include <complex>
#include <cstddef>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace rimms {

using complex = std::complex<float>;

/// What went wrong: hete.h's code and message.
class error : public std::runtime_error {
  public:
    error(hete_Error code, const char *message) : std::runtime_error(message), code_(code) {}
    /// The code.
    hete_Error code() const noexcept { return code_; }
    /// Its name, such as HETE_ERROR_SHAPE.
    const char *name() const noexcept { return hete_ErrorName(code_); }

  private:
    hete_Error code_;
};

/// Throws unless the call succeeded.
inline void check(hete_Error code) {
    if (code != HETE_OK) throw error(code, hete_LastErrorMessage());
}

/// Throws what went wrong last in this thread.
[[noreturn]] inline void fail() { throw error(hete_LastError(), hete_LastErrorMessage()); }

/// Elements in the host's memory, as `read`, `update` and `overwrite` lend them: until the data is next handed to a call
/// that writes it (of what `read` lent), or to any call.
template <class T>
class span {
  public:
    span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    /// What may be written may be read.
    template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
    span(const span<U> &other) noexcept : data_(other.data()), size_(other.size()) {}
    T *begin() const noexcept { return data_; }
    T *end() const noexcept { return data_ + size_; }
    T *data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    T &operator[](std::size_t i) const noexcept { return data_[i]; }
    /// The same, which throws beyond the end.
    T &at(std::size_t i) const {
        if (i >= size_) throw std::out_of_range("element " + std::to_string(i) + " of " + std::to_string(size_));
        return data_[i];
    }

  private:
    T *data_;
    std::size_t size_;
};

/// Data, or a fragment of it: a name, which owns nothing. Once its data was freed, divided anew or joined, its use throws.
template <class T>
class view {
    static_assert(std::is_trivially_copyable_v<T>, "elements are moved as bytes");

  public:
    explicit view(hete_Data *handle) noexcept
        : handle_(handle), data_(handle ? static_cast<T *>(handle->data) : nullptr),
          size_(handle ? handle->size / sizeof(T) : 0) {}

    /// The handle, for hete.h.
    hete_Data *handle() const noexcept { return handle_; }
    /// Elements.
    std::size_t size() const noexcept { return size_; }
    /// Where they are in the host's memory: see `sync`.
    T *data() const noexcept { return data_; }

    /// Divides into `n` fragments of equal size.
    void fragment(std::size_t n) {
        // What divides into bytes may still not divide into elements.
        if (n != 0 && size() % n != 0) {
            const std::string why = std::to_string(size()) + " elements do not divide into " + std::to_string(n);
            throw error(HETE_ERROR_SHAPE, why.c_str());
        }
        check(hete_Fragment(handle_, n));
    }
    /// Divides into fragments of these numbers of elements.
    void fragment(std::initializer_list<std::size_t> sizes) {
        std::vector<std::size_t> bytes;
        for (std::size_t size : sizes) bytes.push_back(size * sizeof(T));
        check(hete_FragmentSizes(handle_, bytes.data(), bytes.size()));
    }
    /// Divides a matrix, whose rows are of `columns` elements, into tiles of `height` × `width`, row after row.
    void tile(std::size_t columns, std::size_t height, std::size_t width) {
        check(hete_Tile(handle_, sizeof(T), columns, height, width));
    }
    /// Makes it whole again.
    void join() { check(hete_Join(handle_)); }
    /// How many fragments there are; 0 while it is not divided.
    std::size_t fragments() const { return hete_FragmentCount(handle_); }
    /// The i-th fragment.
    view operator[](std::size_t i) const {
        hete_Data *fragment = hete_Index(handle_, i);
        if (!fragment) fail();
        return view(fragment);
    }

    /// The newest elements, to be read. Not of a tile, whose rows do not follow each other: `read_rows`.
    [[nodiscard]] span<const T> read() const {
        check(hete_Read(handle_));
        return whole();
    }
    /// The newest elements, to be read and written.
    [[nodiscard]] span<T> update() const {
        check(hete_Update(handle_));
        return whole();
    }
    /// All elements, to be written: what was there before is lost.
    [[nodiscard]] span<T> overwrite() const {
        check(hete_Write(handle_));
        return whole();
    }
    /// The paper's hete_Sync: the newest elements, to be read and written until a call writes them.
    span<T> sync() const {
        check(hete_Sync(handle_));
        return whole();
    }
    /// The same row by row, for tiles and any other data.
    [[nodiscard]] std::vector<span<const T>> read_rows() const {
        check(hete_Read(handle_));
        return rows<const T>();
    }
    [[nodiscard]] std::vector<span<T>> update_rows() const {
        check(hete_Update(handle_));
        return rows<T>();
    }
    [[nodiscard]] std::vector<span<T>> overwrite_rows() const {
        check(hete_Write(handle_));
        return rows<T>();
    }

    /// The resource that wrote last; −1 where nobody has, or the fragments differ.
    int last_resource() const { return hete_LastResource(handle_); }
    /// The resources with the newest bytes, a bit each.
    std::uint64_t valid_set() const { return hete_ValidSet(handle_); }

  private:
    span<T> whole() const {
        if (hete_RowCount(handle_) != 1) {
            throw error(HETE_ERROR_SHAPE, "this is a tile, whose rows do not follow each other: read_rows has them");
        }
        return {data_, size_};
    }
    template <class U>
    std::vector<span<U>> rows() const {
        const std::size_t count = hete_RowCount(handle_), pitch = hete_Pitch(handle_) / sizeof(T);
        if (count == 0) fail();
        std::vector<span<U>> all;
        for (std::size_t r = 0; r < count; ++r) all.emplace_back(data_ + r * pitch, size_ / count);
        return all;
    }

    hete_Data *handle_;
    // As they were: what the handle points to is not looked at again, since it may have been freed.
    T *data_;
    std::size_t size_;
};

/// Data of `T`, allocated once, freed at the end.
template <class T>
class hete_data : public view<T> {
  public:
    /// `n` elements.
    explicit hete_data(std::size_t n) : view<T>(allocate(n)) {}
    hete_data(hete_data &&other) noexcept : view<T>(other.handle()) { other.forget(); }
    hete_data &operator=(hete_data &&other) noexcept {
        if (this != &other) {
            hete_Free(this->handle());
            view<T>::operator=(other);
            other.forget();
        }
        return *this;
    }
    hete_data(const hete_data &) = delete;
    hete_data &operator=(const hete_data &) = delete;
    ~hete_data() { hete_Free(this->handle()); }

  private:
    static hete_Data *allocate(std::size_t n) {
        const std::size_t most = static_cast<std::size_t>(-1);
        hete_Data *handle = hete_Malloc(n > most / sizeof(T) ? most : n * sizeof(T));
        if (!handle) fail();
        return handle;
    }
    void forget() noexcept { view<T>::operator=(view<T>(nullptr)); }
};

/// A call that was accepted.
class event {
  public:
    event() noexcept : event_{} {}
    /// Returns when it is done; throws what became of it.
    void wait() const { check(hete_Wait(event_)); }
    /// Is it done?
    bool is_done() const {
        const int answer = hete_IsDone(event_);
        if (answer < 0) fail();
        return answer == 1;
    }
    hete_Event *place() noexcept { return &event_; }

  private:
    hete_Event event_;
};

/// Said as the first argument of a call: do not wait.
struct later_t {};
inline constexpr later_t later{};

namespace detail {
template <class T>
struct element;
template <>
struct element<float> {
    static constexpr int type = HETE_REAL;
};
template <>
struct element<complex> {
    static constexpr int type = HETE_COMPLEX;
};
/// Calls `function_nb` for its event.
template <class F, class... A>
event accepted(F function, A... arguments) {
    event e;
    check(function(arguments..., e.place()));
    return e;
}
} // namespace detail

/// y = FFT(x), over the whole length; of each row of `n` where that is given. y may be x.
inline void fft(view<complex> x, view<complex> y) { check(CEDR_FFT_flt(x.handle(), y.handle(), x.size(), true)); }
inline void fft(view<complex> x, view<complex> y, std::size_t n) {
    check(CEDR_FFT_flt(x.handle(), y.handle(), n, true));
}
inline event fft(later_t, view<complex> x, view<complex> y) {
    return detail::accepted(CEDR_FFT_flt_nb, x.handle(), y.handle(), x.size(), true);
}
inline event fft(later_t, view<complex> x, view<complex> y, std::size_t n) {
    return detail::accepted(CEDR_FFT_flt_nb, x.handle(), y.handle(), n, true);
}
/// The same backwards, divided by the length.
inline void ifft(view<complex> x, view<complex> y) { check(CEDR_FFT_flt(x.handle(), y.handle(), x.size(), false)); }
inline void ifft(view<complex> x, view<complex> y, std::size_t n) {
    check(CEDR_FFT_flt(x.handle(), y.handle(), n, false));
}
inline event ifft(later_t, view<complex> x, view<complex> y) {
    return detail::accepted(CEDR_FFT_flt_nb, x.handle(), y.handle(), x.size(), false);
}
inline event ifft(later_t, view<complex> x, view<complex> y, std::size_t n) {
    return detail::accepted(CEDR_FFT_flt_nb, x.handle(), y.handle(), n, false);
}
/// y = a ∘ b, element by element, real or complex; b may be one row for all of a's.
template <class T>
void zip(hete_ZipOp op, view<T> a, view<T> b, view<T> y) {
    check(hete_Zip(a.handle(), b.handle(), y.handle(), a.size(), op, detail::element<T>::type));
}
template <class T>
event zip(later_t, hete_ZipOp op, view<T> a, view<T> b, view<T> y) {
    const int type = detail::element<T>::type;
    return detail::accepted(hete_Zip_nb, a.handle(), b.handle(), y.handle(), a.size(), op, type);
}
/// c = a · b, for a of rows × inner and b of inner × cols.
template <class T>
void gemm(std::size_t rows, std::size_t inner, std::size_t cols, view<T> a, view<T> b, view<T> c) {
    check(hete_Gemm(a.handle(), b.handle(), c.handle(), rows, inner, cols, detail::element<T>::type));
}
template <class T>
event gemm(later_t, std::size_t rows, std::size_t inner, std::size_t cols, view<T> a, view<T> b, view<T> c) {
    const int type = detail::element<T>::type;
    return detail::accepted(hete_Gemm_nb, a.handle(), b.handle(), c.handle(), rows, inner, cols, type);
}
/// The corner turn of rows × cols.
template <class T>
void transpose(std::size_t rows, std::size_t cols, view<T> x, view<T> y) {
    check(hete_Transpose(x.handle(), y.handle(), rows, cols, detail::element<T>::type));
}
template <class T>
event transpose(later_t, std::size_t rows, std::size_t cols, view<T> x, view<T> y) {
    const int type = detail::element<T>::type;
    return detail::accepted(hete_Transpose_nb, x.handle(), y.handle(), rows, cols, type);
}
/// Each row of n turned, so that frequency 0 comes to the middle.
template <class T>
void fftshift(std::size_t n, view<T> x, view<T> y) {
    check(hete_FftShift(x.handle(), y.handle(), n, detail::element<T>::type));
}
/// y = factor · x; y may be x.
inline void scale(complex factor, view<complex> x, view<complex> y) {
    check(hete_Scale(x.handle(), y.handle(), factor.real(), factor.imag(), HETE_COMPLEX));
}
inline void scale(float factor, view<float> x, view<float> y) {
    check(hete_Scale(x.handle(), y.handle(), factor, 0.0F, HETE_REAL));
}
/// y = |x|
inline void magnitude(view<complex> x, view<float> y) { check(hete_Magnitude(x.handle(), y.handle(), x.size())); }
/// Where the largest of x is.
inline void arg_max(view<float> x, view<hete_Peak> peak) { check(hete_ArgMax(x.handle(), peak.handle(), x.size())); }
/// y = x
template <class T>
void copy(view<T> x, view<T> y) {
    check(hete_Copy(x.handle(), y.handle()));
}
/// y[i] = value
template <class T>
void fill(const T &value, view<T> y) {
    check(hete_Fill(y.handle(), &value, sizeof(T)));
}
/// As long as it is there, this thread's calls go to these PEs only: `rimms::on here("acc0");`
class on {
  public:
    explicit on(const std::string &pes) : before_(current()) {
        check(hete_On(pes.c_str()));
        current() = pes;
    }
    on(const on &) = delete;
    on &operator=(const on &) = delete;
    ~on() {
        hete_On(before_.empty() ? nullptr : before_.c_str());
        current() = before_;
    }

  private:
    static std::string &current() {
        static thread_local std::string pes;
        return pes;
    }
    std::string before_;
};

/// Waits for all calls that were accepted.
inline void finish() { check(hete_Finish()); }
/// A setting, before the runtime starts.
inline void set(const std::string &name, const std::string &value) { check(rimms_Set(name.c_str(), value.c_str())); }
/// What was counted.
inline rimms_Stats stats() {
    rimms_Stats stats{};
    check(rimms_GetStats(&stats, sizeof stats));
    return stats;
}

/// What a kernel is given.
class kernel_args {
  public:
    kernel_args(const hete_Operand *operands, std::size_t count) noexcept : operands_(operands), count_(count) {}
    std::size_t count() const noexcept { return count_; }
    /// Operand i, which the kernel reads.
    template <class T>
    span<const T> input(std::size_t i) const {
        const hete_Operand &o = operand(i);
        return {static_cast<const T *>(o.data), o.size / sizeof(T)};
    }
    /// Operand i, which the kernel writes.
    template <class T>
    span<T> output(std::size_t i) const {
        const hete_Operand &o = operand(i);
        if (o.role == HETE_IN) throw std::invalid_argument("operand " + std::to_string(i) + " is only read");
        return {static_cast<T *>(o.data), o.size / sizeof(T)};
    }

  private:
    const hete_Operand &operand(std::size_t i) const {
        if (i >= count_) throw std::out_of_range("operand " + std::to_string(i) + " of " + std::to_string(count_));
        return operands_[i];
    }
    const hete_Operand *operands_;
    std::size_t count_;
};

/// An op of the program's own. What its kernel throws is the error of the call. To be kept until its calls are done.
class op {
  public:
    using kernel = std::function<void(const kernel_args &)>;

    op(const std::string &name, std::initializer_list<hete_Role> roles, kernel function,
       int places = HETE_ON_CPU | HETE_ON_SIM)
        : kernel_(std::make_unique<kernel>(std::move(function))), op_{} {
        const std::vector<int> numbers(roles.begin(), roles.end());
        check(hete_OpCreate(name.c_str(), numbers.data(), numbers.size(), places, run, kernel_.get(), &op_));
    }
    op(const op &) = delete;
    op &operator=(const op &) = delete;
    /// Waits for calls that were accepted.
    ~op() {
        hete_Finish();
        hete_OpDestroy(op_);
    }
    /// Calls it on these operands.
    template <class... V>
    void operator()(const V &...operands) const {
        hete_Data *handles[] = {operands.handle()...};
        check(hete_Call(op_, handles, sizeof...(V), nullptr, 0));
    }
    template <class... V>
    event operator()(later_t, const V &...operands) const {
        hete_Data *handles[] = {operands.handle()...};
        event e;
        check(hete_Call_nb(op_, handles, sizeof...(V), nullptr, 0, e.place()));
        return e;
    }

  private:
    static int run(const hete_Operand *operands, std::size_t count, const void *, std::size_t, void *user) noexcept {
        try {
            (*static_cast<kernel *>(user))(kernel_args(operands, count));
            return 0;
        } catch (const std::exception &e) {
            hete_KernelFailed(e.what());
        } catch (...) {
            hete_KernelFailed("the kernel threw something that is no std::exception");
        }
        return 1;
    }
    std::unique_ptr<kernel> kernel_;
    hete_Op op_;
};

} // namespace rimms

#endif
