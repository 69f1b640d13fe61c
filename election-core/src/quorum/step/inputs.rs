//! Which rule takes which input.

use crate::{
    Change, Input,
    quorum::{machine::Quorum, message::Event, state::timers::Timer},
};

impl Quorum {
    pub(crate) fn handle(&mut self, input: &Input<Event>) -> Option<Change> {
        match input {
            Input::Tick => {}
            Input::Event(Event::Received { from, connection, message }) => {
                return self.received(*from, *connection, message);
            }
            Input::Event(Event::Disconnected { from, connection }) => {
                if let Some(view) = self.peers.get_mut(*from) {
                    view.disconnected(*connection);
                }
            }
            Input::Event(Event::Saved(epoch)) => return self.saved(*epoch),
            Input::Event(Event::SaveFailed(epoch)) => {
                let again = self.now.after(self.config.timing.hb_interval);
                if self.voter.save_failed(*epoch) {
                    self.timers.set(Timer::Save, again);
                    self.alerts.save_failed(*epoch);
                }
            }
            Input::Event(Event::Position(position)) => self.moved(*position),
            Input::Event(Event::Health(healthy)) => return self.health(*healthy),
            Input::Event(Event::HandOver(to)) => return self.hand_over(*to),
            Input::Event(Event::Pause(lasts)) => self.pause(*lasts),
            Input::Event(Event::Resume) => self.resume(),
            Input::Event(Event::WallClock(time)) => self.wall_clock_reads(*time),
            Input::Resign => return self.resign(),
            Input::Stopped(epoch) => self.stopped(*epoch),
            Input::Withdraw => return self.withdraw(),
        }
        None
    }
}
