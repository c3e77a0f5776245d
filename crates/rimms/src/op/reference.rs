//! op/reference.rs
