//! The little JSON that is needed: one flat object.

use std::fmt::{Display, Write as _};

#[derive(Default)]
pub(crate) struct Object(String);

impl Object {
    pub(crate) fn number(mut self, name: &str, value: impl Display) -> Self {
        self.comma();
        let _ = write!(self.0, "\"{name}\":{value}");
        self
    }

    pub(crate) fn text(mut self, name: &str, value: &str) -> Self {
        self.comma();
        let _ = write!(self.0, "\"{name}\":\"");
        for c in value.chars() {
            match c {
                '"' => self.0.push_str("\\\""),
                '\\' => self.0.push_str("\\\\"),
                '\n' => self.0.push_str("\\n"),
                c if c < ' ' => {
                    let _ = write!(self.0, "\\u{:04x}", u32::from(c));
                }
                c => self.0.push(c),
            }
        }
        self.0.push('"');
        self
    }

    pub(crate) fn print(self) {
        println!("{{{}}}", self.0);
    }

    fn comma(&mut self) {
        if !self.0.is_empty() {
            self.0.push(',');
        }
    }
}
