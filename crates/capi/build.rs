//! The name that programs find the shared library by at run time: with the part of the version that promises that they
//! still fit. Before 1.0 that is the minor version too.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let part = |name: &str| std::env::var(name).unwrap_or_default();
    let (major, minor) = (part("CARGO_PKG_VERSION_MAJOR"), part("CARGO_PKG_VERSION_MINOR"));
    let promise = if major == "0" { format!("0.{minor}") } else { major };
    if part("CARGO_CFG_TARGET_OS") == "linux" {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,librimms.so.{promise}");
    }
}
