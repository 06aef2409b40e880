//! Text that looks like a marker but is none.

use crate::block::search::Lead;
use crate::block::search::MarkerSearch;
use crate::error::DiagnosticCode;

/// The longest word that is compared with the words of the markers.
pub(crate) const WORD_CAP: usize = 40;

/// Words that models write instead of the start marker's.
const RENAMED: [&str; 13] = [
    "TOOL_START",
    "TOOL_CALL",
    "TOOL_BEGIN",
    "FUNCTION_START",
    "FUNCTION_CALL",
    "GADGET_CALL",
    "GADGET_BEGIN",
    "GADGET",
    "CALL_START",
    "ACTION_START",
    "TOOL",
    "FUNCTION",
    "INVOKE",
];

pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// A run of the lead character and the word behind it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Suspect {
    pub(crate) start: u64,
    pub(crate) run: usize,
    pub(crate) word: String,
}

/// What a run, a word and the byte behind it are.
pub(crate) fn classify(
    search: &MarkerSearch,
    lead: Lead,
    suspect: &Suspect,
    next: Option<u8>,
    in_prose: bool,
) -> Option<(DiagnosticCode, String)> {
    let Suspect { run, word, .. } = suspect;
    if *run < 2 || word.is_empty() || word.len() > WORD_CAP {
        return None;
    }
    let markers = [
        search.markers.start(),
        search.markers.end(),
        search.markers.arg(),
    ];
    for (index, marker) in markers.into_iter().enumerate() {
        let rest = &marker[lead.len..];
        let (own, tail) = rest.split_at(rest.bytes().take_while(|byte| is_word(*byte)).count());
        let tail = tail.bytes().next();
        if own.is_empty() || (tail.is_some() && tail != next) || !same_word(own, word) {
            continue;
        }
        let exact = own == word && *run == lead.len;
        return Some(if exact && index > 0 && in_prose {
            let message = format!("{marker} stands outside any gadget block and is text");
            (DiagnosticCode::StrayMarker, message)
        } else if exact {
            let message = format!("{marker} counts only at the start of a line");
            (DiagnosticCode::NearMiss, message)
        } else {
            let written = written(lead, suspect);
            let message = format!("{written} is no marker and was not executed; write {marker}");
            (DiagnosticCode::NearMiss, message)
        });
    }
    let renamed = *run == lead.len && next == Some(b':') && RENAMED.contains(&word.as_str());
    renamed.then(|| {
        let (written, start) = (written(lead, suspect), search.markers.start());
        let message = format!("{written} is no marker and was not executed; write {start}");
        (DiagnosticCode::NearMiss, message)
    })
}

fn written(lead: Lead, suspect: &Suspect) -> String {
    let lead = char::from(lead.byte).to_string().repeat(suspect.run.min(8));
    format!("{lead}{}", suspect.word)
}

/// Equal but for case, `_` and `-`.
fn same_word(a: &str, b: &str) -> bool {
    let letters = |word: &str| {
        word.bytes()
            .filter(|byte| byte.is_ascii_alphanumeric())
            .map(|byte| byte.to_ascii_uppercase())
            .collect::<Vec<_>>()
    };
    letters(a) == letters(b)
}
