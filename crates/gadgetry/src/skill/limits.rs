//! Limits of skills.

/// The file that makes a folder a skill.
pub(super) const SKILL_FILE: &str = "SKILL.md";

/// Maximum number of bytes of a `SKILL.md`.
pub const SKILL_FILE_LIMIT: u64 = 256 * 1024;

/// Maximum number of bytes of any other file of a skill that is read.
pub const RESOURCE_LIMIT: u64 = 1024 * 1024;

/// Maximum number of bytes of the arguments of a skill.
pub const ARGUMENTS_LIMIT: usize = 16 * 1024;

/// Maximum number of files of a skill that are listed.
pub(super) const LISTED: usize = 500;
