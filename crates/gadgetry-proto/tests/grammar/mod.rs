//! The grammar of replies, next to the parser, the writer and the check of schemas.

mod classes;
mod forms;
mod shared;
