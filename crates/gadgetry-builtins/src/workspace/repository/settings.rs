//! Files that the settings of a repository name: more settings, and folders of hooks.

mod parse;

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::ways::{is_absent, programs};
use super::{about, lines};

/// Bytes of a file of settings. Git reads larger ones, but no one has them.
const LIMIT: u64 = 1 << 20;

/// Files of settings, and entries of folders of Git, that are looked at.
const MOST: usize = 10_000;

/// Folders of a repository that have data only, and much of it.
const DATA: [&str; 4] = ["objects", "refs", "logs", "lfs"];

/// Returns the absolute paths from which Git runs code whatever the repository: the settings of the user and of the system, and what they
/// name. Paths that are relative to a repository are in [`named_by`].
pub(crate) fn named_by_user() -> io::Result<Vec<PathBuf>> {
    let mut named = of_user();
    named.extend(named_in(of_user(), &[])?);
    Ok(named)
}

/// Returns the absolute paths that the user's settings name, and the repositories above a folder and in the environment.
pub(crate) fn named_above(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut named = named_by_user()?;
    let here = env::current_dir().unwrap_or_default();
    let given = Given::of(|name| env::var_os(name), &[folder, &here]);
    for git in given.folders {
        named.extend(named_with(&git, &given.tops)?);
        named.push(git);
    }
    for above in folder.ancestors().skip(1) {
        let git = above.join(".git");
        if fs::symlink_metadata(&git).is_ok() {
            named.extend(named_by(&git)?);
        }
    }
    Ok(named)
}

/// Returns the absolute paths that a repository names: its folder if it is elsewhere, by links in it, `include.path`, `core.hooksPath` and
/// the like, in its own settings, in those of its submodules, in those that these include, and in those of the user. `git` is its folder,
/// or the file that names it. The paths may not exist.
pub(crate) fn named_by(git: &Path) -> io::Result<Vec<PathBuf>> {
    named_with(git, &[])
}

/// The same with more folders of a work tree.
fn named_with(git: &Path, tops: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let above = git.parent().unwrap_or(Path::new("/"));
    let mut named = Vec::new();
    let folder = match text(git)?.strip_prefix("gitdir:") {
        Some(elsewhere) => {
            let folder = above.join(path_of(elsewhere.trim()));
            named.push(folder.clone());
            folder
        }
        // A folder, or a name that Git does not read either.
        None => git.to_owned(),
    };
    let common = match text(&folder.join("commondir"))? {
        text if text.is_empty() => folder.clone(),
        text => {
            let common = folder.join(path_of(text.trim()));
            named.push(common.clone());
            common
        }
    };
    let mut repositories = BTreeSet::from([folder.clone(), common]);
    for folder in repositories.clone() {
        let inside = entries(&folder, true)?;
        named.extend(inside.links);
        repositories.extend(inside.repositories);
    }
    // Of a bare repository, hooks are relative to its own folder.
    let top = if git.ends_with(".git") || git.is_file() {
        above
    } else {
        git
    };
    let mut files = of_user();
    let mut tops = [tops, &[top.to_owned()]].concat();
    for folder in repositories {
        for name in ["config", "config.worktree"] {
            let file = folder.join(name);
            for (key, value) in parse::values(&text(&file)?) {
                // Relative to the folder, and where hooks run.
                if key == "worktree" {
                    tops.push(folder.join(at_home(&value)));
                }
            }
            files.push(file);
        }
    }
    named.extend(named_in(files, &tops)?);
    Ok(named)
}

