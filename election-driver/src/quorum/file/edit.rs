//! The text of a cluster's file with another list of members. Everything else stays as it was written.

use super::contents::ClusterFile;
use std::ops::Range;

impl ClusterFile {
    /// The text with one member more, and the next generation.
    #[must_use]
    pub fn with_member(&self, id: &str, address: &str, witness: bool) -> String {
        let mut text = self.with_generation();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let (id, address) = (quoted(id), quoted(address));
        text += &format!("\n[[member]]\nid = {id}\naddress = {address}\n");
        if witness {
            text += "witness = true\n";
        }
        text
    }

    /// The text with one member less, and the next generation; `None` if there is no such member.
    #[must_use]
    pub fn without_member(&self, id: &str) -> Option<String> {
        let place = self.members.iter().position(|member| member.id == id)?;
        let section = self.section(self.contents.member.get(place)?.span().start);
        // The generation stands before any section.
        let mut text = self.with_generation();
        let shift = text.len() - self.document.text.len();
        text.replace_range(section.start + shift..section.end + shift, "");
        Some(text)
    }

    /// The text with another address of a member; `None` if there is no such member.
    #[must_use]
    pub fn with_address(&self, id: &str, address: &str) -> Option<String> {
        let place = self.members.iter().position(|member| member.id == id)?;
        let written = self.contents.member.get(place)?.get_ref().address.as_ref()?;
        let mut text = self.document.text.clone();
        text.replace_range(written.span(), &quoted(address));
        Some(text)
    }

    /// The text with the next generation.
    fn with_generation(&self) -> String {
        let mut text = self.document.text.clone();
        let next = self.generation + 1;
        match (&self.contents.generation, &self.contents.election) {
            (Some(written), _) => text.replace_range(written.span(), &next.to_string()),
            (None, Some(election)) => {
                let end = election.span().end;
                let end = text[end..].find('\n').map_or(text.len(), |line| end + line);
                text.insert_str(end, &format!("\ngeneration = {next}"));
            }
            (None, None) => {}
        }
        text
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
        let text = read(TEXT).with_member("n3", "c:1", true);
        let once = read(&text);
        assert_eq!((once.generation, once.is_witness("n3")), (1, Some(true)));
        assert!(
            text.starts_with("# Ours.\nelection = 'e' # the name\ngeneration = 1\n\n[[member]]")
        );
        let twice = read(&once.with_member("n4", "d:1", false));
        assert_eq!((twice.generation, twice.members().count()), (2, 4));
        assert_eq!(twice.is_witness("n4"), Some(false));
    }

    #[test]
    fn a_member_is_removed_and_comments_of_others_stay() {
        let text = read(TEXT).without_member("n1").unwrap();
        assert_eq!(
            text,
            "# Ours.\nelection = 'e' # the name\ngeneration = 1\n\n# The second.\n[[member]]\nid = \
             'n2'\naddress = 'b:1' # moved\n"
        );
        let text = read(TEXT).without_member("n2").unwrap();
        assert!(text.ends_with("address = \"a:1\"\n\n# The second.\n"), "{text}");
        assert_eq!(read(TEXT).without_member("n9"), None);
    }

    #[test]
    fn an_address_is_replaced_where_it_stands() {
        let text = read(TEXT).with_address("n2", "c:1").unwrap();
        assert_eq!(text, TEXT.replace("'b:1'", "\"c:1\""));
        let text = read(TEXT).with_address("n1", "c:1").unwrap();
        assert_eq!(text, TEXT.replace("a:1", "c:1"));
        assert_eq!(read(TEXT).with_address("n9", "c:1"), None);
    }
}
