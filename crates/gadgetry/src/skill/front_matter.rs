//! `SKILL.md` as written: front matter and text.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::error::{SkillError, SkillProblem as Problem};
use super::limits::{SKILL_FILE, SKILL_FILE_LIMIT};
use super::resources::{read_at_most, resolve};
use super::yaml::{self, Entry, Mistake, Place};

const NAME_LENGTH: usize = 64;
const DESCRIPTION_LENGTH: usize = 1024;

/// Front matter of a skill.
///
/// This crate acts on `name`, `description` and `disable_model_invocation`. The rest is kept for programs that list skills or
/// have their own rules. In particular, `allowed_tools` neither allows nor forbids anything.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FrontMatter {
    /// Name of the skill. If it is missing, the name of the folder applies.
    pub name: String,
    /// Purpose of the skill, and when to use it, on one line.
    pub description: String,
    /// True if the skill is hidden from the model, which then cannot load it.
    pub disable_model_invocation: bool,
    /// Description of the arguments, for users. Kept, not acted on.
    pub argument_hint: Option<String>,
    /// True if users can call it by its name, which is the default. This crate does not act on it; the command line and MCP
    /// prompts offer only such skills.
    pub user_invocable: bool,
    /// Version, as written. Kept, not acted on.
    pub version: Option<String>,
    /// License, as written. Kept, not acted on.
    pub license: Option<String>,
    /// The tools that the skill expects to use. Kept, not acted on.
    pub allowed_tools: Vec<String>,
    /// Further data of the author. Kept, not acted on.
    pub metadata: Map<String, Value>,
    /// The fields that gadgetry does not know, in order. Kept, not acted on.
    pub other: Map<String, Value>,
}

/// Reads the `SKILL.md` of `folder`, which is canonical. `named` is the folder under its original name, which may be that of a
/// link.
pub(super) fn load(folder: &Path, named: &Path) -> Result<(FrontMatter, String), SkillError> {
    let path = named.join(SKILL_FILE);
    let read = |error| SkillError::Read {
        path: path.clone(),
        error,
    };
    // The system's own words for what is missing; links are judged below.
    std::fs::metadata(&path).map_err(read)?;
    let (file, _) =
        resolve(folder, SKILL_FILE).map_err(|_| SkillError::NotAFile { path: path.clone() })?;
    let bytes = read_at_most(&file, SKILL_FILE_LIMIT).map_err(read)?;
    let bytes = bytes.ok_or_else(|| SkillError::TooLarge {
        path: path.clone(),
        limit: SKILL_FILE_LIMIT,
    })?;
    let folder_name = folder_name(named).or_else(|| folder_name(folder));
    parse(&bytes, &folder_name.unwrap_or_default()).map_err(|mistake| invalid(path, mistake))
}

/// Reads a Markdown file that other programs use as a command or an agent. It accepts everything that they accept: front matter
/// that is missing or invalid YAML, names with other letters, and long descriptions.
pub(super) fn load_file(path: &Path) -> Result<(FrontMatter, String), SkillError> {
    let read = |error| SkillError::Read {
        path: path.to_owned(),
        error,
    };
    if !std::fs::metadata(path).map_err(read)?.is_file() {
        return Err(SkillError::NotAFile {
            path: path.to_owned(),
        });
    }
    let bytes = read_at_most(path, SKILL_FILE_LIMIT).map_err(read)?;
    let bytes = bytes.ok_or_else(|| SkillError::TooLarge {
        path: path.to_owned(),
        limit: SKILL_FILE_LIMIT,
    })?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    parse_file(&bytes, &stem).map_err(|mistake| invalid(path.to_owned(), mistake))
}

fn parse_file(bytes: &[u8], stem: &str) -> Result<(FrontMatter, String), Mistake> {
    let text = text_of(bytes)?;
    let (yaml, body) = split(text).unwrap_or(("", text));
    let mut entries = yaml::mapping(yaml).unwrap_or_else(|_| plain_entries(yaml));
    let first = body.lines().map(|line| line.trim_start_matches('#').trim());
    let first = first.filter(|line| !line.is_empty()).take(1);
    let mut description: String = first.collect();
    let mut name = stem.to_owned();
    entries.retain(|entry| match (entry.key.as_str(), &entry.written) {
        ("name", Some(written)) => {
            name.clone_from(written);
            false
        }
        ("description", Some(written)) if !written.trim().is_empty() => {
            description.clone_from(written);
            false
        }
        ("name" | "description", _) => false,
        _ => true,
    });
    let mut found = fields_without_name(entries)?;
    found.name = slug(&name);
    let words: Vec<&str> = description.split_whitespace().collect();
    found.description = words.join(" ").chars().take(DESCRIPTION_LENGTH).collect();
    if found.name.is_empty() {
        let top = Place { line: 1, column: 1 };
        return Err(Mistake::new(top, Problem::InvalidName { name }));
    }
    if found.description.is_empty() {
        found.description.clone_from(&found.name);
    }
    Ok((found, trimmed(body)))
}

