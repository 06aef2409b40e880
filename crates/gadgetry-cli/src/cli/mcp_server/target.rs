//! The name and the target of a server that was typed.

/// Splits the value of `--mcp`: a name, if one is written, and a command line or a URL.
pub(crate) fn name_and_target(text: &str) -> (Option<&str>, &str) {
    let is_in_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match text.split_once('=') {
        Some((name, target)) if !name.is_empty() && name.chars().all(is_in_name) => {
            (Some(name), target)
        }
        Some(_) | None => (None, text),
    }
}

/// Returns whether a server is reached at an address, and not started.
pub(crate) fn is_url(target: &str) -> bool {
    let has = |scheme: &str| {
        let start = target.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    has("http://") || has("https://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_targets() {
        let check = |text: &str, name: Option<&str>, target: &str, url: bool| {
            assert_eq!(name_and_target(text), (name, target), "{text}");
            assert_eq!(is_url(target), url, "{text}");
        };
        check("npx -y server", None, "npx -y server", false);
        check("a_b-1=npx --x=y", Some("a_b-1"), "npx --x=y", false);
        check("server --x=y", None, "server --x=y", false);
        check("./a=b", None, "./a=b", false);
        check("=x", None, "=x", false);
        check("https://h/?a=b", None, "https://h/?a=b", true);
        check("web=HTTP://h/mcp", Some("web"), "HTTP://h/mcp", true);
        check("npx mcp https://h/", None, "npx mcp https://h/", false);
    }
}
