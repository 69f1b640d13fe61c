//! The live view on a terminal, and plain lines elsewhere.
//!
//! The view uses the terminal's alternate screen, whatever its size and however that changes, and
//! gives the main screen back as it was.

use super::{report::Failover, stage::Seen};
use ratatui::{
    DefaultTerminal, Frame,
    layout::{Constraint, Layout},
    style::{Style, Stylize as _},
    text::Line,
    widgets::{Paragraph, Row as Cells, Table},
};
use rustix::{
    stdio::stdin,
    termios::{
        LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, tcflush, tcgetattr, tcsetattr,
    },
};
use std::io::{IsTerminal as _, Write as _};

/// The greatest width of the bar that shows for how long the leader leads yet.
const BAR: usize = 24;
/// The columns beside the bar, of 60: mark, name, process, and the seconds left.
const BESIDE: usize = 36;

/// The state to show.
pub(super) struct Picture<'a> {
    /// Name and process.
    pub(super) candidates: Vec<(&'a str, i32)>,
    pub(super) seen: &'a Seen,
    pub(super) failovers: &'a [Failover],
    /// How many leaders will be killed; none for no end.
    pub(super) kills: Option<u32>,
}

pub(super) enum View {
    Lines,
    /// The terminal, until it is given back.
    Screen(Option<Box<DefaultTerminal>>),
}

/// Whether there is a terminal that can be drawn on and that answers.
pub(super) fn is_interactive() -> bool {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    !dumb && std::io::stdout().is_terminal() && std::io::stdin().is_terminal()
}

impl View {
    /// The screen if `live`, unless it is not available.
    pub(super) fn new(live: bool) -> Self {
        let terminal = live.then(ratatui::try_init).and_then(Result::ok);
        let screen =
            terminal.map_or(Self::Lines, |terminal| Self::Screen(Some(Box::new(terminal))));
        if screen.is_live() && keep_interrupt().is_err() {
            return Self::Lines; // the screen is given back
        }
        screen
    }

    pub(super) fn is_live(&self) -> bool {
        matches!(self, Self::Screen(_))
    }

    /// Prints something that happened; the live view shows it anyway.
    pub(super) fn line(&mut self, line: &str) {
        if !self.is_live() {
            // A reader that has gone away does not end the demo's clean-up.
            let mut output = std::io::stdout();
            let _ = writeln!(output, "{line}").and_then(|()| output.flush());
        }
    }

    pub(super) fn draw(&mut self, picture: &Picture<'_>) {
        if let Self::Screen(Some(terminal)) = self {
            let _ = terminal.draw(|frame| render(frame, picture));
        }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let Self::Screen(terminal) = self else { return };
        let Some(mut terminal) = terminal.take() else { return };
        // Input that was typed meanwhile was not meant for the shell.
        let _ = tcflush(stdin(), QueueSelector::IFlush);
        let _ = ratatui::try_restore();
        if terminal.show_cursor().is_err() {
            // It has gone away. Its own end would tell that to standard error, which has usually gone
            // with it, and panic.
            std::mem::forget(terminal);
        }
    }
}

/// Lets Ctrl-C be a signal, as elsewhere. No other key does anything, least of all one that would
/// leave the terminal in this state.
fn keep_interrupt() -> std::io::Result<()> {
    let mut attributes = tcgetattr(stdin())?;
    attributes.local_modes |= LocalModes::ISIG;
    for key in [SpecialCodeIndex::VQUIT, SpecialCodeIndex::VSUSP] {
        attributes.special_codes[key] = 0;
    }
    tcsetattr(stdin(), OptionalActions::Now, &attributes)?;
    Ok(())
}

fn render(frame: &mut Frame<'_>, picture: &Picture<'_>) {
    let lines = u16::try_from(picture.candidates.len()).unwrap_or(u16::MAX);
    let [title, candidates, _, heading, failovers, keys] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(lines),
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Line::from(summary(picture)).bold(), title);
    let bar = usize::from(candidates.width).saturating_sub(BESIDE).min(BAR);
    frame.render_widget(table(picture, bar), candidates);
    if !picture.failovers.is_empty() {
        let text = "killed → next, from the kill to the next job:";
        frame.render_widget(Paragraph::new(text).dim(), heading);
    }
    let last = picture.failovers.iter().rev().take(failovers.height.into());
    let last: Vec<Line<'_>> = last.map(|each| Line::from(each.to_string())).collect();
    frame.render_widget(Paragraph::new(last), failovers);
    frame.render_widget(Paragraph::new("Ctrl-C ends the demo").dim(), keys);
}

fn summary(picture: &Picture<'_>) -> String {
    let killed = picture.failovers.len();
    let killed = match picture.kills {
        Some(kills) => format!("leaders killed: {killed} of {kills}"),
        None => format!("leaders killed: {killed}"),
    };
    match &picture.seen.leader {
        Some(_) => format!("{killed}; epoch {}", picture.seen.epoch),
        None => format!("{killed}; nobody leads"),
    }
}

