//! The `rimms` command.
fn main() {}
