//! The header that is committed is the one that the sources make.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

/// In the order in which they appear in the header.
const SOURCES: [&str; 9] = ["error", "boundary", "slab", "data", "event", "cedr", "calls", "routes", "user_op"];

#[test]
fn the_header_is_made_from_the_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in SOURCES.into_iter().chain(["control"]) {
        builder = builder.with_src(root.join(format!("src/{source}.rs")));
    }
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    let made = String::from_utf8(made).unwrap();
    let file = root.join("include/hete.h");
    if std::env::var_os("UPDATE_HEADER").is_some() {
        std::fs::write(&file, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    let first = made.lines().zip(committed.lines().chain(std::iter::repeat(""))).enumerate().find(|(_, (a, b))| a != b);
    assert!(
        made == committed,
        "include/hete.h is not what the sources make; UPDATE_HEADER=1 cargo test -p rimms-capi --test header writes it \
         anew. First difference, line {:?}",
        first.map(|(line, (made, committed))| (line + 1, made, committed))
    );
}

#[test]
fn the_version_is_that_of_the_package() {
    use rimms_capi::control::{RIMMS_VERSION_MAJOR, RIMMS_VERSION_MINOR, RIMMS_VERSION_PATCH, rimms_Version};
    let version = format!("{RIMMS_VERSION_MAJOR}.{RIMMS_VERSION_MINOR}.{RIMMS_VERSION_PATCH}");
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
    assert_eq!(rimms_Version(), RIMMS_VERSION_MAJOR << 16 | RIMMS_VERSION_MINOR << 8 | RIMMS_VERSION_PATCH);
}
