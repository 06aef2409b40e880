//! Globs of models and of ignore files. The library parses and compiles them recursively, without a limit of its own.

use gadgetry::GadgetError;
use globset::{GlobBuilder, GlobMatcher};

/// Bytes of a glob, as of a path.
const LENGTH_LIMIT: usize = 4096;

/// Braces that open alternatives, wherever they are. Counting all of them needs no knowledge of escapes and classes.
const BRACES_LIMIT: usize = 64;

/// Rules of one file, well above what a repository has. They are compiled at every walk.
const RULES_LIMIT: usize = 5000;

/// Compiles a glob. Without `/` it matches the name of a file in any folder.
pub(crate) fn matcher(text: &str) -> Result<GlobMatcher, GadgetError> {
    let invalid =
        |problem: &dyn std::fmt::Display| GadgetError::new(format_args!("invalid glob: {problem}"));
    if !is_small(text) {
        return Err(invalid(&format_args!(
            "it has more than {LENGTH_LIMIT} bytes or {BRACES_LIMIT} braces"
        )));
    }
    let anywhere = if text.contains('/') { "" } else { "**/" };
    let glob = GlobBuilder::new(&format!("{anywhere}{text}"))
        .literal_separator(true)
        .build();
    Ok(glob.map_err(|error| invalid(&error))?.compile_matcher())
}

/// The lines of an ignore file that can be compiled.
pub(crate) fn rules(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| is_small(line)).take(RULES_LIMIT)
}

fn is_small(glob: &str) -> bool {
    let braces = glob.bytes().filter(|byte| *byte == b'{').count();
    glob.len() <= LENGTH_LIMIT && braces <= BRACES_LIMIT
}

#[cfg(test)]
mod tests {
    use ignore::gitignore::GitignoreBuilder;

    use super::*;

    #[test]
    fn no_glob_aborts() {
        let nested = |depth| format!("{}a{}", "{".repeat(depth), "}".repeat(depth));
        let check = |text: &str, expected: Option<&str>| {
            let found = matcher(text).err().map(|error| error.to_string());
            let found = found.as_deref();
            let shown = &text[..text.len().min(40)];
            match expected {
                None => assert_eq!(found, None, "{shown}"),
                Some(part) => assert!(found.is_some_and(|it| it.contains(part)), "{shown}"),
            }
            // Whatever a line is, an ignore file with it is read.
            let mut builder = GitignoreBuilder::new("");
            for line in rules(text) {
                let _ = builder.add_line(None, line);
            }
            let _ = builder.build();
        };
        let large = "it has more than 4096 bytes or 64 braces";
        for depth in [1, 2, 16, 64] {
            check(&nested(depth), None);
        }
        for depth in [65, 100, 1000, 2048, 10_000, 20_000, 1_000_000] {
            check(&nested(depth), Some(large));
            check(&"{".repeat(depth), Some(large));
            check(&nested(depth).replace('{', "{[}]"), Some(large));
        }
        check("a{b", Some("unclosed"));
        check("[a", Some("unclosed"));
        // The largest of every kind of token is compiled.
        for token in [
            "?",
            "*",
            "**/",
            "*a",
            "[!a]",
            "[a-z]",
            "é",
            "[!é]",
            "[é-\u{10ffff}]",
            "\\a",
            "(",
            "[^]]",
            "[a",
        ] {
            let text = token.repeat((LENGTH_LIMIT - 4) / token.len());
            check(&text, (token == "[a").then_some("unclosed"));
        }
        let alternatives = vec!["[!a]*?"; 500].join(",");
        check(&format!("{{{alternatives}}}"), None);
        check(&format!("{{{}}}", vec!["{a,b*}"; 63].join(",")), None);
        check(&"{a,b?}".repeat(64), None);
        check(&"a".repeat(LENGTH_LIMIT + 1), Some(large));
    }

    #[test]
    fn a_hostile_ignore_file_keeps_its_other_rules() {
        let text = format!(
            "{}\n*.log\n{}",
            "{".repeat(20_000),
            "a?\n".repeat(RULES_LIMIT)
        );
        let mut kept = rules(&text);
        assert_eq!(kept.next(), Some("*.log"));
        assert_eq!(kept.count(), RULES_LIMIT - 1);
    }

    #[test]
    fn names_and_paths_match() {
        for (glob, path, expected) in [
            ("*.rs", "src/a.rs", true),
            ("*.{rs,ts}", "src/a.ts", true),
            ("src/*.rs", "src/b/a.rs", false),
            ("src/**/*.rs", "src/b/a.rs", true),
        ] {
            assert_eq!(matcher(glob).unwrap().is_match(path), expected, "{glob}");
        }
    }
}
