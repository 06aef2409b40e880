//! The grammar of replies, next to the parser, the writer and the check of schemas.

mod bfcl;
mod classes;
mod engines;
mod forms;
mod shared;
mod small;
mod written;