/// Reads the lines `key: value` of front matter that is not YAML, usually because of a colon in a description.
fn plain_entries(text: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for (line, at) in text.lines().zip(1..) {
        let is_key = |key: &str| {
            let admitted = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            !key.is_empty() && key.chars().all(admitted)
        };
        let found = line.split_once(':').filter(|(key, _)| is_key(key));
        let Some((key, value)) = found else {
            continue;
        };
        if entries.iter().any(|entry| entry.key == key) {
            continue;
        }
        let value = value.trim();
        let quoted = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
        let value = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
        entries.push(Entry {
            key: key.to_owned(),
            value: Value::String(value.to_owned()),
            written: Some(value.to_owned()),
            at: Place {
                line: at,
                column: 1,
            },
        });
    }
    entries
}

/// The name with lower-case letters, digits and hyphens only.
fn slug(name: &str) -> String {
    let mut slug = String::new();
    for c in name.trim().chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() == NAME_LENGTH {
            break;
        }
    }
    slug.truncate(slug.trim_end_matches('-').len());
    slug
}

fn folder_name(folder: &Path) -> Option<String> {
    Some(folder.file_name()?.to_string_lossy().into_owned())
}

fn invalid(path: PathBuf, mistake: Mistake) -> SkillError {
    SkillError::Invalid {
        path,
        line: mistake.at.line,
        column: mistake.at.column,
        problem: mistake.problem,
    }
}

fn parse(bytes: &[u8], folder_name: &str) -> Result<(FrontMatter, String), Mistake> {
    let (yaml, body) = split(text_of(bytes)?)?;
    let front_matter = yaml::mapping(yaml).and_then(|entries| fields(entries, folder_name));
    let front_matter = front_matter.map_err(|mut mistake| {
        mistake.at.line += 1; // the line `---`
        mistake
    })?;
    Ok((front_matter, trimmed(body)))
}

fn text_of(bytes: &[u8]) -> Result<&str, Mistake> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        Mistake::new(end_of(&valid), Problem::NotUtf8)
    })?;
    Ok(text.strip_prefix('\u{FEFF}').unwrap_or(text))
}

fn trimmed(body: &str) -> String {
    body.trim().replace("\r\n", "\n")
}

/// The text between the lines `---`, and the text after them.
fn split(text: &str) -> Result<(&str, &str), Mistake> {
    let is_fence = |line: &str| line.trim_end() == "---";
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| is_fence(line));
    let start = first.map(str::len).ok_or_else(|| {
        let first_line = Place { line: 1, column: 1 };
        Mistake::new(first_line, Problem::NoFrontMatter)
    })?;
    let mut end = start;
    for line in lines {
        if is_fence(line) {
            return Ok((&text[start..end], &text[end + line.len()..]));
        }
        end += line.len();
    }
    Err(Mistake::new(end_of(text), Problem::UnclosedFrontMatter))
}

/// The position after `text`.
fn end_of(text: &str) -> Place {
    let line_start = text.rfind('\n').map_or(0, |newline| newline + 1);
    Place {
        line: text.matches('\n').count() + 1,
        column: text[line_start..].chars().count() + 1,
    }
}

/// Returns the fields of the mapping. Positions count from the line below `---`.
fn fields(mut entries: Vec<Entry>, folder_name: &str) -> Result<FrontMatter, Mistake> {
    // The line `---`: what is missing has no place of its own.
    let top = Place { line: 0, column: 1 };
    let mut take = |key: &'static str| {
        let at = entries.iter().position(|entry| entry.key == key);
        let entry = at.map(|at| entries.remove(at));
        let entry = entry.map(|it| Ok::<_, Mistake>((text(&it, key)?, it.at)));
        entry.transpose()
    };
    let (name, description) = (take("name")?, take("description")?);
    let mut found = fields_without_name(entries)?;
    found.name = match name {
        Some((Some(name), _)) if is_name(&name) => name,
        Some((Some(name), at)) => return Err(Mistake::new(at, Problem::InvalidName { name })),
        _ if is_name(folder_name) => folder_name.to_owned(),
        _ => {
            let folder = folder_name.to_owned();
            return Err(Mistake::new(top, Problem::InvalidFolderName { folder }));
        }
    };
    let (description, at) = description.unwrap_or((None, top));
    // The list of skills has one line for each.
    let description = description.unwrap_or_default();
    found.description = (description.split_whitespace().collect::<Vec<_>>()).join(" ");
    match found.description.chars().count() {
        0 => Err(Mistake::new(at, Problem::MissingDescription)),
        1..=DESCRIPTION_LENGTH => Ok(found),
        characters => Err(Mistake::new(at, Problem::DescriptionTooLong { characters })),
    }
}

