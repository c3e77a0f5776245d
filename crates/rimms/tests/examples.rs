//! The examples are run, not only compiled.
#![allow(missing_docs, unreachable_pub)]

#[path = "../examples/listing4.rs"]
mod listing4;
#[path = "../examples/user_op.rs"]
mod user_op;

#[test]
fn listing4_runs() {
    listing4::main().unwrap();
}

#[test]
fn user_op_runs() {
    user_op::main().unwrap();
}
