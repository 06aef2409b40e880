//! A verb with its options, from what was typed and configured.

use clap::{ArgMatches, FromArgMatches as _};

#[cfg(feature = "acp")]
use crate::cli::AcpArgs;
#[cfg(feature = "chat")]
use crate::cli::ChatArgs;
use crate::cli::{AgentArgs, CompleteArgs, ConfigArgs, GadgetOptions, Gadgetry, ServeArgs, Verb};
#[cfg(feature = "restate")]
use crate::cli::{RestateArgs, WorkerArgs};
use crate::config::{Config, ConfigVerb};
use crate::error::Error;
use crate::lines::one_line;
use crate::options::{Definitions, Options as _, Settings, Source, UPSTREAM};
use crate::printer::Printer;

/// A verb with its options.
#[derive(Default)]
pub(super) struct Found {
    pub(super) verb: Option<Verb>,
    pub(super) settings: Settings,
    /// The definitions of the settings.
    pub(super) options: Definitions,
    pub(super) config: Config,
    /// The options about configuration that were typed for the verb.
    pub(super) chosen: Option<ConfigArgs>,
}

/// Merges what was typed with what is configured.
pub(crate) fn merge(
    verb: ConfigVerb,
    typed: Settings,
    weaker: Settings,
    config: &Config,
    options: &Definitions,
    printer: &Printer,
) -> Result<Settings, Error> {
    let (mut settings, left) = typed.merge_noting(weaker, options);
    let left = left.iter();
    let left: Vec<String> = left
        .map(|(name, it)| format!("{name} ({})", it.source))
        .collect();
    if !left.is_empty() && !settings.is_on("quiet") {
        printer.progress(&format!(
            "note: configured for another server, so not used: {}\n",
            one_line(&left.join(", "))
        ));
    }
    if verb.has_agent() {
        config.models.add_to(&mut settings, options);
    }
    if !settings.has(UPSTREAM) {
        let is_about_it = |name: &str| name.starts_with("upstream-");
        settings = settings.only(|name, it| !is_about_it(name) || it.source == Source::Flag);
    }
    config.with_prompt(settings)
}

/// Reads the verb with its options. What has no definition among them is as it was typed.
pub(super) fn read(
    verb: ConfigVerb,
    settings: &Settings,
    options: &Definitions,
    matches: &ArgMatches,
) -> Result<Option<Verb>, Error> {
    let typed = || Ok::<_, Error>(Gadgetry::from_arg_matches(matches)?.verb);
    Ok(match verb {
        ConfigVerb::Agent => {
            let args = AgentArgs::from_settings(settings, options)?;
            Some(Verb::Agent(Box::new(args)))
        }
        #[cfg(feature = "chat")]
        ConfigVerb::Chat => {
            let args = ChatArgs::from_settings(settings, options)?;
            Some(Verb::Chat(Box::new(args)))
        }
        #[cfg(feature = "acp")]
        ConfigVerb::Acp => {
            let args = AcpArgs::from_settings(settings, options)?;
            Some(Verb::Acp(Box::new(args)))
        }
        ConfigVerb::Complete => {
            let args = CompleteArgs::from_settings(settings, options)?;
            Some(Verb::Complete(Box::new(args)))
        }
        ConfigVerb::Serve => {
            let args = ServeArgs::from_settings(settings, options)?;
            Some(Verb::Serve(Box::new(args)))
        }
        #[cfg(feature = "restate")]
        ConfigVerb::Worker => {
            let args = WorkerArgs::from_settings(settings, options)?;
            Some(Verb::Worker(Box::new(args)))
        }
        _ => {
            let mut verb = typed()?;
            match &mut verb {
                Some(Verb::Gadget(args)) => {
                    *args.source_mut() = GadgetOptions::from_settings(settings, options)?;
                }
                #[cfg(feature = "restate")]
                Some(Verb::Submit(args)) => {
                    args.restate = RestateArgs::from_settings(settings, options)?;
                }
                _ => {}
            }
            verb
        }
    })
}
