//! The rules of the scheduler, as transcripts: what is told, and indented below it, what follows.
//!
//! `add id[:dependency,..] [Gadget] [max=N] [alone]`, `bad id text`, `ok id`, `fail id text`, `skip|run|fallback id`,
//! `begin`, `end`, `cancel`. The second call with one id is written `id'`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod circles;
mod dependencies;
mod ids;
mod limits;

use gadgetry_proto::id::CallId;
use gadgetry_proto::sched::{Action, Config, Job, Scheduler, SkipDecision};

fn parallel() -> Config {
    Config::default()
}

fn sequential() -> Config {
    Config {
        sequential: true,
        ..Config::default()
    }
}

fn at_most(max_concurrent: u32) -> Config {
    Config {
        max_concurrent: Some(max_concurrent),
        ..Config::default()
    }
}

fn limit_per_reply(max_per_reply: u32) -> Config {
    Config {
        max_per_reply: Some(max_per_reply),
        ..Config::default()
    }
}

/// Plays the transcript twice: once as it is, once saved and loaded after every line.
#[track_caller]
fn check(config: &Config, transcript: &str) {
    let expected: Vec<&str> = transcript
        .lines()
        .map(|line| line.strip_prefix("        ").unwrap_or(line).trim_end())
        .filter(|line| !line.is_empty())
        .collect();
    for reload in [false, true] {
        let mut stage = Stage::new(config.clone(), reload);
        for line in expected.iter().filter(|line| !line.starts_with(' ')) {
            stage.play(line);
        }
        assert_eq!(
            stage.transcript.join("\n"),
            expected.join("\n"),
            "reload: {reload}"
        );
    }
}

struct Stage {
    scheduler: Scheduler,
    reload: bool,
    /// The label of every call; the index is its `CallId`.
    labels: Vec<String>,
    transcript: Vec<String>,
}

impl Stage {
    fn new(config: Config, reload: bool) -> Self {
        Self {
            scheduler: Scheduler::new(config),
            reload,
            labels: Vec::new(),
            transcript: Vec::new(),
        }
    }

    fn play(&mut self, line: &str) {
        self.transcript.push(line.to_owned());
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (first, words) = rest.split_once(' ').unwrap_or((rest, ""));
        match verb {
            "begin" => self.scheduler.begin_reply(),
            "end" => self.scheduler.end_reply(),
            "add" => {
                let job = self.job(first, words);
                self.scheduler.add(job);
            }
            "bad" => self.scheduler.add_failed(first.into(), words.to_owned()),
            "ok" => assert!(self.scheduler.finish(self.call(first), Ok(()))),
            "fail" => assert!(
                self.scheduler
                    .finish(self.call(first), Err(words.to_owned()))
            ),
            "skip" => assert!(self.scheduler.decide(self.call(first), SkipDecision::Skip)),
            "run" => assert!(
                self.scheduler
                    .decide(self.call(first), SkipDecision::Execute)
            ),
            "fallback" => assert!(
                self.scheduler
                    .decide(self.call(first), SkipDecision::Fallback)
            ),
            "cancel" => {
                for id in self.scheduler.cancel_all() {
                    self.say(&format!("cancelled {}", self.label(id)));
                }
            }
            "idle?" => self.say(&self.scheduler.is_idle().to_string()),
            _ => panic!("no such verb: {line}"),
        }
        loop {
            if self.reload {
                let saved = serde_json::to_string(&self.scheduler).unwrap();
                self.scheduler = serde_json::from_str(&saved).unwrap();
            }
            let Some(action) = self.scheduler.poll() else {
                break;
            };
            self.say(&match action {
                Action::Start(id) => format!("start {}", self.label(id)),
                Action::Unmet(unmet) => {
                    let label = self.label(unmet.id);
                    format!(
                        "unmet {label} <- {}: {}",
                        unmet.failed_dependency, unmet.error
                    )
                }
                Action::Reject { id, error } => format!("reject {}: {error}", self.label(id)),
                Action::OverLimit(unmet) => {
                    let label = self.label(unmet.id);
                    format!(
                        "over {label} <- {}: {}",
                        unmet.failed_dependency, unmet.error
                    )
                }
            });
        }
    }

    fn job(&mut self, header: &str, words: &str) -> Job {
        let (label, dependencies) = header.split_once(':').unwrap_or((header, ""));
        let id = CallId(u32::try_from(self.labels.len()).unwrap());
        self.labels.push(label.to_owned());
        let dependencies = dependencies.split(',').filter(|id| !id.is_empty());
        let mut job = Job::new(id, label.trim_end_matches('\''), "Any").after(dependencies);
        for word in words.split(' ').filter(|word| !word.is_empty()) {
            match word.split_once('=') {
                Some((_, max)) => job.max_concurrent = Some(max.parse().unwrap()),
                None if word == "alone" => job.exclusive = true,
                None => word.clone_into(&mut job.gadget),
            }
        }
        job
    }

    fn say(&mut self, line: &str) {
        self.transcript.push(format!("  {line}"));
    }

    fn call(&self, label: &str) -> CallId {
        let index = self.labels.iter().position(|known| known == label).unwrap();
        CallId(u32::try_from(index).unwrap())
    }

    fn label(&self, id: CallId) -> &str {
        &self.labels[id.0 as usize]
    }
}
