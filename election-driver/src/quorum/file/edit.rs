//! The text of a cluster's file with another list of members. Everything else stays as it was written.

use super::{contents::ClusterFile, document::Document, error::ClusterFileError};
use std::ops::Range;

impl ClusterFile {
    /// The file with one member more, and the next generation.
    ///
    /// # Errors
    /// If its text cannot be edited that way.
    pub fn with_member(
        &self,
        id: &str,
        address: &str,
        witness: bool,
    ) -> Result<Self, ClusterFileError> {
        let mut text = self.document.text.clone();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let (written, place) = (quoted(id), quoted(address));
        text += &format!("\n[[member]]\nid = {written}\naddress = {place}\n");
        if witness {
            text += "witness = true\n";
        }
        self.edited(self.with_generation(text)?, self.members().chain([(id, address)]))
    }

    /// The file with one member less, and the next generation; `None` if there is no such member.
    ///
    /// # Errors
    /// As [`with_member`](Self::with_member).
    pub fn without_member(&self, id: &str) -> Option<Result<Self, ClusterFileError>> {
        let place = self.members.iter().position(|member| member.id == id)?;
        let section = self.section(self.contents.member.get(place)?.span().start);
        let mut text = self.document.text.clone();
        text.replace_range(section, "");
        let others = self.members().filter(|(known, _)| *known != id);
        // The generation stands before any section.
        Some(self.with_generation(text).and_then(|text| self.edited(text, others)))
    }

    /// The file with another address of a member; `None` if there is no such member.
    ///
    /// # Errors
    /// As [`with_member`](Self::with_member).
    pub fn with_address(&self, id: &str, address: &str) -> Option<Result<Self, ClusterFileError>> {
        let place = self.members.iter().position(|member| member.id == id)?;
        let written = self.contents.member.get(place)?.get_ref().address.as_ref()?;
        let mut text = self.document.text.clone();
        text.replace_range(written.span(), &quoted(address));
        let moved = |(known, old)| (known, if known == id { address } else { old });
        Some(self.edited(text, self.members().map(moved)))
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.document.text
    }

    /// What the text says, if it lists these members.
    fn edited<'a>(
        &self,
        text: String,
        wanted: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, ClusterFileError> {
        let document = Document { text, ..self.document.clone() };
        let wanted: Vec<_> = wanted.collect();
        let is_so = |edited: &Self| edited.members().collect::<Vec<_>>() == wanted;
        match Self::of(document, &self.path).ok().filter(is_so) {
            Some(edited) => Ok(edited),
            None => Err(ClusterFileError(format!(
                "{}: its members do not stand in sections of their own; write each below a line \
                 [[member]], or edit the file by hand",
                self.what()
            ))),
        }
    }

    /// The text, of which nothing before the sections has changed, with the next generation.
    fn with_generation(&self, mut text: String) -> Result<String, ClusterFileError> {
        let Some(next) = self.generation.checked_add(1).filter(|next| *next <= MOST) else {
            let at = self.contents.generation.as_ref().map_or(0, |written| written.span().start);
            return Err(self.document.wrong(at, "it cannot be raised; write a smaller number"));
        };
        match (&self.contents.generation, &self.contents.election) {
            (Some(written), _) => text.replace_range(written.span(), &next.to_string()),
            (None, Some(election)) => {
                let end = election.span().end;
                let end = text[end..].find('\n').map_or(text.len(), |line| end + line);
                text.insert_str(end, &format!("\ngeneration = {next}"));
            }
            (None, None) => {}
        }
        Ok(text)
    }

    /// From the header of a section to the next one, without the comments above that.
    fn section(&self, at: usize) -> Range<usize> {
        let text = &self.document.text;
        let begins = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let (mut ends, mut seen) = (begins, begins);
        for (number, line) in text[begins..].split_inclusive('\n').enumerate() {
            let bare = line.trim_start();
            if number > 0 && bare.starts_with('[') {
                return begins..ends;
            }
            seen += line.len();
            if !bare.starts_with('#') {
                ends = seen;
            }
        }
        begins..seen
    }
}

/// The largest number in TOML.
const MOST: u64 = i64::MAX as u64;

/// A text in TOML. (Names and addresses have no control characters.)
#[must_use]
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Ours.\nelection = 'e' # the name\n\n[[member]] # first\nid = 'n1'\naddress \
                        = \"a:1\"\n\n# The second.\n[[member]]\nid = 'n2'\naddress = 'b:1' # moved\n";

    fn read(text: &str) -> ClusterFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        ClusterFile::read("the file", file.path()).unwrap()
    }

    #[test]
    fn a_member_is_added_behind_the_others() {
        let once = read(TEXT).with_member("n3", "c:1", true).unwrap();
        assert_eq!((once.generation, once.is_witness("n3")), (1, Some(true)));
        let begins = "# Ours.\nelection = 'e' # the name\ngeneration = 1\n\n[[member]]";
        assert!(once.text().starts_with(begins));
        let twice = once.with_member("n4", "d:1", false).unwrap();
        assert_eq!((twice.generation, twice.members().count()), (2, 4));
        assert_eq!(twice.is_witness("n4"), Some(false));
    }

    #[test]
    fn a_member_is_removed_and_comments_of_others_stay() {
        let rest = read(TEXT).without_member("n1").unwrap().unwrap();
        assert_eq!(
            rest.text(),
            "# Ours.\nelection = 'e' # the name\ngeneration = 1\n\n# The second.\n[[member]]\nid = \
             'n2'\naddress = 'b:1' # moved\n"
        );
        let rest = read(TEXT).without_member("n2").unwrap().unwrap();
        assert!(rest.text().ends_with("address = \"a:1\"\n\n# The second.\n"), "{}", rest.text());
        assert!(read(TEXT).without_member("n9").is_none());
    }

    #[test]
    fn an_address_is_replaced_where_it_stands() {
        let moved = |id| read(TEXT).with_address(id, "c:1").unwrap().unwrap().text().to_owned();
        assert_eq!(moved("n2"), TEXT.replace("'b:1'", "\"c:1\""));
        assert_eq!(moved("n1"), TEXT.replace("a:1", "c:1"));
        assert!(read(TEXT).with_address("n9", "c:1").is_none());
    }

    #[test]
    fn a_text_that_would_lose_something_is_not_edited() {
        let inline = "election = 'e'\nmember = [{ id = 'n1', address = 'a:1' },\n{ id = 'n2', \
                      address = 'b:1' }]\ndown-after = '3s'\n";
        let refused = |edited: Result<ClusterFile, ClusterFileError>| {
            edited.map(drop).expect_err("no sections").to_string()
        };
        let file = read(inline);
        for said in [
            refused(file.with_member("n3", "c:1", false)),
            refused(file.without_member("n1").unwrap()),
            refused(file.without_member("n2").unwrap()),
        ] {
            assert!(said.contains("write each below a line [[member]]"), "{said}");
        }
        assert!(file.with_address("n2", "c:1").unwrap().is_ok());
        let last = format!("generation = {}\n{TEXT}", i64::MAX);
        let said = refused(read(&last).with_member("n3", "c:1", false));
        assert!(said.contains("it cannot be raised"), "{said}");
        let odd = read(&format!("generation = 0x00_0f\n{TEXT}")).without_member("n1").unwrap();
        assert_eq!(odd.unwrap().generation, 16);
    }
}
