//! `Search`.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::sync::Arc;

use gadgetry::proto::schema::OnInterrupt;
use gadgetry::{CallPreview, ExecutionContext, Gadget, GadgetError, GadgetInfo, Subject};
use gadgetry_validator::regex_length;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::blocking::{Scan, blocking, preview_of, reads, whole_workspace};
use crate::glob;
use crate::workspace::{EntryKind, Walk, Workspace, WorkspacePath};

/// Levels of folders that are searched.
const DEPTH: usize = 64;

/// Matching lines that are returned.
const LINES: usize = 200;

/// Bytes of a line that are shown.
const LINE_LENGTH: usize = 400;

/// Bytes of one line in memory.
const HEAP_LIMIT: usize = 16 << 20;

/// Bytes of a compiled expression.
const REGEX_LIMIT: usize = 4 << 20;

/// Characters that an expression describes, with repetitions. Each byte of a long line may be compared with all of them.
const REGEX_LENGTH: u64 = 2_000;

/// Searches files for a regular expression.
#[derive(Debug)]
pub(crate) struct Search(pub(crate) Arc<Workspace>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SearchParams {
    /// regular expression for a line
    pattern: String,
    #[serde(default = "whole_workspace")]
    path: String,
    /// such as *.rs or src/**/*.ts
    glob: Option<String>,
    #[serde(default)]
    ignore_case: bool,
    /// the pattern is plain text
    #[serde(default)]
    literal: bool,
    /// lines around each match
    #[serde(default)]
    #[schemars(range(max = 10))]
    context: usize,
    #[serde(default)]
    include_ignored: bool,
}

impl Gadget for Search {
    type Params = SearchParams;
    type Output = String;

    fn info(&self) -> GadgetInfo {
        GadgetInfo::new(
            "Search",
            "Searches text files, without those that .gitignore excludes. Returns path:line:text.",
        )
        .on_interrupt(OnInterrupt::Rerun)
    }

    async fn execute(
        &self,
        params: SearchParams,
        context: ExecutionContext,
    ) -> Result<String, GadgetError> {
        let workspace = Arc::clone(&self.0);
        blocking(move || search(&workspace, &params, &context)).await
    }

    async fn preview(&self, params: SearchParams) -> Result<CallPreview, GadgetError> {
        preview_of(&self.0, params.path).await
    }
}

fn search(
    workspace: &Workspace,
    params: &SearchParams,
    context: &ExecutionContext,
) -> Result<String, GadgetError> {
    let is_cancelled = &|| context.cancellation().is_cancelled();
    let length = regex_length(&params.pattern).filter(|_| !params.literal);
    if length.is_some_and(|length| length > REGEX_LENGTH) {
        return Err(GadgetError::new(format_args!(
            "invalid pattern: with its repetitions, it describes more than {REGEX_LENGTH} characters; `+` repeats without a count"
        )));
    }
    let matcher = RegexMatcherBuilder::new()
        .case_insensitive(params.ignore_case)
        .fixed_strings(params.literal)
        .line_terminator(Some(b'\n'))
        .size_limit(REGEX_LIMIT)
        .build(&params.pattern)
        .map_err(|error| GadgetError::new(format_args!("invalid pattern: {error}")))?;
    let glob = params.glob.as_deref().map(glob::matcher).transpose()?;
    let mut search = Files {
        workspace,
        matcher,
        searcher: SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .line_number(true)
            .before_context(params.context)
            .after_context(params.context)
            .heap_limit(Some(HEAP_LIMIT))
            .build(),
        is_cancelled,
        found: Found::default(),
    };
    let path = workspace.resolve(&params.path)?;
    context.check_approved(&reads(workspace, &path))?;
    if workspace.is_folder(&path) {
        let walk = Walk {
            depth: DEPTH,
            ignore: !params.include_ignored,
        };
        walk.visit(workspace, &path, &mut |entry| {
            if is_cancelled() || search.found.is_full() {
                return ControlFlow::Break(());
            }
            let wanted = glob
                .as_ref()
                .is_none_or(|glob| glob.is_match(entry.path.as_path()));
            let may = || context.may_include(&Subject::Path(entry.path.to_string()));
            if entry.kind == EntryKind::File && wanted && may() {
                search.file(entry.path);
            }
            ControlFlow::Continue(())
        })?;
    } else {
        // A file that the call names must be readable; of a folder, others are skipped.
        drop(workspace.open_file(&path)?);
        search.file(&path);
    }
    if is_cancelled() {
        return Err(GadgetError::cancelled());
    }
    Ok(search.found.summary())
}

struct Files<'s> {
    workspace: &'s Workspace,
    matcher: RegexMatcher,
    searcher: Searcher,
    is_cancelled: &'s dyn Fn() -> bool,
    found: Found,
}

#[derive(Debug, Default)]
struct Found {
    text: String,
    /// Lines of the text that match.
    matches: usize,
    files: usize,
    /// Files that could not be read.
    unreadable: usize,
}

impl Files<'_> {
    fn file(&mut self, path: &WorkspacePath) {
        let Ok((file, _)) = self.workspace.open_file(path) else {
            self.found.unreadable += 1;
            return;
        };
        let before = self.found.matches;
        let sink = Lines {
            path,
            found: &mut self.found,
            is_cancelled: self.is_cancelled,
        };
        let file = Scan::new(file, self.is_cancelled);
        let searched = self.searcher.search_reader(&self.matcher, file, sink);
        if searched.is_err() {
            self.found.unreadable += 1;
        }
        self.found.files += usize::from(self.found.matches > before);
    }
}

impl Found {
    fn is_full(&self) -> bool {
        self.matches >= LINES
    }

    fn line(&mut self, path: &WorkspacePath, separator: char, number: u64, bytes: &[u8]) {
        let line = String::from_utf8_lossy(bytes);
        let line = line.trim_end_matches(['\n', '\r']);
        let end = line.floor_char_boundary(LINE_LENGTH);
        let (line, rest) = line.split_at(end);
        let more = if rest.is_empty() { "" } else { " …" };
        let path = path.on_one_line();
        // Writing to a string cannot fail.
        let _ = writeln!(
            self.text,
            "{path}{separator}{number}{separator}{line}{more}"
        );
    }

    fn summary(mut self) -> String {
        let count = |count, one: &str, many: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {many}"),
        };
        let matches = count(self.matches, "match", "matches");
        let files = count(self.files, "file", "files");
        let more = if self.is_full() {
            ", and there may be more; narrow the pattern, the path or the glob"
        } else {
            ""
        };
        let found = match self.matches {
            0 => "No matches".to_owned(),
            _ => format!("{matches} in {files}{more}"),
        };
        let unreadable = match self.unreadable {
            0 => String::new(),
            unreadable => format!("; {} could not be read", count(unreadable, "file", "files")),
        };
        self.text.extend([found, unreadable]);
        self.text.push('\n');
        self.text
    }
}

struct Lines<'s> {
    path: &'s WorkspacePath,
    found: &'s mut Found,
    is_cancelled: &'s dyn Fn() -> bool,
}

impl Sink for Lines<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, matched: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        let number = matched.line_number().unwrap_or_default();
        self.found.matches += 1;
        self.found.line(self.path, ':', number, matched.bytes());
        Ok(!self.found.is_full() && !(self.is_cancelled)())
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, Self::Error> {
        let number = context.line_number().unwrap_or_default();
        self.found.line(self.path, '-', number, context.bytes());
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, Self::Error> {
        self.found.text.push_str("--\n");
        Ok(true)
    }
}
