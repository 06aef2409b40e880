//! The environment of a gadget under test: models, human input, a budget.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use gadgetry::proto::delta::Delta;
use gadgetry::proto::error::{ModelError, ModelErrorKind};
use gadgetry::proto::message::Request;
use gadgetry::{Human, HumanQuestion, Model, Services, Toolbox, Values};

/// As the test has set it up.
#[derive(Clone, Default)]
pub(super) struct Surroundings {
    pub(super) model: Option<Arc<dyn Model>>,
    pub(super) models: BTreeMap<String, Arc<dyn Model>>,
    pub(super) user: Option<User>,
    pub(super) budget: Option<f64>,
    pub(super) values: Values,
}

/// Source of the answers to questions.
#[derive(Clone)]
pub(super) enum User {
    /// Says this, one after the other, and then nothing.
    Answers(Vec<String>),
    Human(Arc<dyn Human>),
}

impl Surroundings {
    /// Makes the context of one call; `None` if it is to have no run around it. Questions are written down.
    pub(super) fn services(&self) -> Option<(Services, Arc<Asked>)> {
        let nothing = self.model.is_none()
            && self.models.is_empty()
            && self.user.is_none()
            && self.values.is_empty()
            && self.budget.is_none();
        if nothing {
            return None;
        }
        let asked = Arc::new(Asked {
            answers: match &self.user {
                Some(User::Human(human)) => Answers::Human(Arc::clone(human)),
                Some(User::Answers(answers)) => Answers::Left(Mutex::new(answers.clone().into())),
                None => Answers::Left(Mutex::default()),
            },
            questions: Mutex::default(),
        });
        let model = self.model.clone().unwrap_or_else(|| Arc::new(NoModel));
        let mut services = Services::new(model, Toolbox::default());
        services.models = self.models.clone().into_iter().collect();
        if self.user.is_some() {
            services.human = Some(Arc::clone(&asked) as Arc<dyn Human>);
        }
        services.scope.budget = self.budget;
        services.values = self.values.clone();
        Some((services, asked))
    }
}

/// The human input of one call.
pub(super) struct Asked {
    answers: Answers,
    questions: Mutex<Vec<String>>,
}

enum Answers {
    Left(Mutex<VecDeque<String>>),
    Human(Arc<dyn Human>),
}

impl Asked {
    pub(super) fn questions(&self) -> Vec<String> {
        let questions = self.questions.lock();
        questions.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Human for Asked {
    fn ask(&self, question: HumanQuestion) -> BoxFuture<'_, Option<String>> {
        let mut questions = self
            .questions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        questions.push(question.text.clone());
        drop(questions);
        match &self.answers {
            Answers::Human(human) => human.ask(question),
            Answers::Left(left) => {
                let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
                Box::pin(std::future::ready(left.pop_front()))
            }
        }
    }
}

/// The model of a test without one.
struct NoModel;

impl Model for NoModel {
    fn stream(&self, _: Request) -> BoxStream<'static, Delta> {
        let error = Delta::Error(ModelError::new(
            ModelErrorKind::BadRequest,
            "the test gives the gadget no model; add one with `.model(…)`",
        ));
        stream::iter([error]).boxed()
    }

    fn name(&self) -> &'static str {
        "none"
    }
}
