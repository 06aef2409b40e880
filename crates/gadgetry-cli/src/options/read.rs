//! The structs of `cli`, read from settings.
//!
//! The command line has checked what was typed with the same functions, which stand at the fields.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;
use gadgetry::proto::schema::closest;

use super::{CONTINUE, Definitions, IMAGE, Settings};
#[cfg(feature = "acp")]
use crate::cli::AcpArgs;
use crate::cli::{
    AgentArgs, AgentOptions, ApprovalOptions, CompleteArgs, DataArgs, FormatArgs, GadgetOptions,
    ModelArgs, ProjectOptions, RateArgs, RetryArgs, ServeArgs, ServerArgs, SessionArgs,
    SkillOptions, WORKED_TURNS, WorktreeArgs, at_least_one, at_least_one_token, dollars, duration,
    margin, output_limit, tags, temperature,
};
#[cfg(feature = "chat")]
use crate::cli::{ChatArgs, SessionName};
#[cfg(feature = "restate")]
use crate::cli::{RestateArgs, WorkerArgs};
use crate::error::Error;

/// A value that an option does not accept.
#[derive(Clone, Debug)]
pub(crate) struct Invalid {
    name: String,
    pub(crate) problem: String,
}

/// A struct of options.
pub(crate) trait Options: Sized {
    /// Reads the options, each of which is absent, the default or set.
    fn read(reader: &Reader<'_>) -> Result<Self, Invalid>;

    /// Reads the options of a verb.
    fn from_settings(settings: &Settings, definitions: &Definitions) -> Result<Self, Error> {
        let reader = Reader::new(settings, definitions);
        Self::read(&reader).map_err(|invalid| match settings.get(&invalid.name) {
            Some(setting) => setting.source.error(invalid.problem),
            None => Error::input(invalid.problem),
        })
    }
}

/// Reads values by the names of options.
pub(crate) struct Reader<'a> {
    settings: &'a Settings,
    definitions: &'a Definitions,
    /// The names that were read, so that a test finds options which nothing reads.
    names: RefCell<BTreeSet<String>>,
}

impl<'a> Reader<'a> {
    /// Reads these settings, and else the defaults of the definitions.
    pub(crate) fn new(settings: &'a Settings, definitions: &'a Definitions) -> Self {
        Self {
            settings,
            definitions,
            names: RefCell::default(),
        }
    }

    /// Returns the name of the option that a field has.
    fn name(&self, field: &str) -> String {
        let name = match field {
            "continues" => CONTINUE.to_owned(),
            "headers" => "header".to_owned(),
            "images" => IMAGE.to_owned(),
            "tags" => "tag".to_owned(),
            _ => field.replace('_', "-"),
        };
        self.names.borrow_mut().insert(name.clone());
        name
    }

    fn is_on(&self, field: &str) -> bool {
        self.settings.is_on(&self.name(field))
    }

    fn texts(&self, name: &str) -> &[OsString] {
        let setting = self.settings.get(name);
        setting.map_or(&[], |it| it.value.texts())
    }

    fn path(&self, field: &str) -> Option<PathBuf> {
        self.texts(&self.name(field)).first().map(PathBuf::from)
    }

    fn paths(&self, field: &str) -> Vec<PathBuf> {
        let texts = self.texts(&self.name(field)).iter();
        texts.map(PathBuf::from).collect()
    }

