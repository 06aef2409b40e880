//! Commands that change the options of a conversation: `/model` and `/profile`.

use super::Talk;
use super::base::agent;
use super::describe;
use crate::cli::{AgentOptions, ModelArgs};
use crate::connect::is_elsewhere;
use crate::error::Error;
use crate::modes::Mode;
use crate::options::{MODEL, Options as _};
use crate::sessions::OPTIONS;

impl Talk {
    /// Uses another model from the next message on. Headers, fields and the key variable for the server of the one before are
    /// not sent to another provider; returns whether there were any.
    pub(in crate::chat) async fn use_model(&mut self, name: &str) -> Result<bool, Error> {
        let options = &mut self.args.options.model;
        let before = options.model.replace(name.to_owned());
        let server = &mut options.server;
        let moves =
            server.base_url.is_none() && is_elsewhere(before.as_deref().unwrap_or_default(), name);
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
            self.details_mut()?.leave_server()?;
        }
        self.details_mut()?.set_option(MODEL, name)?;
        Ok(of_before.is_some_and(|(headers, key, body)| {
            !headers.is_empty() || key.is_some() || body.is_some()
        }))
    }

    /// Uses another profile from the next message on, as if the conversation was begun or continued with it. What was typed on
    /// the command line has precedence over it, and it has precedence over an earlier `/model` if it names a model. Headers, fields and
    /// the key variable that were not the profile's are not sent to the server of another one; returns whether there were
    /// any.
    pub(in crate::chat) async fn use_profile(&mut self, name: &str) -> Result<bool, Error> {
        let model = self.args.options.model.name().to_owned();
        let mut settings = self.base.with_profile(name, &model, false)?;
        let mut options = AgentOptions::from_settings(&settings, &OPTIONS)?;
        let moves = has_moved(&self.args.options.model, &options.model);
        let mut has_left = false;
        if moves {
            settings = self.base.with_profile(name, &model, true)?;
            let without = AgentOptions::from_settings(&settings, &OPTIONS)?;
            let (old, new) = (&options.model.server, &without.model.server);
            has_left = old.headers != new.headers
                || old.api_key_env != new.api_key_env
                || old.extra_body != new.extra_body;
            options = without;
        }
        // The session is where it was begun.
        let data = &self.args.options.model.data.data_dir;
        options.model.data.data_dir.clone_from(data);
        let before = std::mem::replace(&mut self.args.options, options);
        let mode = self.user.mode.get();
        let of_profile = self.args.options.approvals.approval_mode;
        if of_profile != before.approvals.approval_mode {
            self.user.mode.set(of_profile);
        }
        if let Err(error) = self.rebuild().await {
            self.args.options = before;
            self.user.mode.set(mode);
            return Err(error);
        }
        self.base.config.use_profile(name);
        if moves {
            self.base.leave_server();
        }
        let stored = self.details_mut()?.set_options(&settings);
        self.settings = settings;
        stored.map_err(|error| Error::machine(&error))?;
        Ok(has_left)
    }

    /// Uses another mode, also for the run in progress.
    pub(in crate::chat) fn use_mode(&mut self, mode: Mode) {
        self.user.mode.set(mode);
        self.facts.approval = mode;
        self.facts.mode = describe::mode(&self.args.options, mode);
    }

    /// Builds the agent for the present options. If that fails, the one before stays.
    pub(super) async fn rebuild(&mut self) -> Result<(), Error> {
        let workspaces = self.user.workspaces.clone();
        let before = workspaces.current();
        let options = &self.args.options;
        let built = async {
            let parts = self
                .base
                .parts(options, 0, &self.user, &self.approvals)
                .await?;
            let agent = agent(&parts, &self.user, self.servers.as_deref())?;
            let mode = self.user.mode.get();
            let facts = self.base.facts(options, &parts.skills, mode).await?;
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

/// Returns whether requests go to another server than before.
fn has_moved(before: &ModelArgs, after: &ModelArgs) -> bool {
    let (old, new) = (&before.server.base_url, &after.server.base_url);
    old != new || new.is_none() && is_elsewhere(before.name(), after.name())
}
