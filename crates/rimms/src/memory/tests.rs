//! Memory under pressure.