/// The other fields.
fn fields_without_name(entries: Vec<Entry>) -> Result<FrontMatter, Mistake> {
    let mut found = FrontMatter {
        name: String::new(),
        description: String::new(),
        disable_model_invocation: false,
        argument_hint: None,
        user_invocable: true,
        version: None,
        license: None,
        allowed_tools: Vec::new(),
        metadata: Map::new(),
        other: Map::new(),
    };
    for entry in entries {
        match entry.key.as_str() {
            "argument-hint" => found.argument_hint = argument_hint(&entry)?,
            "disable-model-invocation" => {
                found.disable_model_invocation = truth(&entry, "disable-model-invocation", false)?;
            }
            "user-invocable" => found.user_invocable = truth(&entry, "user-invocable", true)?,
            "version" => found.version = text(&entry, "version")?,
            "license" => found.license = text(&entry, "license")?,
            "allowed-tools" => found.allowed_tools = tools(&entry)?,
            "metadata" => found.metadata = metadata(entry)?,
            _ => drop(found.other.insert(entry.key, entry.value)),
        }
    }
    Ok(found)
}

fn is_name(name: &str) -> bool {
    let admitted = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=NAME_LENGTH).contains(&name.len()) && name.chars().all(admitted) && !name.starts_with('-')
}

fn wrong_type(entry: &Entry, key: &'static str, expected: &'static str) -> Mistake {
    Mistake::new(entry.at, Problem::WrongType { key, expected })
}

/// The text of a scalar as written; `None` for nothing.
fn text(entry: &Entry, key: &'static str) -> Result<Option<String>, Mistake> {
    match (&entry.value, &entry.written) {
        (Value::Null, _) => Ok(None),
        (_, Some(written)) => Ok(Some(written.trim().to_owned())),
        (_, None) => Err(wrong_type(entry, key, "a text")),
    }
}

fn truth(entry: &Entry, key: &'static str, default: bool) -> Result<bool, Mistake> {
    if entry.value.is_null() {
        return Ok(default);
    }
    (entry.value.as_bool()).ok_or_else(|| wrong_type(entry, key, "true or false"))
}

/// Returns the hint: hints are usually written `[file]`, which is a list in YAML.
fn argument_hint(entry: &Entry) -> Result<Option<String>, Mistake> {
    const KEY: &str = "argument-hint";
    let Value::Array(items) = &entry.value else {
        return text(entry, KEY);
    };
    let words: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
    let words = words.ok_or_else(|| wrong_type(entry, KEY, "a text; put quotes around it"))?;
    Ok(Some(format!("[{}]", words.join(", "))))
}

/// A list, or a text with commas or blanks outside parentheses: `Read, Bash(git log:*)`.
fn tools(entry: &Entry) -> Result<Vec<String>, Mistake> {
    const KEY: &str = "allowed-tools";
    let wrong = || wrong_type(entry, KEY, "a list of texts, or a text with commas");
    if let Value::Array(items) = &entry.value {
        let items = items.iter().map(|item| item.as_str().map(str::to_owned));
        return items.collect::<Option<_>>().ok_or_else(wrong);
    }
    let written = text(entry, KEY).map_err(|_| wrong())?.unwrap_or_default();
    let mut depth = 0_usize;
    let parts = written.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c == ',' || c.is_whitespace())
    });
    let parts = parts.filter(|part| !part.is_empty());
    Ok(parts.map(str::to_owned).collect())
}

fn metadata(entry: Entry) -> Result<Map<String, Value>, Mistake> {
    let wrong = wrong_type(&entry, "metadata", "keys with values");
    match entry.value {
        Value::Object(entries) => Ok(entries),
        Value::Null => Ok(Map::new()),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Err(wrong),
    }
}