    fn parsed<T, E: Display>(
        name: &str,
        text: &OsStr,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<T, Invalid> {
        let invalid = |problem: String| Invalid {
            name: name.to_owned(),
            problem,
        };
        let Some(text) = text.to_str() else {
            return Err(invalid(format!("the value of {name} is not UTF-8")));
        };
        parse(text).map_err(|why| {
            let why = why.to_string();
            // A list of choices follows without a colon.
            let colon = if why.starts_with(' ') { "" } else { ": " };
            invalid(format!("invalid value '{text}' for {name}{colon}{why}"))
        })
    }

    /// Returns the values of an option that may be repeated.
    fn all<T, E: Display>(
        &self,
        field: &str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Vec<T>, Invalid> {
        let name = self.name(field);
        let texts = self.texts(&name).iter();
        texts
            .map(|text| Self::parsed(&name, text, &parse))
            .collect()
    }

    /// Returns the value of an option, or its default.
    fn get<T, E: Display>(
        &self,
        field: &str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Option<T>, Invalid> {
        let name = self.name(field);
        let text = self.texts(&name).first().map(AsRef::as_ref);
        let default = || Some(self.definitions.default_of(&name)?.as_ref());
        let text = text.or_else(default);
        text.map(|text| Self::parsed(&name, text, parse))
            .transpose()
    }

    /// Returns the value of an option with a default.
    fn one<T, E: Display>(
        &self,
        field: &str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<T, Invalid> {
        self.get(field, parse)?.ok_or_else(|| Invalid {
            name: self.name(field),
            problem: format!("--{} is missing", self.name(field)),
        })
    }
}

fn text<T: FromStr<Err: Display>>(text: &str) -> Result<T, T::Err> {
    text.parse()
}

fn choice<T: ValueEnum>(text: &str) -> Result<T, String> {
    T::from_str(text, false).map_err(|_| {
        let names = T::value_variants().iter().filter_map(T::to_possible_value);
        let names: Vec<String> = names.map(|it| it.get_name().to_owned()).collect();
        let near = closest(text, names.iter().map(String::as_str));
        let tip = near
            .first()
            .map(|near| format!("; tip: a similar value exists: '{near}'"));
        let tip = tip.unwrap_or_default();
        format!(" [possible values: {}]{tip}", names.join(", "))
    })
}

fn within<T: TryFrom<i64>>(range: RangeInclusive<i64>) -> impl Fn(&str) -> Result<T, String> {
    move |text| {
        let number: i64 = text
            .parse()
            .map_err(|why: std::num::ParseIntError| why.to_string())?;
        let found = Some(number).filter(|it| range.contains(it));
        let outside = || format!("{number} is not in {}..={}", range.start(), range.end());
        found
            .and_then(|it| T::try_from(it).ok())
            .ok_or_else(outside)
    }
}

/// Any number of times.
const TIMES: RangeInclusive<i64> = 0..=u32::MAX as i64;

/// Reads the fields of a struct, by how their options are given: `get` may be absent, `one` has a default, `all` may be repeated,
/// `on` are flags, `path` and `paths` are files, `group` are structs of further options, and `none` stay empty.
macro_rules! fields {
    ($name:ident {
        $(group: $($group:ident),+;)?
        $(get: $($get:ident = $parse:expr),+;)?
        $(one: $($one:ident = $parse_one:expr),+;)?
        $(all: $($all:ident = $parse_all:expr),+;)?
        $(on: $($on:ident),+;)?
        $(path: $($path:ident),+;)?
        $(paths: $($paths:ident),+;)?
        $(none: $($none:ident),+;)?
    }) => {
        impl Options for $name {
            fn read(reader: &Reader<'_>) -> Result<Self, Invalid> {
                Ok(Self {
                    $($($group: Options::read(reader)?,)+)?
                    $($($get: reader.get(stringify!($get), $parse)?,)+)?
                    $($($one: reader.one(stringify!($one), $parse_one)?,)+)?
                    $($($all: reader.all(stringify!($all), $parse_all)?,)+)?
                    $($($on: reader.is_on(stringify!($on)),)+)?
                    $($($path: reader.path(stringify!($path)),)+)?
                    $($($paths: reader.paths(stringify!($paths)),)+)?
                    $($($none: Default::default(),)+)?
                })
            }
        }
    };
}

fields!(AgentArgs {
    group: session, tree, options;
    get: prompt = text, second = text, events = choice, timeout = duration;
    one: output_format = choice;
    all: images = text;
    on: print;
    path: save;
    none: chosen;
});
fields!(SessionArgs {
    get: session = text;
    on: no_session, continues, force;
});
fields!(WorktreeArgs {
    get: worktree = text;
});
#[cfg(feature = "acp")]
fields!(AcpArgs {
    group: options;
    none: chosen;
});
#[cfg(feature = "chat")]
fields!(ChatArgs {
    group: continues, tree, options;
    get: prompt = text, session = text, theme = choice;
    on: force;
    none: chosen;
});
fields!(AgentOptions {
    group: source, skills, project, approvals, format, model, rates;
    get: dialects = text, form = text, examples = within(WORKED_TURNS), max_iterations = at_least_one, budget = dollars,
        max_concurrent = at_least_one, max_gadgets_per_response = at_least_one;
    one: tools = choice, constrain = choice, output_limit = output_limit, gadget_search = choice, unterminated = choice;
    all: tags = text;
    on: no_stop_early;
});
fields!(GadgetOptions {
    get: builtins = text;
    all: mcp = text, configured_mcp = text;
    on: sandbox, no_mcp;
    path: gadgets, workspace;
});
fields!(SkillOptions {
    paths: skills, configured_skills;
});
fields!(ProjectOptions {
    on: no_environment, no_instructions, no_discovery;
});
fields!(ApprovalOptions {
    one: approval_mode = choice;
    all: approval = text, configured_approval = text;
    on: yes, dangerously_without_sandbox, dry_run;
});
fields!(FormatArgs {
    get: start = text, end = text, arg = text;
    one: markers = choice;
    on: line_start;
});
fields!(RateArgs {
    get: requests_per_minute = at_least_one, tokens_per_minute = at_least_one, tokens_per_day = at_least_one,
        rate_limit_margin = margin;
});
fields!(ModelArgs {
    group: retry, server, data;
    get: model = text, system = text, reasoning = text, max_tokens = at_least_one_token, temperature = temperature;
    one: reasoning_tags = tags;
    on: reasoning_open, quiet;
});
fields!(RetryArgs {
    get: max_retries = within(TIMES), retry_min_delay = duration, retry_max_delay = duration;
});
fields!(ServerArgs {
    get: base_url = text, api_key_env = text, extra_body = text, connect_timeout = duration, model_timeout = duration;
    all: headers = text;
    on: no_proxy;
});
fields!(DataArgs {
    path: data_dir;
});
fields!(CompleteArgs {
    group: model;
    get: context = text;
    one: prompt = text;
    all: images = text;
    paths: audio;
    none: chosen;
});
fields!(ServeArgs {
    get: upstream = text, upstream_key_env = text, listen = text, mode = choice, markers = choice, dialects = text,
        repairs = within(TIMES), form = text, examples = within(WORKED_TURNS), constrain = choice;
    one: upstream_api = choice;
    on: run_dependencies, log_prompts, quiet;
    path: keys, config;
});
#[cfg(feature = "restate")]
fields!(RestateArgs {
    one: restate = text;
});
#[cfg(feature = "restate")]
fields!(WorkerArgs {
    group: restate, options;
    get: restate_admin = text, identity_key = text, advertise = text, own_url = text;
    one: listen = text;
    all: spread = text;
    on: force;
    none: chosen;
});

/// `--continue` of a conversation, with a name or without.
#[cfg(feature = "chat")]
impl Options for Option<Vec<SessionName>> {
    fn read(reader: &Reader<'_>) -> Result<Self, Invalid> {
        let names = reader.all("continues", text)?;
        Ok(reader.settings.has(CONTINUE).then_some(names))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;

    /// A field that no one reads would be an option that does nothing.
    fn reads_all<T: Options>(verb: &str) {
        const OF_FILES: [&str; 3] = ["config", "no-config", "profile"];
        let root = cli::command();
        let definitions = Definitions::of(root.find_subcommand(verb).expect(verb));
        let settings = Settings::default();
        let reader = Reader::new(&settings, &definitions);
        assert!(T::read(&reader).is_ok(), "{verb}");
        let read = reader.names.borrow();
        let names = definitions.iter().map(|(name, _)| name);
        let names = names.filter(|it| *it != super::super::SYSTEM_PROMPT);
        let names = names.filter(|it| verb == "serve" || !OF_FILES.contains(it));
        let unread: Vec<&str> = names.filter(|it| !read.contains(*it)).collect();
        assert!(unread.is_empty(), "{verb}: {unread:?}");
    }

    #[test]
    fn every_option_is_read() {
        reads_all::<AgentArgs>("agent");
        #[cfg(feature = "acp")]
        reads_all::<AcpArgs>("acp");
        #[cfg(feature = "chat")]
        reads_all::<ChatArgs>("chat");
        reads_all::<CompleteArgs>("complete");
        reads_all::<ServeArgs>("serve");
        #[cfg(feature = "restate")]
        reads_all::<WorkerArgs>("worker");
    }

    #[test]
    fn numbers_are_within_their_range() {
        let check = |text: &str, expected: Result<u8, &str>| {
            let found = within::<u8>(WORKED_TURNS)(text);
            assert_eq!(
                found.as_ref().map_err(String::as_str),
                expected.as_ref().map_err(|it| *it)
            );
        };
        check("0", Ok(0));
        check("2", Ok(2));
        check("3", Err("3 is not in 0..=2"));
        check("-1", Err("-1 is not in 0..=2"));
        check("1.5", Err("invalid digit found in string"));
    }
}
