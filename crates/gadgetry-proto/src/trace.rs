//! The trace that a request belongs to: W3C Trace Context, <https://www.w3.org/TR/trace-context/>.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Classified, Fault};

/// Bytes of a `traceparent` of version 0: `00-`, 32 and 16 digits, and two of flags.
const PARENT: usize = 55;

/// Bytes of a `tracestate` that is passed on.
const STATE: usize = 512;

/// The flag of a trace that is recorded.
const SAMPLED: u8 = 1;

/// A span of a trace, to pass on to other programs: the values of the headers `traceparent` and `tracestate`.
///
/// ```
/// use gadgetry_proto::trace::TraceContext;
/// let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// let trace: TraceContext = parent.parse()?;
/// assert!(trace.is_sampled());
/// assert_eq!(trace.traceparent(), parent);
/// # Ok::<(), gadgetry_proto::trace::InvalidTraceParent>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceContext {
    trace_id: u128,
    span_id: u64,
    flags: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<String>,
}

impl TraceContext {
    /// Creates the context of a span; `None` if one of the ids is 0.
    pub fn new(trace_id: u128, span_id: u64, is_sampled: bool) -> Option<Self> {
        let is_valid = trace_id != 0 && span_id != 0;
        is_valid.then_some(Self {
            trace_id,
            span_id,
            flags: u8::from(is_sampled) * SAMPLED,
            state: None,
        })
    }

    /// Reads headers, or the `_meta` of MCP. Without a valid `traceparent` there is no trace, and an unusable `tracestate` is dropped.
    ///
    /// ```
    /// use gadgetry_proto::trace::TraceContext;
    /// let trace = TraceContext::from_headers(|name| match name {
    ///     "traceparent" => Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"),
    ///     "tracestate" => Some("vendor=1"),
    ///     _ => None,
    /// });
    /// assert_eq!(trace.unwrap().tracestate(), Some("vendor=1"));
    /// ```
    pub fn from_headers<'h>(header: impl Fn(&str) -> Option<&'h str>) -> Option<Self> {
        let trace: Self = header("traceparent")?.parse().ok()?;
        Some(trace.state(header("tracestate").unwrap_or_default()))
    }

    /// Sets the value of `tracestate`. A value that is empty, over 512 bytes, or not visible ASCII is left out.
    #[must_use]
    pub fn state(mut self, state: &str) -> Self {
        let state = state.trim();
        let is_usable = !state.is_empty()
            && state.len() <= STATE
            && state.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        self.state = is_usable.then(|| state.to_owned());
        self
    }

    /// Returns the value of `traceparent`.
    pub fn traceparent(&self) -> String {
        self.to_string()
    }

    /// Returns the value of `tracestate`, if there is one.
    pub fn tracestate(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// Returns the id of the trace.
    pub fn trace_id(&self) -> u128 {
        self.trace_id
    }

    /// Returns the id of the span.
    pub fn span_id(&self) -> u64 {
        self.span_id
    }

    /// Returns whether the trace is recorded.
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }
}

/// Writes the value of `traceparent`.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            trace_id,
            span_id,
            flags,
            state: _,
        } = self;
        write!(f, "00-{trace_id:032x}-{span_id:016x}-{flags:02x}")
    }
}

/// Reads a `traceparent`. Of a version after 0, what version 0 has is read.
impl FromStr for TraceContext {
    type Err = InvalidTraceParent;

    fn from_str(parent: &str) -> Result<Self, InvalidTraceParent> {
        read(parent.trim()).ok_or(InvalidTraceParent)
    }
}

fn read(parent: &str) -> Option<TraceContext> {
    let (known, more) = parent.split_at_checked(PARENT)?;
    let mut fields = known.split('-');
    let mut field = |digits| fields.next().filter(|it| is_hex(it, digits));
    let version = field(2)?;
    let (trace_id, span_id, flags) = (field(32)?, field(16)?, field(2)?);
    let is_read = match version {
        "00" => more.is_empty(),
        "ff" => false,
        _ => more.is_empty() || more.starts_with('-'),
    };
    let trace = TraceContext::new(
        u128::from_str_radix(trace_id, 16).ok()?,
        u64::from_str_radix(span_id, 16).ok()?,
        false,
    )?;
    let flags = u8::from_str_radix(flags, 16).ok()? & SAMPLED;
    is_read.then_some(TraceContext { flags, ..trace })
}

/// Returns whether a text consists of this number of hexadecimal digits, which are lower case.
fn is_hex(text: &str, digits: usize) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == digits && text.bytes().all(is_digit)
}

/// Error for an invalid `traceparent`; always a mistake of the program that sent it.
///
/// ```
/// use gadgetry_proto::trace::TraceContext;
/// let error = "00-0-0-00".parse::<TraceContext>().unwrap_err();
/// assert!(error.to_string().starts_with("invalid traceparent"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid traceparent: it is `00-`, 32 hexadecimal digits, 16 more, and two of flags")]
pub struct InvalidTraceParent;

impl Classified for InvalidTraceParent {
    fn fault(&self) -> Fault {
        Fault::Caller
    }
}

#[cfg(test)]
mod tests {
    use super::TraceContext;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";

    #[test]
    fn a_traceparent_is_read_as_the_recommendation_says() {
        #[track_caller]
        fn check(parent: &str, expected: Option<&str>) {
            let read: Option<TraceContext> = parent.parse().ok();
            assert_eq!(
                read.map(|it| it.traceparent()).as_deref(),
                expected,
                "{parent}"
            );
        }
        let usual = format!("00-{TRACE}-{SPAN}-01");
        check(&usual, Some(&usual));
        check(&format!(" {usual} "), Some(&usual));
        // Flags of later versions are not passed on.
        check(&format!("00-{TRACE}-{SPAN}-ff"), Some(&usual));
        check(&format!("cc-{TRACE}-{SPAN}-01-what-comes"), Some(&usual));
        check(&format!("cc-{TRACE}-{SPAN}-01"), Some(&usual));
        check(&format!("cc-{TRACE}-{SPAN}-01x"), None);
        check(&format!("00-{TRACE}-{SPAN}-01-more"), None);
        check(&format!("ff-{TRACE}-{SPAN}-01"), None);
        check(&format!("00-{}-{SPAN}-01", "0".repeat(32)), None);
        check(&format!("00-{TRACE}-{}-01", "0".repeat(16)), None);
        check(&format!("00-{}-{SPAN}-01", TRACE.to_uppercase()), None);
        check(&format!("00-{TRACE}-{SPAN}-0+"), None);
        check(&format!("00-+{}-{SPAN}-01", &TRACE[1..]), None);
        check(&format!("00-{TRACE}{SPAN}--01"), None);
        check(&"é".repeat(40), None);
        check("", None);
    }

    #[test]
    fn a_tracestate_that_no_header_can_have_is_left_out() {
        #[track_caller]
        fn check(state: &str, expected: Option<&str>) {
            let parent = format!("00-{TRACE}-{SPAN}-00");
            let trace = TraceContext::from_headers(|name| match name {
                "traceparent" => Some(parent.as_str()),
                _ => Some(state),
            });
            let trace = trace.unwrap();
            assert!(!trace.is_sampled());
            assert_eq!(trace.tracestate(), expected);
        }
        check("a=1,b=2", Some("a=1,b=2"));
        check("", None);
        check("a=1\r\nx: y", None);
        check("a=é", None);
        check(&"a".repeat(513), None);
        assert_eq!(TraceContext::from_headers(|_| None), None);
    }
}
