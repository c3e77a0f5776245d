// hete.hpp: owners, fragments by index, guards, events, exceptions, ops of the program's own.
#include <hete.hpp>

#include <cstdio>
#include <cstring>
#include <utility>

using rimms::complex;
using rimms::hete_data;

static int wrong = 0;

static void check_that(bool is_right, const char *what, int line) {
    if (is_right) return;
    wrong++;
    std::printf("WRONG line %d: %s\n", line, what);
}
#define CHECK(condition) check_that((condition), #condition, __LINE__)

// The code of what `f` throws; HETE_OK if it throws nothing. Its message has these words.
template <class F>
static hete_Error thrown(F f, const char *words) {
    try {
        f();
    } catch (const rimms::error &e) {
        if (!std::strstr(e.what(), words)) std::printf("WRONG message: %s\n", e.what()), wrong++;
        return e.code();
    }
    return HETE_OK;
}

static void data_is_owned_and_moved() {
    hete_data<complex> x(64);
    CHECK(x.size() == 64 && x.data() != nullptr);
    for (complex &sample : x.overwrite()) sample = 1.0F;
    const complex *bytes = x.data();
    hete_data<complex> moved(std::move(x));
    CHECK(moved.data() == bytes && x.handle() == nullptr && x.size() == 0);
    CHECK(thrown([&] { (void)x.read(); }, "NULL") == HETE_ERROR_NULL);
    rimms::view<complex> name = moved;
    {
        hete_data<complex> other(8);
        other = std::move(moved); // frees its own
        CHECK(other.data() == bytes && other.read()[63] == complex(1.0F));
        hete_data<complex> *self = &other;
        other = std::move(*self);
        CHECK(other.data() == bytes);
    }
    CHECK(thrown([&] { (void)name.read(); }, "freed") == HETE_ERROR_FREED);
    CHECK(thrown([] { hete_data<double> none(0); }, "at least one") == HETE_ERROR_SHAPE);
    CHECK(thrown([] { hete_data<double> all(static_cast<std::size_t>(-1) / 4); }, "no room") == HETE_ERROR_MEMORY);
}

static void fragments_by_index() {
    hete_data<complex> x(4 * 16), y(4 * 16);
    for (complex &sample : x.overwrite()) sample = 1.0F;
    x.fragment(4);
    y.fragment({16, 48});
    CHECK(x.fragments() == 4 && x[2].size() == 16 && y[1].size() == 48);
    rimms::fft(x[3], y[0]);
    CHECK(y[0].read()[0] == complex(16.0F) && y[0].read().at(1) == complex(0.0F));
    CHECK(thrown([&] { x[4]; }, "there are 4") == HETE_ERROR_INDEX);
    CHECK(thrown([&] { x.fragment(6); }, "do not divide") == HETE_ERROR_SHAPE);
    CHECK(thrown([&] { x.fragment(128); }, "do not divide") == HETE_ERROR_SHAPE); // 512 bytes would
    CHECK(thrown([&] { x.fragment(0); }, "0 fragments") == HETE_ERROR_SHAPE);
    rimms::view<complex> old = x[0];
    x.join();
    CHECK(x.fragments() == 0 && thrown([&] { old.sync(); }, "joined") == HETE_ERROR_FREED);
    CHECK(thrown([&] { rimms::fft(x, y[0]); }, "fft") == HETE_ERROR_SHAPE);
    CHECK(thrown([&] { rimms::copy(x, x); }, "overlap") == HETE_ERROR_OVERLAP);
    bool is_out = false;
    try {
        (void)x.read().at(64);
    } catch (const std::out_of_range &) {
        is_out = true;
    }
    CHECK(is_out);
}

static void tiles() {
    hete_data<float> m(24), twice(6);
    float next = 0.0F;
    for (float &value : m.overwrite()) value = next++;
    m.tile(6, 2, 3);
    CHECK(m.fragments() == 4 && m[1].size() == 6);
    rimms::scale(2.0F, m[3], twice);
    CHECK(twice.read()[0] == 30.0F && twice.read()[5] == 46.0F);
    rimms::zip(ZIP_ADD, m[3], m[3], m[2]);
    const auto rows = m[2].read_rows();
    CHECK(rows.size() == 2 && rows[0].size() == 3 && rows[0][0] == 30.0F && rows[1].at(2) == 46.0F);
    for (auto row : m[0].overwrite_rows()) {
        for (float &value : row) value = -1.0F;
    }
    CHECK(thrown([&] { (void)m[0].read(); }, "read_rows") == HETE_ERROR_SHAPE);
    m.join();
    CHECK(m.read()[0] == -1.0F && m.read()[2] == -1.0F && m.read()[3] == 3.0F && m.read()[12] == 30.0F);
    CHECK(thrown([&] { m.tile(6, 3, 3); }, "do not divide") == HETE_ERROR_SHAPE);
    hete_data<float> turned(24);
    rimms::transpose(4, 6, m, turned);
    CHECK(turned.read()[3] == 42.0F && turned.read()[16] == 4.0F);
}

