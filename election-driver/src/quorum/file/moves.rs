//! What a running member takes up of its cluster's file, which may be edited meanwhile: where the members
//! are, and who else is to be one. (Certificates are read again by what holds them.)

use super::{contents::ClusterFile, error::ClusterFileError};
use crate::quorum::{node_state::NodeState, starting::StartError};
use election_core::{
    NodeId,
    quorum::{Members, Peer},
};
use std::{
    sync::{Arc, Weak},
    thread,
    time::Duration,
};
use toml::Spanned;
use tracing::{Span, warn};

/// How often the file is read; its certificates have the same pace.
const INTERVAL: Duration = Duration::from_secs(5);

impl ClusterFile {
    /// Tells what is hardly meant, and keeps a running node up to date on where the others are, until it
    /// ends. A thread of its own does so: the file may lie on a disk or a network that hangs.
    ///
    /// # Errors
    /// If there is no thread to be had.
    pub(in crate::quorum) fn follow(
        self,
        state: &Arc<NodeState>,
        span: &Span,
    ) -> Result<(), StartError> {
        let (state, span) = (Arc::downgrade(state), span.clone());
        let mut warned = Vec::new();
        span.in_scope(|| warn_anew(&mut warned, self.warnings()));
        let run = move || {
            let (_inside, mut told) = (span.entered(), None);
            loop {
                thread::sleep(INTERVAL);
                if state.upgrade().is_none_or(|state| state.is_closed()) {
                    return;
                }
                let odd = self.moved(&state, &mut warned).err();
                if let (Some(state), Some(why)) = (state.upgrade(), &odd) {
                    *state.odd_file() = Some(why.to_string());
                }
                if let Some(why) = odd.as_ref().filter(|_| odd != told) {
                    warn!(event = "warning", "{why}; the previous addresses stay in use");
                }
                told = odd;
            }
        };
        let thread = thread::Builder::new().name("election-moves".to_owned()).spawn(run);
        thread.map(drop).map_err(StartError::Thread)
    }

    /// Takes up what the file says now.
    fn moved(
        &self,
        state: &Weak<NodeState>,
        warned: &mut Vec<String>,
    ) -> Result<(), ClusterFileError> {
        let again = match self.again() {
            Ok(again) => again,
            // What is wrong with a file that names certificates is told with them.
            Err(_) if self.contents.tls.is_some() => return Ok(()),
            Err(why) => return Err(why),
        };
        // Only now: a disk that hangs keeps no member in its cluster.
        let Some(state) = state.upgrade() else { return Ok(()) };
        let members = state.quorum().config().members().clone();
        let named = again.members().map(|(id, address)| (id.to_owned(), address.to_owned()));
        let moved = state.relocate_all(&named.collect::<Vec<_>>());
        moved.map_err(|error| again.refused("", &error))?;
        let wish = again.wish(&state);
        *state.odd_file() = wish.clone().unwrap_or_else(Some);
        let odd = self.kept(&again, &members).into_iter().chain(wish.err());
        warn_anew(warned, again.warnings().into_iter().chain(odd).collect());
        Ok(())
    }

    /// What was changed in the file and counts only from a start.
    fn kept(&self, again: &Self, members: &Members) -> Option<String> {
        let (old, new) = (&self.contents, &again.contents);
        let me = members.id(members.me()).map_or("", NodeId::as_str);
        let own = |file: &Self| {
            let own = file.members.iter().find(|member| member.id == me);
            own.map(|own| (own.address.clone(), own.announce.clone())).unwrap_or_default()
        };
        let mut voters = members.others().filter(|peer| members.is_voter(*peer));
        let differs = |peer: Peer| {
            let role = members.id(peer).and_then(|id| again.is_witness(id.as_str()));
            role.is_some_and(|role| role != members.is_witness(peer))
        };
        let stays = again.ids().contains(me);
        let agreed = [
            ("down-after", plain(&old.down_after) != plain(&new.down_after)),
            ("witness", voters.any(differs)),
        ];
        let others = [
            ("preferred", plain(&old.preferred) != plain(&new.preferred)),
            ("fail-back", plain(&old.fail_back) != plain(&new.fail_back)),
            ("min-epoch", plain(&old.min_epoch) != plain(&new.min_epoch)),
            ("shards", plain(&old.shards) != plain(&new.shards)),
            ("insecure", old.insecure != new.insecure),
            ("address", stays && own(self).0 != own(again).0),
            ("announce", stays && own(self).1 != own(again).1),
        ];
        let changed = |keys: &[(&'static str, bool)]| {
            keys.iter().filter(|(_, differs)| *differs).map(|(key, _)| *key).collect::<Vec<_>>()
        };
        let all = [changed(&agreed), changed(&others)].concat().join(", ");
        let remedy = match changed(&agreed).is_empty() {
            true => "",
            false => {
                "; to change what members have to agree on, stop all, and start each once with \
                 --new-peers (`new_peers` in a program)"
            }
        };
        let what = again.what();
        (!all.is_empty())
            .then(|| format!("{what}: {me} keeps the previous {all} until it restarts{remedy}"))
    }
}

fn plain<T: Clone>(value: &Option<Spanned<T>>) -> Option<T> {
    value.as_ref().map(|value| value.get_ref().clone())
}

/// Tells what is hardly meant and was not told last.
fn warn_anew(told: &mut Vec<String>, warnings: Vec<String>) {
    for warning in warnings.iter().filter(|warning| !told.contains(warning)) {
        warn!(event = "warning", "{warning}");
    }
    *told = warnings;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> ClusterFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        ClusterFile::read("the file", file.path()).unwrap()
    }

    #[test]
    fn what_counts_only_from_a_start_is_named() {
        let text = "election = 'e'\ndown-after = '3s'\n[[member]]\nid = 'n1'\naddress = 'a:1'\n\
                    [[member]]\nid = 'n2'\naddress = 'b:1'\n";
        let ids = ["n1", "n2"].map(|id| NodeId::new(id).unwrap());
        let members = Members::new(ids.to_vec(), &ids[0]).unwrap();
        let kept =
            |old: &str, new: &str| read(text).kept(&read(&text.replacen(old, new, 1)), &members);
        assert_eq!(kept("b:1", "c:1"), None, "taken up while n1 runs");
        for (old, new, named) in [
            ("3s", "5s", "the previous down-after until"),
            ("b:1'", "b:1'\nwitness = true", "the previous witness until"),
            ("a:1", "c:1", "the previous address until"),
            ("a:1'", "a:1'\nannounce = 'd:1'", "the previous announce until"),
            (
                "[[",
                "preferred = 'n2'\nfail-back = '9s'\nmin-epoch = 7\nshards = 2\n\
                    insecure = true\n[[",
                "preferred, fail-back, min-epoch, shards, insecure until",
            ),
        ] {
            let told = kept(old, new).unwrap();
            assert!(told.contains(named), "{told}");
            let is_agreed = named.contains("down-after") || named.contains("witness");
            assert_eq!(told.contains("--new-peers"), is_agreed, "{told}");
        }
    }
}
