//! rimms-radar
