//! Texts of errors.

/// Implements `Display` and `Error` by patterns of the type and their texts.
///
/// It takes the place of thiserror where the parser needs no more, so that a program with the parser alone compiles two crates
/// less.
macro_rules! messages {
    ($type:ty { $($pattern:pat => $text:tt $(, $value:expr)*;)+ }) => {
        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self {
                    $($pattern => ::std::write!(f, $text $(, $value)*),)+
                }
            }
        }

        impl ::std::error::Error for $type {}
    };
}