fn table<'a>(picture: &Picture<'a>, bar: usize) -> Table<'a> {
    let seen = picture.seen;
    let cells = picture.candidates.iter().map(|(name, pid)| {
        if seen.leader.as_deref() != Some(*name) {
            let cells = [String::new(), (*name).to_owned(), pid.to_string(), "follows".to_owned()];
            return Cells::new(cells).style(Style::new().dim());
        }
        let left = seen.remaining.as_secs_f64();
        let share = left / seen.whole.as_secs_f64().max(f64::EPSILON);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 0 and `bar`
        let full = (share.clamp(0.0, 1.0) * bar as f64).round() as usize;
        let lease = format!("{}{} {left:.1} s", "█".repeat(full), "░".repeat(bar - full));
        Cells::new(["▶".to_owned(), (*name).to_owned(), pid.to_string(), lease]).bold()
    });
    let widths =
        [Constraint::Length(1), Constraint::Length(13), Constraint::Length(8), Constraint::Fill(1)];
    Table::new(cells, widths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use election_tokio::core::Epoch;
    use ratatui::{Terminal, backend::TestBackend};
    use std::time::Duration;

    fn seen() -> Seen {
        Seen {
            leader: Some("candidate-2".to_owned()),
            epoch: Epoch::new(1_795_319_193_933),
            remaining: Duration::from_millis(1_500),
            whole: Duration::from_secs(2),
        }
    }

    fn failovers(count: u64) -> Vec<Failover> {
        let one = |number| Failover {
            killed: "candidate-1".into(),
            epoch: Epoch::new(number),
            successor: "candidate-2".into(),
            remaining: Duration::from_millis(1_999),
            took: Duration::from_millis(2_010),
            keeps_out: "lease",
        };
        (0..count).map(one).collect()
    }

    /// The text on a screen of this size, line by line.
    fn screen(terminal: &mut Terminal<TestBackend>, candidates: usize, killed: u64) -> Vec<String> {
        let names: Vec<String> = (1..=candidates).map(|n| format!("candidate-{n}")).collect();
        let (seen, failovers) = (seen(), failovers(killed));
        let picture = Picture {
            candidates: names.iter().map(|name| (name.as_str(), 1_234_567)).collect(),
            seen: &seen,
            failovers: &failovers,
            kills: None,
        };
        terminal.draw(|frame| render(frame, &picture)).unwrap();
        let buffer = terminal.backend().buffer();
        let width = usize::from(buffer.area.width);
        let symbols: Vec<&str> = buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect();
        symbols.chunks(width).map(|line| line.concat().trim_end().to_owned()).collect()
    }

    #[test]
    fn everything_is_seen_on_a_usual_terminal() {
        for (columns, lines) in [(80, 24), (60, 24), (200, 60)] {
            let mut terminal = Terminal::new(TestBackend::new(columns, lines)).unwrap();
            let seen = screen(&mut terminal, 3, 100);
            assert_eq!(seen[0], "leaders killed: 100; epoch 1795319193933");
            assert!(seen[2].contains("candidate-1   1234567  follows"), "{seen:#?}");
            assert!(seen[3].starts_with("▶ candidate-2   1234567  ██"), "{seen:#?}");
            assert!(seen[3].ends_with("░ 1.5 s"), "{seen:#?}");
            let newest = "candidate-1 → candidate-2: 2.010 s, lease 1.999 s (+11 ms)";
            assert_eq!(seen[7], newest, "{seen:#?}");
            assert_eq!(seen.last().unwrap(), "Ctrl-C ends the demo");
        }
    }

    #[test]
    fn nobody_is_shown_as_the_leader_while_nobody_leads() {
        let seen = Seen { leader: None, ..seen() };
        let candidates = vec![("candidate-2", 7)];
        let picture = Picture { candidates, seen: &seen, failovers: &[], kills: Some(5) };
        let mut terminal = Terminal::new(TestBackend::new(60, 24)).unwrap();
        terminal.draw(|frame| render(frame, &picture)).unwrap();
        let shown = terminal.backend().to_string();
        assert!(shown.contains("0 of 5; nobody leads") && shown.contains("follows"), "{shown}");
        assert!(!shown.contains('▶'), "{shown}");
    }

    #[test]
    fn any_size_is_drawn_and_nothing_of_the_last_is_left() {
        let mut terminal = Terminal::new(TestBackend::new(200, 60)).unwrap();
        for (columns, lines) in [(200, 60), (60, 20), (20, 5), (1, 1), (80, 24)] {
            terminal.backend_mut().resize(columns, lines);
            for candidates in [1, 16] {
                let seen = screen(&mut terminal, candidates, 100);
                assert_eq!(seen.len(), usize::from(lines));
            }
        }
        let resized = screen(&mut terminal, 3, 0);
        let mut new = Terminal::new(TestBackend::new(80, 24)).unwrap();
        assert_eq!(resized, screen(&mut new, 3, 0));
    }
}
