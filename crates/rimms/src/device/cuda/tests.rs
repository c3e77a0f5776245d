//! Every built-in kernel, and one of the user's with a mistake, in NVIDIA's own compiler: where NVRTC is here.

use super::nvrtc::{Compiler, Form};
use super::program::Family;

/// `None`, and a line, where there is no compiler.
fn compiler(capability: i32) -> Option<Compiler> {
    Compiler::new(capability).inspect_err(|why| println!("left out: {why}")).ok()
}

/// The kernels that launches name.
const KERNELS: [(Family, &[&str]); 4] = [
    (
        Family::Elements,
        &[
            "add_real",
            "sub_real",
            "mul_real",
            "div_real",
            "add_complex",
            "sub_complex",
            "mul_complex",
            "div_complex",
            "conj_mul_complex",
            "scale_real",
            "scale_complex",
            "magnitude",
            "bpsk",
            "qam16",
        ],
    ),
    (
        Family::Rows,
        &[
            "shift_real",
            "shift_complex",
            "transpose_real",
            "transpose_complex",
            "transpose_conjugate",
            "copy_bytes",
            "copy_words",
            "fill_bytes",
            "fill_words",
        ],
    ),
    (Family::Sums, &["gemm_real", "gemm_complex", "convolve_real", "convolve_complex"]),
    (Family::ArgMax, &["arg_max_parts", "arg_max"]),
];

#[test]
fn every_kernel_becomes_ptx_for_old_devices_and_new_ones() {
    // The newest that is known is taken for one that is newer.
    for capability in [75, 90, 999] {
        let Some(compiler) = compiler(capability) else { return };
        for ((family, name), (of, kernels)) in Family::BUILT_IN.into_iter().zip(KERNELS) {
            assert_eq!(family, of);
            let ptx = compiler.compile(name, family.source(), Form::Ptx).unwrap_or_else(|why| panic!("{name}: {why}"));
            let ptx = String::from_utf8(ptx).unwrap();
            for kernel in kernels {
                assert!(ptx.contains(&format!(".entry {kernel}(")), "{name} has no {kernel}");
            }
            // For a driver that does not know that PTX: a device's own code, which is an ELF file.
            let code =
                compiler.compile(name, family.source(), Form::Code).unwrap_or_else(|why| panic!("{name}: {why}"));
            assert!(code.starts_with(b"\x7fELF"), "{name}");
            assert_eq!(ptx.matches(".entry ").count(), kernels.len(), "{name} has kernels that nobody launches");
        }
        println!("{}", compiler.about);
    }
}

#[test]
fn what_the_compiler_says_names_the_line() {
    let Some(compiler) = compiler(80) else { return };
    let error = compiler
        .compile("mine.cu", "extern \"C\" __global__ void mine(float *x) {\n    y[0] = 1;\n}", Form::Ptx)
        .unwrap_err();
    assert!(error.contains("mine.cu(2)") && error.contains("\"y\" is undefined"), "{error}");
}

#[test]
fn a_device_that_is_too_old_is_told_so() {
    if compiler(999).is_some() {
        let why = Compiler::new(10).unwrap_err();
        assert!(why.contains("this is 10"), "{why}");
    }
}
