//! Text that looks like a marker but is not one.

use crate::block::chars::is_word;
use crate::block::chars::run_len;
use crate::block::search::Lead;
use crate::block::search::MarkerSearch;
use crate::error::{Diagnostic, DiagnosticCode, Span};
use crate::limits::{Limit, LimitExceeded, Limits};

/// The longest word that is compared with the words of the markers.
const WORD_CAP: usize = 40;

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

/// The words of the markers that [`Markers::nonce`](crate::block::Markers::nonce) makes.
const NAMES: [&str; 3] = ["GADGET_START", "GADGET_END", "ARG"];

/// A run of the lead character and the word after it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Suspect {
    pub(crate) start: u64,
    pub(crate) run: usize,
    pub(crate) word: String,
}

impl Suspect {
    pub(crate) fn at(start: u64) -> Self {
        Self {
            start,
            ..Self::default()
        }
    }

    /// Takes what of the text still belongs to the run and its word, and says how much that is.
    pub(crate) fn extend(&mut self, text: &[u8], lead: Lead) -> usize {
        let run = if self.word.is_empty() {
            run_len(text, 0, lead.byte)
        } else {
            0
        };
        self.run += run;
        if self.run < 2 {
            return run;
        }
        let mut end = run;
        while let Some(byte) = text.get(end).filter(|byte| self.admits(**byte, lead)) {
            if self.word.len() <= WORD_CAP {
                self.word.push(char::from(*byte));
            }
            end += 1;
        }
        end
    }

    /// Returns `true` if the word may have this byte next. Where markers have a nonce, it is `GADGET_START option client`: up to two blanks after
    /// the word of a marker, each followed by small letters.
    fn admits(&self, byte: u8, lead: Lead) -> bool {
        match self.word.split_once(' ') {
            None if byte == b' ' => {
                lead.has_words && NAMES.iter().any(|name| same_word(name, &self.word))
            }
            None => is_word(byte),
            Some((_, words)) if byte == b' ' => !words.is_empty() && !words.contains(' '),
            Some(_) => byte.is_ascii_lowercase(),
        }
    }

    pub(crate) fn span(&self) -> Span {
        let end = self.start + (self.run + self.word.len()) as u64;
        Span {
            start: self.start,
            end,
        }
    }
}

/// The number of diagnostics about near misses and stray markers in a reply, the one that says that they are too many
/// included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub(crate) struct MissCount {
    misses: usize,
    /// Diagnostics about anything else.
    others: usize,
}

impl MissCount {
    /// Returns the number of near misses that may still be reported.
    pub(crate) fn room(self, limits: &Limits) -> usize {
        limits
            .near_misses
            .saturating_add(1)
            .saturating_sub(self.misses)
    }

    /// Counts one more. The first beyond the cap becomes one that says so. Near misses and stray markers have a cap of
    /// their own.
    pub(crate) fn admit(&mut self, diagnostic: Diagnostic, limits: &Limits) -> Option<Diagnostic> {
        let is_miss = matches!(
            diagnostic.code,
            DiagnosticCode::NearMiss
                | DiagnosticCode::StrayMarker
                | DiagnosticCode::StrayReasoningEnd
        );
        let (count, what, limit) = if is_miss {
            (&mut self.misses, Limit::NearMisses, limits.near_misses)
        } else {
            (&mut self.others, Limit::Diagnostics, limits.diagnostics)
        };
        if *count > limit {
            return None;
        }
        *count += 1;
        if *count <= limit {
            return Some(diagnostic);
        }
        let exceeded = LimitExceeded { what, limit };
        Some(Diagnostic {
            code: DiagnosticCode::LimitExceeded,
            message: exceeded.to_string(),
            span: diagnostic.span,
        })
    }
}

/// Returns the diagnostic for a run, its word and the byte after it, if they are a near miss.
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
        let is_own = |byte: &u8| is_word(*byte) || lead.has_words && *byte == b' ';
        let (own, tail) = rest.split_at(rest.bytes().take_while(is_own).count());
        let tail = tail.bytes().next();
        if own.is_empty() || (tail.is_some() && tail != next) || !same_word(own, word) {
            continue;
        }
        // As with the start marker, a longer run contains the marker.
        let contains = own == word && *run >= lead.len;
        let exact = contains && *run == lead.len;
        return Some(if contains && index > 0 && in_prose {
            let message = format!("{marker} is outside any gadget block and is text");
            (DiagnosticCode::StrayMarker, message)
        } else if exact {
            let message = format!("{marker} counts only at the start of a line");
            (DiagnosticCode::NearMiss, message)
        } else {
            let written = written(lead, suspect);
            let message = format!("{written} is not a marker and was not executed; write {marker}");
            (DiagnosticCode::NearMiss, message)
        });
    }
    // A value may quote the markers of other runs; prose that holds one was most likely meant as a call, even if a sign
    // of it is missing: `!!GADGET_START:` where markers have a nonce.
    let of_others = in_prose && is_start_of_others(word);
    let renamed = *run == lead.len && RENAMED.contains(&word.as_str());
    let renamed = next == Some(b':') && (renamed || of_others);
    renamed.then(|| {
        let (written, start) = (written(lead, suspect), search.markers.start());
        let message = format!("{written} is not a marker and was not executed; write {start}");
        (DiagnosticCode::NearMiss, message)
    })
}

/// Returns `true` for the word of the default start marker, or of one with a nonce.
fn is_start_of_others(word: &str) -> bool {
    let nonce = word.strip_prefix("GADGET_START").unwrap_or("-");
    nonce.is_empty() || nonce.starts_with(' ') && nonce.split(' ').count() == 3
}

fn written(lead: Lead, suspect: &Suspect) -> String {
    let lead = char::from(lead.byte).to_string().repeat(suspect.run.min(8));
    format!("{lead}{}", suspect.word)
}

/// Equal but for case, `_` and `-`.
fn same_word(a: &str, b: &str) -> bool {
    fn letters(word: &str) -> impl Iterator<Item = u8> {
        let letters = word.bytes().filter(u8::is_ascii_alphanumeric);
        letters.map(|byte| byte.to_ascii_uppercase())
    }
    letters(a).eq(letters(b))
}
