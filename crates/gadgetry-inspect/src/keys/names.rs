//! Names of secrets.

use gadgetry_providers::variables::is_secret;

/// Characters of a name of a secret, at most.
const NAME: usize = 64;

/// Parts of names of secrets, without `_` and `-`, in lower case.
const NAMES: [&str; 10] = [
    "accesskey",
    "apikey",
    "authorization",
    "credential",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "secret",
    "signingkey",
];

/// Ends of names of secrets.
const ENDS: [&str; 3] = ["cookie", "pwd", "token"];

/// Returns whether a field, a header or a variable of this name holds a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    if name.len() > NAME {
        return false;
    }
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    let letters: String = letters.map(|c| c.to_ascii_lowercase()).collect();
    NAMES.iter().any(|it| letters.contains(it))
        || ENDS.iter().any(|it| letters.ends_with(it))
        || is_secret(name) && !name.contains(|c: char| c.is_ascii_lowercase())
}
