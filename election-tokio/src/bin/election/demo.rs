//! `election demo`.
use crate::{
    arguments::Demo,
    exit::{Exit, Failed},
};
pub(crate) fn demo(_: &Demo) -> Result<Exit, Failed> {
    Err(Failed::new("soon"))
}
