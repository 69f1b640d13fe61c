//! The one format of everything on standard error while a command runs: time, level, message, and
//! then the fields by name, with the election and the node among them once they
//! are known.

use crate::secret;
use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::Value;
use std::{
    borrow::Cow,
    fmt::{self, Write as _},
    sync::OnceLock,
    time::SystemTime,
};
use tracing::Level;

static ELECTION: OnceLock<String> = OnceLock::new();
static NODE: OnceLock<String> = OnceLock::new();

/// Sets the election that this process belongs to, for all later lines.
pub(crate) fn name_election(name: impl Into<String>) {
    ELECTION.get_or_init(|| name.into());
}

/// Sets the name under which this process takes part.
pub(crate) fn name_node(name: impl Into<String>) {
    NODE.get_or_init(|| name.into());
}

/// One message.
#[derive(Debug)]
pub(crate) struct Line {
    level: Level,
    message: String,
    fields: Vec<(&'static str, Value)>,
}

/// The format of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Json,
    Text { coloured: bool },
}

impl Line {
    pub(crate) fn new(level: Level, message: impl Into<String>) -> Self {
        Self { level, message: message.into(), fields: Vec::new() }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.fields.push((name, value.into()));
        self
    }

    /// The line with its end, without passwords and without characters that act on a terminal.
    pub(crate) fn written(&self, style: Style) -> String {
        let text = match style {
            // Maps of texts and numbers can always be serialized.
            Style::Json => serde_json::to_string(self).unwrap_or_default(),
            Style::Text { coloured } => self.text(coloured),
        };
        format!("{}\n", printable(&secret::redacted(&text)))
    }

    fn names() -> [(&'static str, Option<&'static str>); 2] {
        let name = |cell: &'static OnceLock<String>| cell.get().map(String::as_str);
        [("election", name(&ELECTION)), ("node", name(&NODE))]
    }

    fn text(&self, coloured: bool) -> String {
        let (level, now) = (self.level, now());
        let colour = match level {
            Level::ERROR => 31,
            Level::WARN => 33,
            Level::INFO => 32,
            Level::DEBUG => 34,
            Level::TRACE => 35,
        };
        let mut text = match coloured {
            true => format!("\u{1b}[2m{now}\u{1b}[0m \u{1b}[{colour}m{level:>5}\u{1b}[0m "),
            false => format!("{now} {level:>5} "),
        };
        text.push_str(&harmless(&self.message));
        let names = Self::names().map(|(name, value)| (name, value.map(Value::from)));
        let names = names.iter().filter_map(|(name, value)| Some((*name, value.as_ref()?)));
        for (name, value) in self.fields.iter().map(|(name, value)| (*name, value)).chain(names) {
            if !self.is_for_machines(name, value) {
                // Writing into a text cannot fail.
                let _ = write!(text, " {name}={}", Shown(value));
            }
        }
        text
    }

    /// Whether people need not read a field: mostly because the message says it in better words.
    fn is_for_machines(&self, name: &str, value: &Value) -> bool {
        name.ends_with("_ms")
            || name == "failures"
            // The place in the source code interests only the authors.
            || name == "target" && value.as_str().is_some_and(|it| it.starts_with("election"))
            || name == "cause" && value.as_str().is_some_and(|cause| self.message.contains(cause))
    }
}

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("timestamp", &now())?;
        map.serialize_entry("level", self.level.as_str())?;
        map.serialize_entry("message", &self.message)?;
        for (name, value) in Self::names() {
            map.serialize_entry(name, &value)?;
        }
        for (name, value) in &self.fields {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// A value in a form that stands out from the text around it.
struct Shown<'a>(&'a Value);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let breaks = |c: char| c.is_whitespace() || c == '"' || c == '=';
        match self.0 {
            Value::String(text) if !text.is_empty() && !text.contains(breaks) => {
                f.write_str(&harmless(text))
            }
            Value::String(text) => write!(f, "\"{}\"", harmless(text).replace('"', "\\\"")),
            value => write!(f, "{value}"),
        }
    }
}

/// This moment, as every line that is written down says it.
pub(crate) fn now() -> String {
    humantime::format_rfc3339_micros(SystemTime::now()).to_string()
}

/// A text on one line, with control characters escaped.
fn harmless(text: &str) -> String {
    let escaped = |character: char| match character.is_control() {
        true => character.escape_default().to_string(),
        false => character.to_string(),
    };
    text.chars().map(escaped).collect()
}

/// A text without characters that act on a terminal. JSON escapes only those below U+0020; the
/// escapes here mean the same inside its strings, and so anywhere in its text.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    let acts = |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !text.contains(acts) {
        return text.into();
    }
    let escaped = text.chars().map(|c| match acts(c) {
        true => format!("\\u{:04x}", u32::from(c)),
        false => c.to_string(),
    });
    escaped.collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(line: &Line) -> String {
        let text = line.written(Style::Text { coloured: false });
        let (_, text) = text.split_once(' ').expect("a time");
        text.to_owned()
    }

    #[test]
    fn what_the_message_says_is_not_said_again() {
        let line = Line::new(Level::WARN, "waiting: a b")
            .with("event", "outage")
            .with("cause", "a b")
            .with("lasts_ms", 7)
            .with("epoch", 9)
            .with("leader", "x=y");
        assert_eq!(text(&line), " WARN waiting: a b event=outage epoch=9 leader=\"x=y\"\n");
    }

    #[test]
    fn a_line_stays_one_line() {
        let line = Line::new(Level::ERROR, "a\nb\u{1b}[31m\u{202e}").with("cause", "c\nd");
        assert_eq!(text(&line), "ERROR a\\nb\\u{1b}[31m\\u202e cause=\"c\\nd\"\n");
        let json = line.written(Style::Json);
        assert_eq!(json.lines().count(), 1);
        let value: Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(value["message"], "a\nb\u{1b}[31m\u{202e}");
        assert_eq!((&value["level"], &value["cause"]), (&"ERROR".into(), &"c\nd".into()));
    }

    /// A remedy in SQL can be copied.
    #[test]
    fn a_quote_within_a_text_stays_a_quote() {
        let line = Line::new(Level::WARN, "lost").with("cause", "GRANT x ON \"a\".b");
        assert_eq!(text(&line), " WARN lost cause=\"GRANT x ON \\\"a\\\".b\"\n");
    }

    #[test]
    fn passwords_are_in_no_line() {
        let line = Line::new(Level::INFO, "at x://me:hunter2@h").with("url", "y://me:hunter2@h");
        for style in [Style::Json, Style::Text { coloured: true }] {
            let written = line.written(style);
            assert!(!written.contains("hunter2"), "{written}");
        }
    }
}
