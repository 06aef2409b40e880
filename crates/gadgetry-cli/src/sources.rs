//! The gadgets that options describe: built-in ones, and those of a file.

use std::env;
use std::fmt::Display;
use std::sync::Arc;

use gadgetry::proto::schema::{Unterminated, closest};
use gadgetry::{CommandGadget, DynGadget, Toolbox, command};
use gadgetry_builtins::{AfterEdit, Builtins, ReadOnly};

use crate::cli::GadgetOptions;
use crate::config::Declared;
use crate::error::Error;
use crate::mcp;
use crate::own_files::{self, OwnFiles};
use crate::workspaces::Workspaces;

/// Built-in gadgets that need a user during the run.
pub(crate) const OF_USER: &[&str] = &["AskUser"];
/// Built-in gadgets that mean something in a run, and nothing to a client that calls single gadgets.
pub(crate) const OF_RUN: &[&str] = &["AskUser", "TellUser", "Finish", "TodoWrite"];

/// Environment of gadgets, apart from their own options.
pub(crate) struct Environment<'e> {
    /// Variables with keys that no program sees.
    pub(crate) key: &'e [String],
    pub(crate) unterminated: Unterminated,
    /// Whether the model sees images.
    pub(crate) images: bool,
    /// Has the folder of the built-in gadgets.
    pub(crate) workspaces: &'e Workspaces,
    /// Commands that run after a file was changed.
    pub(crate) after_edit: Vec<AfterEdit>,
    /// Files that no call may change, next to the gadget file and what it names.
    pub(crate) own_files: OwnFiles,
    /// Built-in gadgets that are left out unless the options name them.
    pub(crate) without: &'e [&'e str],
    /// Whether commands may change nothing.
    pub(crate) read_only: ReadOnly,
}

/// The gadgets.
pub(crate) struct Sources {
    /// Gadgets of the file.
    pub(crate) programs: Vec<CommandGadget>,
    pub(crate) builtins: Vec<Arc<dyn DynGadget>>,
}

impl Sources {
    /// Loads them. Nothing is started.
    pub(crate) fn load(
        options: &GadgetOptions,
        environment: &Environment<'_>,
    ) -> Result<Self, Error> {
        let mut programs = Vec::new();
        if let Some(file) = &options.gadgets {
            programs = command::load(file).map_err(Error::input)?;
        }
        let programs = programs.into_iter().map(|gadget| {
            let gadget = gadget.without_env(environment.key);
            gadget.unterminated(environment.unterminated)
        });
        let programs: Vec<CommandGadget> = programs.collect();
        Ok(Self {
            builtins: builtins(options, environment, &programs)?,
            programs,
        })
    }

    /// All of them, the built-in ones first.
    pub(crate) fn into_gadgets(self) -> Vec<Arc<dyn DynGadget>> {
        let programs = self.programs.into_iter();
        let programs = programs.map(gadgetry::IntoGadget::into_gadget);
        self.builtins.into_iter().chain(programs).collect()
    }
}

/// The built-in gadgets of an agent: `all`, `none`, or names with commas.
pub(crate) fn wanted_builtins(options: &GadgetOptions) -> &str {
    let default = if options.gadgets.is_some() {
        "none"
    } else {
        "all"
    };
    options.builtins.as_deref().unwrap_or(default)
}

/// Returns the built-in gadgets of the options that write and edit files.
pub(crate) fn builtin_edits(options: &GadgetOptions) -> Vec<&'static str> {
    let edits = ["WriteFile", "EditFile"].into_iter();
    edits.filter(|it| has_builtin(options, it)).collect()
}

/// Returns whether the options have this built-in gadget.
pub(crate) fn has_builtin(options: &GadgetOptions, name: &str) -> bool {
    let wanted = wanted_builtins(options);
    let mut names = wanted.split(',').map(str::trim);
    wanted == "all" || names.any(|it| it.eq_ignore_ascii_case(name))
}

fn builtins(
    options: &GadgetOptions,
    environment: &Environment<'_>,
    programs: &[CommandGadget],
) -> Result<Vec<Arc<dyn DynGadget>>, Error> {
    let wanted = wanted_builtins(options);
    if wanted == "none" {
        return Ok(Vec::new());
    }
    let here = env::current_dir().map_err(|error| Error::machine(&error))?;
    let folder = options.workspace.as_ref().unwrap_or(&here);
    let workspace = environment.workspaces.open(folder).map_err(Error::input)?;
    (environment.own_files).protect(&workspace, options.sandbox)?;
    workspace.protect(options.gadgets.iter().map(|file| here.join(file)));
    workspace.protect(own_files::of_gadgets(programs, &here, &workspace)?);
    let mut gadgets = Builtins::of(workspace)
        .images(environment.images)
        .sandbox(options.sandbox)
        .without_env(environment.key)
        .read_only(environment.read_only.clone())
        .after_edit(environment.after_edit.iter().cloned())
        .gadgets();
    if wanted == "all" {
        gadgets.retain(|it| !environment.without.contains(&&*it.spec().name));
    } else {
        gadgets = named(&gadgets, wanted)?;
    }
    Ok(gadgets)
}

/// Returns the gadgets whose names are in the list.
fn named(gadgets: &[Arc<dyn DynGadget>], list: &str) -> Result<Vec<Arc<dyn DynGadget>>, Error> {
    let mut chosen = Vec::new();
    for name in list.split(',').map(str::trim) {
        let mut all = gadgets.iter();
        let Some(gadget) = all.find(|it| it.spec().name.eq_ignore_ascii_case(name)) else {
            let names: Vec<&str> = gadgets.iter().map(|it| it.spec().name.as_str()).collect();
            let hint = match closest(name, names.iter().copied()).first() {
                Some(near) => format!("; did you mean {near}?"),
                None => format!("; they are {}", names.join(", ")),
            };
            return Err(Error::input(format_args!(
                "--builtins: there is no built-in gadget {name}{hint}"
            )));
        };
        chosen.push(Arc::clone(gadget));
    }
    Ok(chosen)
}

impl GadgetOptions {
    /// The gadgets without a model, checked as for a run, with those of `servers`. The built-in gadgets `without` are left out unless the
    /// options name them. What `declared` names is protected from them.
    pub(crate) fn toolbox(
        &self,
        declared: &Declared,
        servers: Option<&mcp::Connected>,
        without: &[&str],
    ) -> Result<Toolbox, Error> {
        let here = env::current_dir().map_err(|error| Error::machine(&error))?;
        let sources = Sources::load(
            self,
            &Environment {
                key: &[],
                unterminated: Unterminated::Confirm,
                images: true,
                workspaces: &Workspaces::default(),
                after_edit: Vec::new(),
                own_files: OwnFiles::of(declared, self, None, &here),
                without,
                read_only: ReadOnly::default(),
            },
        )?;
        let mut gadgets = sources.into_gadgets();
        if let Some(servers) = servers {
            gadgets.extend(servers.gadgets(&gadgets));
        }
        let mut toolbox = Toolbox::default();
        for gadget in gadgets {
            let added = toolbox.add(gadget);
            added.map_err(|error| self.at_fault(error))?;
        }
        Ok(toolbox)
    }

    /// A mistake in the gadgets, with the file that they are in.
    pub(crate) fn at_fault(&self, error: impl Display) -> Error {
        match &self.gadgets {
            Some(file) => Error::at(file.display(), error),
            None => Error::input(error),
        }
    }
}
