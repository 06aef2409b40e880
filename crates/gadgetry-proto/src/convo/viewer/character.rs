//! Mode character: a window over the whole text.

use crate::convo::shape::CHUNK;
use crate::convo::viewer::ViewRequest;
use crate::convo::viewer::range::Limit;

pub(super) fn view(
    content: &str,
    request: &ViewRequest,
    max_chars: usize,
) -> Result<String, String> {
    if !request.patterns.is_empty() {
        return Err("patterns are only supported in mode \"line\". \
                    Remove patterns or switch back to mode: \"line\"."
            .to_owned());
    }
    let limit = Limit::parse(request.limit.as_deref())?;
    let total = content.chars().count();
    if total == 0 {
        return Ok("[Mode: character | Output is empty]".to_owned());
    }
    let (asked_skip, asked_end) = limit.of(total);
    if asked_skip == total {
        let last = total.saturating_sub(CHUNK) + 1;
        return Ok(format!(
            "[Mode: character | Showing chars 0-0 of {total}]\n\
             [The limit begins past the end. Last chunk: mode: \"character\", limit: \"{last}-{total}\"]"
        ));
    }
    let room = max_chars.max(1);
    // Of the last characters, the very last ones are wanted most.
    let skip = match limit {
        Limit::Last(_) => asked_skip.max(total.saturating_sub(room)),
        Limit::All | Limit::First(_) | Limit::Range(..) => asked_skip,
    };
    let end = asked_end.min(skip.saturating_add(room));
    let cut = if skip > asked_skip || end < asked_end {
        " (truncated due to viewer size limit)"
    } else {
        ""
    };
    let next = if end < total {
        let next_end = (end + CHUNK).min(total);
        format!(
            "[Next chunk: mode: \"character\", limit: \"{}-{next_end}\"]\n",
            end + 1
        )
    } else if skip > asked_skip {
        let first = asked_skip.max(skip.saturating_sub(CHUNK)) + 1;
        format!("[Chunk before: mode: \"character\", limit: \"{first}-{skip}\"]\n")
    } else {
        String::new()
    };
    let first = skip + 1;
    let shown = chars(content, skip, end);
    Ok(format!(
        "[Mode: character | Showing chars {first}-{end} of {total}{cut}]\n{next}{shown}"
    ))
}

/// The characters after the first `skip` ones, up to the `end`th.
fn chars(content: &str, skip: usize, end: usize) -> &str {
    let mut starts = content.char_indices().map(|(at, _)| at).skip(skip);
    let from = starts.next().unwrap_or(content.len());
    let to = starts.nth(end - skip - 1).unwrap_or(content.len());
    &content[from..to]
}
