//! The list of members that a file asks for. The one in force is in the ballots; the file's own
//! `generation` says whether it is an older list or the next one.

use super::contents::ClusterFile;
use crate::quorum::node_state::NodeState;
use election_core::{
    NodeId,
    quorum::{ChangeRefusal, Event, MemberChange, MemberList, Members},
};

impl ClusterFile {
    /// Proposes what the file asks for, if this node leads. Returns why its list is not the one in force:
    /// as an error if somebody has to do something about it.
    ///
    /// # Errors
    /// What is to be done.
    pub(super) fn wish(&self, state: &NodeState) -> Result<Option<String>, String> {
        let quorum = state.quorum();
        let (members, lists) = (quorum.config().members().clone(), quorum.lists());
        let in_force = *lists.established();
        let changes = self.changes(&members, &in_force);
        let next = in_force.generation + 1;
        let why = match (self.generation, changes.as_slice()) {
            (_, []) => return Ok(None),
            (generation, [change]) if generation == next => {
                let refusal = quorum.change_members(change);
                drop(quorum);
                match refusal {
                    Ok(()) => {
                        state.order(Event::ChangeMembers(change.clone()));
                        return Ok(None);
                    }
                    Err(ChangeRefusal::NotLeading) => {
                        return Ok(Some(format!(
                            "{}: generation {next} lists other members; the leader proposes them \
                             once it has this file, too",
                            self.what()
                        )));
                    }
                    // These take their time.
                    Err(ChangeRefusal::UnderWay | ChangeRefusal::NotSettled) => return Ok(None),
                    Err(why) => why.to_string(),
                }
            }
            (generation, _) if generation == next => {
                "members change one at a time; list only one more, or one less".to_owned()
            }
            (generation, _) if generation < next => {
                format!(
                    "take over the newer file, or set generation = {next} to change the members"
                )
            }
            (_, _) => format!("set generation = {next} to change the members, one at a time"),
        };
        let ids = in_force.voters.members().filter_map(|peer| members.id(peer));
        let ids: Vec<_> = ids.map(NodeId::as_str).collect();
        Err(format!(
            "{}: generation {} lists other members than generation {}, which is in force ({}): {why}",
            self.what(),
            self.generation,
            in_force.generation,
            ids.join(", ")
        ))
    }

    /// From the list in force to the file's.
    fn changes(&self, members: &Members, in_force: &MemberList) -> Vec<MemberChange> {
        let known = in_force.voters.members().filter_map(|peer| members.id(peer));
        let known: Vec<_> = known.cloned().collect();
        let wanted = self.ids();
        let gone = known.iter().filter(|id| !wanted.contains(id.as_str())).cloned();
        let gone = gone.map(MemberChange::Remove).collect::<Vec<_>>();
        let is_new = |id: &&&str| !known.iter().any(|known| known.as_str() == **id);
        let new = wanted.iter().filter(is_new).filter_map(|id| {
            let witness = self.is_witness(id).unwrap_or_default();
            NodeId::new(id).ok().map(|id| MemberChange::Add { id, witness })
        });
        new.chain(gone).collect()
    }
}
