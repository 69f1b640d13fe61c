//! What is still to be published: who leads, and which alerts hold.

use crate::{
    Change,
    quorum::{machine::Quorum, state::alerts::Published},
};

impl Quorum {
    /// The change that is still to be published, if this step has published none yet.
    pub(crate) fn owed_change(&mut self) -> Option<Change> {
        if let Some(owed) = self.owed_publication() {
            self.published.tell(owed);
            return Some(match self.followed() {
                Some((term, label)) => Change::Followed { term, label, elected_ms: None },
                None => Change::Vacant,
            });
        }
        self.alerts.tell(self.config.members()).map(Change::Alert)
    }

    fn owed_publication(&self) -> Option<Published> {
        let owed = match &self.following {
            Some(followed) => {
                Published::Followed(followed.primary, followed.token, followed.label.is_some())
            }
            None if self.published == Published::Nothing && !self.boot.is_over() => return None,
            None => Published::Vacant,
        };
        (owed != self.published).then_some(owed)
    }
}