/// Returns the paths that settings name, and those that they include. `tops` are the folders of a work tree, which paths of hooks are relative to.
fn named_in(mut files: Vec<PathBuf>, tops: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut named = Vec::new();
    let relative_to_tops = |path: &Path| -> Vec<PathBuf> {
        if path.is_absolute() {
            return vec![path.to_owned()];
        }
        tops.iter().map(|top| top.join(path)).collect()
    };
    let mut take = |key: &str, value: &str, file: Option<&Path>| -> io::Result<Option<PathBuf>> {
        let path = at_home(value);
        match (key, file) {
            // Relative to the file that names it.
            ("path", Some(file)) => {
                let path = file.parent().unwrap_or(Path::new("/")).join(path);
                named.push(path.clone());
                return Ok(Some(path));
            }
            ("path", None) if path.is_absolute() => {
                named.push(path.clone());
                return Ok(Some(path));
            }
            ("hookspath" | "templatedir", _) => {
                for folder in relative_to_tops(&path) {
                    // A hook may be a link to a script.
                    named.extend(entries(&folder, key == "templatedir")?.links);
                    named.push(folder);
                }
            }
            // A command line: the program may be any of its words.
            ("fsmonitor", _) if !is_truth(value) => {
                let folders: Vec<&Path> = tops.iter().map(PathBuf::as_path).collect();
                for word in lines::words(value) {
                    named.extend(relative_to_tops(&at_home(&word)));
                    named.extend(programs(&path_of(&word), &folders));
                }
                let line = path_of(value).into_os_string();
                for top in tops {
                    named.extend(lines::files_below(top, line.as_encoded_bytes())?);
                }
                named.extend(relative_to_tops(&path));
            }
            _ => {}
        }
        Ok(None)
    };
    for (key, value) in of_environment() {
        files.extend(take(&key, &value, None)?);
    }
    let mut seen = BTreeSet::new();
    while let Some(file) = files.pop() {
        if !seen.insert(file.clone()) {
            continue;
        }
        if seen.len() > MOST {
            return Err(io::Error::other("too many files of Git's settings"));
        }
        for (key, value) in parse::values(&text(&file)?) {
            files.extend(take(&key, &value, Some(&file))?);
        }
    }
    Ok(named)
}

/// Returns `true` if Git reads a value as a truth, not as a command.
fn is_truth(value: &str) -> bool {
    let words = ["true", "false", "yes", "no", "on", "off", "0", "1", ""];
    words.iter().any(|word| value.eq_ignore_ascii_case(word))
}

/// The contents of a folder of a repository, or of hooks.
#[derive(Default)]
struct Entries {
    /// Links, and what each is written to lead to.
    links: Vec<PathBuf>,
    /// Folders of worktrees and submodules.
    repositories: Vec<PathBuf>,
}

/// Looks at a folder and, with `is_deep`, at those in it that hold no mere data.
fn entries(folder: &Path, is_deep: bool) -> io::Result<Entries> {
    let mut found = Entries::default();
    let mut left = vec![folder.to_owned()];
    let mut seen = 0;
    while let Some(inner) = left.pop() {
        let entries = match fs::read_dir(&inner) {
            Ok(entries) => entries,
            // The folder of a worktree that was removed, or of another user.
            Err(error) if is_absent(&error) => continue,
            Err(error) => return Err(about(&inner, &format!("cannot be searched: {error}"))),
        };
        let entries = entries.collect::<io::Result<Vec<_>>>()?;
        let has_head = entries.iter().any(|it| it.file_name() == "HEAD");
        // Those of submodules are in folders of it.
        let is_repository = inner == folder || has_head;
        if has_head && inner != folder {
            found.repositories.push(inner.clone());
        }
        for entry in entries {
            let (path, kind) = (entry.path(), entry.file_type()?);
            seen += 1;
            if seen > MOST {
                let folder = folder.display();
                return Err(io::Error::other(format!(
                    "{folder} has too many entries to be protected"
                )));
            }
            if kind.is_symlink() {
                found.links.push(inner.join(fs::read_link(&path)?));
                found.links.push(path);
            } else if is_deep
                && kind.is_dir()
                && !(is_repository && DATA.iter().any(|it| entry.file_name() == *it))
            {
                left.push(path);
            }
        }
    }
    Ok(found)
}

/// The repository that an environment names.
#[derive(Debug, Default, PartialEq, Eq)]
struct Given {
    folders: Vec<PathBuf>,
    /// Its work tree: the folder in which Git runs, unless it is named as well.
    tops: Vec<PathBuf>,
}

