//! The options of a conversation, and what changes them: `/model` and `/profile`.

use std::env;
use std::path::PathBuf;
use std::sync::Arc;

use gadgetry::Agent;
use gadgetry::approval::{ApprovalRequest, Approvals};

use super::{Talk, User};
use crate::approvals::{UNATTENDED, rules};
use crate::args::{AgentOptions, Typed, chat_of, option_name};
use crate::build_agent::{Parts, Situation};
use crate::config::{Config, is_elsewhere, is_of_server};
use crate::error::Error;
use crate::mcp;
use crate::sessions::words_of_talk;

/// What another profile is added to: the options without those that the configuration has set.
pub(super) struct Base {
    pub(super) config: Config,
    /// What was typed, as words.
    typed: Vec<String>,
    /// Those of the session that is continued.
    stored: Option<Vec<String>>,
    /// The working directory at the start, from which configured paths are resolved.
    folder: PathBuf,
}

impl Base {
    /// Of what was typed and configured, and of the session that is continued. Call it before the working directory changes.
    pub(super) fn new(
        config: Config,
        all: &Typed,
        stored: Option<Vec<String>>,
    ) -> Result<Self, Error> {
        let typed = all.options.iter();
        let typed = words_of_talk(typed.filter(|it| config.typed.contains(&it.name)));
        let folder = env::current_dir();
        Ok(Self {
            typed: typed.map_err(|error| Error::machine(&error))?,
            folder: folder.map_err(|error| Error::machine(&error))?,
            config,
            stored,
        })
    }

    /// Forgets what was typed or stored for the server of a model that is not in use any more.
    fn leave_server(&mut self) {
        let is_left = |word: &String| is_of_server(option_name(word));
        self.typed.retain(|word| !is_left(word));
        if let Some(stored) = &mut self.stored {
            stored.retain(|word| !is_left(word));
        }
    }

    /// The profile in use, unless the options of a session are in its place.
    pub(super) fn profile(&self) -> Option<&str> {
        self.config.profile_in_use(self.stored.is_some())
    }
}

impl Talk {
    /// Uses another model from the next message on. Headers, fields and the key variable for the server of the one before are
    /// not sent to another provider; returns whether there were any.
    pub(in crate::chat) async fn use_model(&mut self, name: &str) -> Result<bool, Error> {
        let options = &mut self.args.options.model;
        let before = options.model.clone();
        name.clone_into(&mut options.model);
        let server = &mut options.server;
        let moves = server.base_url.is_none() && is_elsewhere(&before, name);
        let of_before = moves.then(|| {
            (
                std::mem::take(&mut server.headers),
                server.api_key_env.take(),
                server.extra_body.take(),
            )
        });
        let built = self.rebuild().await;
        let options = &mut self.args.options.model;
        if let Err(error) = built {
            options.model = before;
            if let Some(of_before) = of_before {
                let server = &mut options.server;
                (server.headers, server.api_key_env, server.extra_body) = of_before;
            }
            return Err(error);
        }
        if moves {
            self.base.leave_server();
            self.details_mut()?.leave_server();
        }
        let stored = self.details_mut()?.set_option("model", name);
        stored.map_err(|error| Error::machine(&error))?;
        Ok(of_before.is_some_and(|(headers, key, body)| {
            !headers.is_empty() || key.is_some() || body.is_some()
        }))
    }

    /// Uses another profile from the next message on, as if the conversation was begun or continued with it. What was typed on
    /// the command line has precedence over it, and it has precedence over an earlier `/model` if it names a model.
    pub(in crate::chat) async fn use_profile(&mut self, name: &str) -> Result<(), Error> {
        let Base {
            config,
            typed,
            stored,
            folder,
        } = &self.base;
        let model = &self.args.options.model.model;
        let in_use = (model.as_str(), folder.as_path());
        let words = config.chat_with_profile(name, typed, stored.as_deref(), in_use)?;
        let mut args = chat_of(words)?;
        // The session is where it was begun.
        let data = &self.args.options.model.data.data_dir;
        args.options.model.data.data_dir.clone_from(data);
        let before = std::mem::replace(&mut self.args.options, args.options);
        if let Err(error) = self.rebuild().await {
            self.args.options = before;
            return Err(error);
        }
        self.args.typed = args.typed;
        self.base.config.use_profile(name);
        let typed = self.args.typed.clone();
        let stored = self.details_mut()?.set_options(&typed);
        stored.map_err(|error| Error::machine(&error))
    }

    /// Builds the agent for the present options. If that fails, the one before stays.
    pub(super) async fn rebuild(&mut self) -> Result<(), Error> {
        let workspaces = self.user.workspaces.clone();
        let before = workspaces.current();
        let options = &self.args.options;
        let built = async {
            let parts = read(options, 0, &self.user, self.approvals.clone()).await?;
            let agent = agent(&parts, &self.user, self.servers.as_deref())?;
            let facts = self.base.facts(options, &parts.skills).await?;
            Ok((agent, parts.skills, facts))
        };
        match built.await {
            Ok((agent, skills, facts)) => {
                self.agent = agent;
                self.skills = skills;
                self.facts = facts;
                Ok(())
            }
            Err(error) => {
                workspaces.select(before);
                Err(error)
            }
        }
    }
}

/// Reads what the agent is made from.
pub(super) async fn read<'o>(
    options: &'o AgentOptions,
    replies: usize,
    user: &User,
    approvals: Approvals,
) -> Result<Parts<'o>, Error> {
    let situation = Situation {
        replies,
        human: Some(Arc::clone(&user.human)),
        approvals: Some(approvals),
        observers: vec![Box::new(user.injected.clone())],
        workspaces: user.workspaces.clone(),
        ..Situation::default()
    };
    Parts::read(options, situation).await
}

/// The agent, whose gadgets the user can cancel.
pub(super) fn agent(
    parts: &Parts<'_>,
    user: &User,
    servers: Option<&mcp::Connected>,
) -> Result<Agent, Error> {
    parts.agent_with(servers, |gadget| user.flight.watch(gadget))
}

/// What decides about calls.
pub(super) fn approvals(options: &AgentOptions, user: &User) -> Result<Approvals, Error> {
    let approvals = Approvals::new(rules(&options.approvals)?).unattended(UNATTENDED);
    let Some(approver) = user.approver.clone() else {
        return Ok(approvals);
    };
    Ok(approvals.approver(move |request: ApprovalRequest| {
        let approver = Arc::clone(&approver);
        async move { approver.approve(request).await }
    }))
}
