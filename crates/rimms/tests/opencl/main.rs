//! OpenCL devices, on every driver that is here.
//!
//! A driver is chosen by the environment, before it is loaded, and some hang when something is wrong. So
//! the tests proper (`suite`, `failures`, `programs`) are run by those here: by each driver, in a process of its own, in limited time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../common/child.rs"]
mod child;
mod driver;
mod failures;
mod overlap;
mod programs;
mod suite;
mod zero_copy;

use driver::Driver;

#[test]
fn pocl_passes_the_suite() {
    Driver::pocl().passes("suite::conformance");
}

#[test]
fn pocl_does_every_op() {
    Driver::pocl_threads().passes("suite::ops");
}

#[test]
fn pocl_transforms_any_length() {
    Driver::pocl().passes("suite::transforms");
}

#[test]
fn pocl_runs_programs() {
    Driver::pocl().passes("programs::");
}

#[test]
fn devices_that_can_wait_for_each_other_run_programs() {
    Driver::pocl_threads_twice().passes("programs::devices");
}

#[test]
fn pocl_copies_out_beside_kernels() {
    Driver::pocl_threads().passes("overlap::");
}

#[test]
fn pocl_copies_nothing_where_memory_is_shared() {
    Driver::pocl().passes("zero_copy::");
}

#[test]
fn devices_that_can_wait_for_each_other_copy_nothing_either() {
    Driver::pocl_threads_twice().passes("zero_copy::");
}

#[test]
fn pocl_survives_mistakes() {
    Driver::pocl().passes("failures::");
}

#[test]
fn rusticl_survives_mistakes() {
    Driver::rusticl().passes("failures::");
}

#[test]
fn rusticl_runs_ops_of_the_users_own() {
    Driver::rusticl().passes("programs::ops");
}

#[test]
fn oclgrind_runs_for_several_threads() {
    Driver::oclgrind().passes("programs::several_threads");
}

#[test]
fn rusticl_passes_the_suite() {
    Driver::rusticl().passes("suite::conformance");
}

#[test]
fn rusticl_does_every_op() {
    Driver::rusticl().passes("suite::ops");
}

#[test]
fn oclgrind_finds_nothing_in_the_kernels() {
    Driver::oclgrind().finds_nothing("suite::small_ops");
}