impl Given {
    /// Git may run in any of the folders.
    fn of(variable: impl Fn(&str) -> Option<OsString>, folders: &[&Path]) -> Self {
        let paths = |name: &str| -> Vec<PathBuf> {
            let Some(path) = variable(name).filter(|it| !it.is_empty()) else {
                return Vec::new();
            };
            folders.iter().map(|folder| folder.join(&path)).collect()
        };
        let given = [paths("GIT_DIR"), paths("GIT_COMMON_DIR")].concat();
        if given.is_empty() {
            return Self::default();
        }
        let named = paths("GIT_WORK_TREE").into_iter();
        Self {
            folders: given,
            tops: named.chain(folders.iter().map(PathBuf::from)).collect(),
        }
    }
}

/// The settings of the user and of the system.
fn of_user() -> Vec<PathBuf> {
    files_of(|name| env::var_os(name))
}

/// The same for an environment.
fn files_of(variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let home = variable("HOME").map(PathBuf::from);
    // An empty one counts as none.
    let config = variable("XDG_CONFIG_HOME").filter(|it| !it.is_empty());
    let config = config.map(PathBuf::from);
    let config = config.or_else(|| Some(home.as_ref()?.join(".config")));
    let mut files = vec![PathBuf::from("/etc/gitconfig")];
    files.extend(home.map(|home| home.join(".gitconfig")));
    files.extend(config.map(|config| config.join("git/config")));
    for name in ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"] {
        files.extend(variable(name).map(PathBuf::from));
    }
    files
}

/// Settings that the environment has: keys without their sections, and values.
fn of_environment() -> Vec<(String, String)> {
    values_of(|name| env::var_os(name))
}

/// The same for an environment.
fn values_of(variable: impl Fn(&str) -> Option<OsString>) -> Vec<(String, String)> {
    let text = |name: &str| {
        let value = variable(name)?;
        Some(characters(value.as_encoded_bytes()))
    };
    let count = text("GIT_CONFIG_COUNT").and_then(|it| it.parse().ok());
    let pairs = (0..count.unwrap_or(0).min(MOST)).filter_map(|at| {
        let key = text(&format!("GIT_CONFIG_KEY_{at}"))?.to_ascii_lowercase();
        let key = key.rsplit('.').next().unwrap_or_default().to_owned();
        Some((key, text(&format!("GIT_CONFIG_VALUE_{at}"))?))
    });
    let mut found: Vec<(String, String)> = pairs.collect();
    found.extend(parse::parameters(
        &text("GIT_CONFIG_PARAMETERS").unwrap_or_default(),
    ));
    found.extend(text("GIT_TEMPLATE_DIR").map(|it| ("templatedir".to_owned(), it)));
    found
}

