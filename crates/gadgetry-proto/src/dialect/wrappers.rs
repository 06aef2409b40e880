//! Texts that wrap calls; the text around them goes without them.

/// Wrappers around forms, which are not a part of the text.
const WRAPPERS: [&str; 18] = [
    "<tool_call>",
    "</tool_call>",
    "<tool_calls>",
    "</tool_calls>",
    "<function_calls>",
    "</function_calls>",
    "<ant\u{6d}l:function_calls>",
    "</ant\u{6d}l:function_calls>",
    "<|eom_id|>",
    "<|eot_id|>",
    "<|im_end|>",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<｜end▁of▁sentence｜>",
    "<|call|>",
    "<end_of_turn>",
];
/// The beginnings of tags in the markup of `DeepSeek`.
const DSML: [&str; 4] = ["<｜DSML｜", "</｜DSML｜", "<|DSML|", "</|DSML|"];

/// Returns `true` if a text is the beginning of a wrapper.
pub(super) fn begins_wrapper(text: &str) -> bool {
    let is_begun = |whole: &str| whole.starts_with(text);
    WRAPPERS.into_iter().any(is_begun)
        || DSML
            .into_iter()
            .any(|tag| is_begun(tag) || text.starts_with(tag))
}

/// Returns the text before the blanks and wrappers at its end.
pub(super) fn before_wrappers(mut text: &str) -> &str {
    loop {
        text = text.trim_end();
        if !text.ends_with('>') {
            return text;
        }
        let tag = &text[text.rfind('<').unwrap_or_default()..];
        if !unwrapped(tag).is_empty() {
            return text;
        }
        text = &text[..text.len() - tag.len()];
    }
}

/// Text without wrappers of calls.
pub(super) fn unwrapped(text: &str) -> String {
    let parts = split_wrappers(text).into_iter();
    parts
        .filter_map(|(part, is_wrapper)| (!is_wrapper).then_some(part))
        .collect()
}

/// The parts of a text, and whether each is a wrapper of calls.
pub(super) fn split_wrappers(text: &str) -> Vec<(&str, bool)> {
    let mut parts = Vec::new();
    let (mut done, mut at) = (0, 0);
    while let Some(found) = memchr::memchr(b'<', &text.as_bytes()[at..]) {
        let start = at + found;
        at = start + 1;
        if let Some(length) = wrapper(&text[start..]) {
            parts.push((&text[done..start], false));
            at = start + length;
            parts.push((&text[start..at], true));
            done = at;
        }
    }
    parts.push((&text[done..], false));
    parts.retain(|(part, _)| !part.is_empty());
    parts
}

/// The length of the wrapper that a text begins with.
fn wrapper(text: &str) -> Option<usize> {
    let plain = WRAPPERS.into_iter().find(|it| text.starts_with(it));
    let tag = || {
        let tag = DSML.into_iter().find(|it| text.starts_with(it))?;
        let rest = &text[tag.len()..];
        let mut names = ["function_calls>", "tool_calls>", " calls>"].into_iter();
        let name = names.find(|it| rest.starts_with(it))?;
        Some(tag.len() + name.len())
    };
    plain.map(str::len).or_else(tag)
}
