//! rimms-devmem
