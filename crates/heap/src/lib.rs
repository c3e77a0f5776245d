//! rimms-heap
