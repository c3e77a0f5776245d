//! rimms