static void choosing_pes() {
    hete_data<complex> x(64);
    rimms::fill(complex(1.0F), x);
    const std::uint64_t before = rimms_PeCalls(0);
    {
        rimms::on here("cpu0");
        rimms::fft(x, x);
        rimms::on again("cpu");
        rimms::fft(x, x);
    }
    CHECK(rimms_PeCalls(0) >= before + 2);
    CHECK(thrown([] { rimms::on nowhere("gpu7"); }, "gpu7") == HETE_ERROR_UNKNOWN);
}

static void events() {
    hete_data<complex> x(256), y(256);
    rimms::fill(complex(2.0F), x);
    rimms::event done = rimms::fft(rimms::later, x, y);
    rimms::event back = rimms::ifft(rimms::later, y, y);
    back.wait();
    done.wait();
    CHECK(done.is_done() && back.is_done());
    CHECK(std::abs(y.read()[200] - complex(2.0F)) < 1e-5F);
    y.update()[0] = 5.0F;
    rimms::scale(complex(0.0F, 1.0F), y, y);
    CHECK(y.sync()[0] == complex(0.0F, 5.0F));
    CHECK(thrown([] { rimms::event().wait(); }, "never set") == HETE_ERROR_EVENT);
    hete_data<float> real(256);
    hete_data<hete_Peak> peak(1);
    rimms::magnitude(y, real);
    rimms::arg_max(real, peak);
    CHECK(peak.read()[0].index == 0 && peak.read()[0].value == 5.0);
    rimms::fftshift<float>(256, real, hete_data<float>(256));
    hete_data<complex> product(4);
    rimms::gemm(2, 128, 2, x, y, product);
    rimms::finish();
    CHECK(rimms::stats().calls > 0);
}

static void ops_with_captures() {
    int runs = 0;
    float factor = 3.0F;
    rimms::op times("times", {HETE_IN, HETE_OUT}, [&](const rimms::kernel_args &k) {
        const auto x = k.input<float>(0);
        const auto y = k.output<float>(1);
        if (x.size() != y.size()) throw std::runtime_error("sizes differ");
        for (std::size_t i = 0; i < x.size(); ++i) y[i] = factor * x[i];
        ++runs;
    });
    hete_data<float> x(16), y(16), small(8);
    for (float &value : x.overwrite()) value = 2.0F;
    times(x, y);
    times(rimms::later, y, x).wait();
    CHECK(runs == 2 && x.read()[15] == 18.0F);
    CHECK(thrown([&] { times(x, small); }, "sizes differ") == HETE_ERROR_KERNEL);
    CHECK(thrown([&] { times(x); }, "2 operands are wanted") == HETE_ERROR_SHAPE);
    CHECK(thrown([&] { (void)small.read(); }, "sizes differ") == HETE_ERROR_UNINITIALISED);
    rimms::op odd("odd", {HETE_INOUT}, [](const rimms::kernel_args &) { throw 1; });
    CHECK(thrown([&] { odd(x); }, "no std::exception") == HETE_ERROR_KERNEL);
    for (float &value : x.overwrite()) value = 2.0F; // what a failed call was to write is missing
    rimms::op beyond("beyond", {HETE_INOUT}, [](const rimms::kernel_args &k) { (void)k.input<float>(1); });
    CHECK(thrown([&] { beyond(x); }, "operand 1 of 1") == HETE_ERROR_KERNEL);
    rimms::op reads("reads", {HETE_IN}, [](const rimms::kernel_args &k) { (void)k.output<float>(0); });
    for (float &value : y.overwrite()) value = 0.0F;
    CHECK(thrown([&] { reads(y); }, "only read") == HETE_ERROR_KERNEL);
    CHECK(thrown([] { rimms::op none("none", {}, [](const rimms::kernel_args &) {}); }, "no operand") == HETE_ERROR_CONFIG);
}

int main() {
    try {
        CHECK(thrown([] { rimms::set("cores", "2"); }, "cpus") == HETE_ERROR_UNKNOWN);
        rimms::set("cpus", "1");
        data_is_owned_and_moved();
        fragments_by_index();
        tiles();
    choosing_pes();
    events();
        ops_with_captures();
    } catch (const std::exception &e) {
        std::printf("WRONG: %s\n", e.what());
        return 1;
    }
    if (rimms_Shutdown() != HETE_OK) wrong++;
    std::printf("%d wrong\n", wrong);
    return wrong ? 1 : 0;
}