/// The text of a file, as [`characters`]; empty if it cannot be read, as for Git.
fn text(path: &Path) -> io::Result<String> {
    // Opening a named pipe would wait for a writer.
    let file = match fs::metadata(path) {
        Ok(found) if found.is_file() => File::open(path),
        Ok(_) => return Ok(String::new()),
        Err(error) => Err(error),
    };
    let file = match file {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(String::new()),
        Err(error) => return Err(about(path, &format!("cannot be read: {error}"))),
    };
    let mut bytes = Vec::new();
    file.take(LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LIMIT {
        let path = path.display();
        return Err(io::Error::other(format!(
            "{path} is too large for settings of Git"
        )));
    }
    Ok(characters(&bytes))
}

/// A character for each byte: paths need not be UTF-8.
fn characters(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// The path that such characters are.
fn path_of(characters: &str) -> PathBuf {
    let bytes = characters.chars().map(|c| u8::try_from(c).unwrap_or(b'?'));
    let bytes: Vec<u8> = bytes.collect();
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStringExt as _;
        OsString::from_vec(bytes).into()
    }
    #[cfg(not(unix))]
    {
        String::from_utf8_lossy(&bytes).into_owned().into()
    }
}

/// `~/` is the home directory, and `~name/` that of another user; `:(optional)` may be before it.
fn at_home(value: &str) -> PathBuf {
    let value = value.strip_prefix(":(optional)").unwrap_or(value);
    let Some(after) = value.strip_prefix('~') else {
        return path_of(value);
    };
    let (user, rest) = after.split_once('/').unwrap_or((after, ""));
    let home = if user.is_empty() {
        env::var_os("HOME").map(PathBuf::from)
    } else {
        home_of(user)
    };
    home.map_or_else(|| path_of(value), |home| home.join(path_of(rest)))
}

/// The home directory of a user in the table of the system.
fn home_of(user: &str) -> Option<PathBuf> {
    let table = text(Path::new("/etc/passwd")).ok()?;
    let mut lines = table.lines().map(|line| line.split(':'));
    // NAME:PASSWORD:UID:GID:WORDS:HOME:SHELL
    let mut fields = lines.find_map(|mut fields| (fields.next()? == user).then_some(fields))?;
    fields.nth(4).map(path_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_at_home() {
        let check = |value: &str, expected: &Path| assert_eq!(at_home(value), expected, "{value}");
        check("hooks", Path::new("hooks"));
        check(":(optional)hooks", Path::new("hooks"));
        let home = PathBuf::from(env::var_os("HOME").unwrap_or_default());
        check("~/hooks", &home.join("hooks"));
        check(":(optional)~/hooks", &home.join("hooks"));
        check("~root/hooks", &home_of("root").unwrap().join("hooks"));
    }

    #[test]
    fn repositories_of_an_environment() {
        let check = |variables: &[(&str, &str)], folders: &[&str], tops: &[&str]| {
            let variable = |name: &str| {
                let found = variables.iter().find(|(it, _)| *it == name);
                found.map(|(_, value)| OsString::from(value))
            };
            let given = Given::of(variable, &[Path::new("/a"), Path::new("/b")]);
            let paths = |all: &[&str]| all.iter().map(PathBuf::from).collect();
            let (folders, tops) = (paths(folders), paths(tops));
            assert_eq!(given, Given { folders, tops }, "{variables:?}");
        };
        check(&[("GIT_WORK_TREE", "w")], &[], &[]);
        check(&[("GIT_DIR", "")], &[], &[]);
        check(&[("GIT_DIR", "x")], &["/a/x", "/b/x"], &["/a", "/b"]);
        let both = [("GIT_DIR", "/x"), ("GIT_WORK_TREE", "w")];
        check(&both, &["/x", "/x"], &["/a/w", "/b/w", "/a", "/b"]);
        let common = [("GIT_COMMON_DIR", "/c")];
        check(&common, &["/c", "/c"], &["/a", "/b"]);
    }

    #[test]
    fn settings_of_an_environment() {
        let check = |variables: &[(&str, &str)], file: &str, value: Option<(&str, &str)>| {
            let variable = |name: &str| {
                let found = variables.iter().find(|(it, _)| *it == name);
                found.map(|(_, value)| OsString::from(value))
            };
            let files = files_of(variable);
            assert!(files.contains(&file.into()), "{variables:?}: {files:?}");
            let values = values_of(variable);
            let values: Vec<_> = values.iter().map(|(k, v)| (&**k, &**v)).collect();
            assert_eq!(values, Vec::from_iter(value), "{variables:?}");
        };
        let home = ("HOME", "/home/me");
        let usual = "/home/me/.config/git/config";
        check(&[], "/etc/gitconfig", None);
        check(&[home], usual, None);
        check(&[home, ("XDG_CONFIG_HOME", "")], usual, None);
        check(&[("XDG_CONFIG_HOME", "/c")], "/c/git/config", None);
        check(&[("GIT_CONFIG_GLOBAL", "/g")], "/g", None);
        let hooks = Some(("hookspath", "h"));
        let passed_on = ("GIT_CONFIG_PARAMETERS", "'core.hookspath'='h'");
        check(&[home, passed_on], usual, hooks);
        let counted = [
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "core.hooksPath"),
            ("GIT_CONFIG_VALUE_0", "h"),
        ];
        check(&counted, "/etc/gitconfig", hooks);
    }
}
