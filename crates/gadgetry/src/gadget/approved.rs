//! Decision about a call, for the gadget that executes it.

use std::sync::Arc;

use crate::context::ExecutionContext;
use crate::error::GadgetError;
use crate::gadget::{CallPreview, Permission, Subject};

/// Decision about a call that runs.
pub(crate) struct Approved {
    /// The preview that the decision is about.
    pub(crate) preview: CallPreview,
    /// True if the user saw it. Rules see the subject and the origin only.
    pub(crate) is_shown: bool,
    /// The rules of the run, for further subjects of the call.
    pub(crate) rules: Box<dyn Fn(&Subject) -> Permission + Send + Sync>,
}

impl Approved {
    fn holds_for(&self, now: &CallPreview) -> bool {
        let then = &self.preview;
        let is_same = then.subject == now.subject && then.origin == now.origin;
        if !self.is_shown {
            return is_same;
        }
        // Two diffs of the same change may differ, because making one is limited in time.
        let is_bound = !then.bound.is_empty();
        is_same
            && then.notes == now.notes
            && then.bound == now.bound
            && (is_bound || then.diff == now.diff)
    }
}

impl ExecutionContext {
    /// Checks that `now`, the effects that the call is about to have, was approved: everything that the user was shown or, if
    /// rules decided, subject and origin. Always `Ok` without [approvals](crate::approval).
    ///
    /// A gadget with a preview calls this right before its first effect, with a preview of the files that it has opened by then.
    ///
    /// ```
    /// use gadgetry::{CallPreview, ExecutionContext, GadgetError, Subject};
    ///
    /// fn write(path: &str, context: &ExecutionContext) -> Result<(), GadgetError> {
    ///     context.check_approved(&CallPreview::of(Subject::Path(path.to_owned())))?;
    ///     // Writes it.
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Something else was approved. The gadget must return the error without having changed anything; the call then gets a new
    /// decision, with a new preview, and is executed again if it is allowed.
    pub fn check_approved(&self, now: &CallPreview) -> Result<(), GadgetError> {
        match self.decided() {
            Some(approved) if !approved.holds_for(now) => {
                self.set_changed();
                Err("what the call acts on has changed since it was approved".into())
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Returns the decision of the run's rules about a further `subject` of the call, such as a file in a folder that is
    /// searched, or the address that a page redirects to. Without a matching rule, it is the gadget's own permission.
    ///
    /// [`Permission::Allow`] without [approvals](crate::approval).
    pub fn permission_for(&self, subject: &Subject) -> Permission {
        let decided = self.decided();
        decided.map_or(Permission::Allow, |approved| (approved.rules)(subject))
    }

    /// Returns whether the call may act on a further `subject`, which is part of the approved one: rules allow it, or the user
    /// has approved the call and no rule denies it.
    pub fn may_include(&self, subject: &Subject) -> bool {
        match self.permission_for(subject) {
            Permission::Allow => true,
            Permission::Ask => self.decided().is_some_and(|approved| approved.is_shown),
            Permission::Deny => false,
        }
    }

    fn decided(&self) -> Option<Arc<Approved>> {
        self.approved()?.downcast().ok()
    }
}
