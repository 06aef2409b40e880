//! Messages to runs.
