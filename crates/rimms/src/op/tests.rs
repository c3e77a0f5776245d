//! op/tests.rs
