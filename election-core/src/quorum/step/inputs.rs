//! Which rule takes which input.

use crate::{
    Change, Input,
    quorum::{machine::Quorum, message::Event, state::timers::Timer},
};

impl Quorum {
    pub(crate) fn handle(&mut self, input: &Input<Event>) -> Option<Change> {
        match input {
            Input::Tick => None,
            Input::Event(Event::Received { from, connection, message }) => {
                self.received(*from, *connection, message)
            }
            Input::Event(Event::Disconnected { from, connection }) => {
                if let Some(view) = self.peers.get_mut(*from) {
                    view.disconnected(*connection);
                }
                None
            }
            Input::Event(Event::Saved(epoch)) => self.saved(*epoch),
            Input::Event(Event::SaveFailed(epoch)) => {
                let again = self.now.after(self.config.timing.hb_interval);
                if self.voter.save_failed(*epoch) {
                    self.timers.set(Timer::Save, again);
                    self.alerts.save_failed(*epoch);
                }
                None
            }
            Input::Event(Event::Position(position)) => {
                self.moved(*position);
                None
            }
            Input::Event(Event::Health(healthy)) => self.health(*healthy),
            Input::Event(Event::HandOver(to)) => self.hand_over(*to),
            Input::Event(Event::Pause(lasts)) => {
                self.pause(*lasts);
                None
            }
            Input::Event(Event::Resume) => {
                self.resume();
                None
            }
            Input::Event(Event::WallClock(time)) => {
                self.wall_clock_reads(*time);
                None
            }
            Input::Event(Event::ChangeMembers(change)) => {
                self.propose_members(change);
                None
            }
            Input::Resign => self.resign(),
            Input::Stopped(epoch) => {
                self.stopped(*epoch);
                None
            }
            Input::Withdraw => self.withdraw(),
        }
    }
}
