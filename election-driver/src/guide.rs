// The pages are read in two places. Each ends with the targets of its links in the repository. Here those of
// `rustdoc-links.md` come before them: of two definitions of a link, the first one counts. The same holds for
// pictures, which rustdoc does not copy: `pictures` has the definition of each, which contains it.
#![doc = include_str!("guide/rustdoc-links.md")]
#![doc = include_str!("guide/README.md")]

macro_rules! pages {
    ($($page:ident $file:literal $($picture:literal)*)*) => {$(
        #[doc = include_str!("guide/rustdoc-links.md")]
        $(#[doc = include_str!($picture)])*
        #[doc = include_str!($file)]
        pub mod $page {}
    )*};
}

pages! {
    choosing "guide/choosing.md" "../pictures/cluster.md"
    coming_from "guide/coming_from.md"
    command "guide/command.md"
    comparison "guide/comparison.md"
    fencing "guide/fencing.md"
    guarantees "guide/guarantees.md"
    many "guide/many.md"
    production "guide/production.md"
    reference "guide/reference.md"
    shutdown "guide/shutdown.md" "../pictures/drain.md"
    tables "guide/tables.md"
    testing "guide/testing.md"
    timing "guide/timing.md" "../pictures/slow-answer.md" "../pictures/takeover.md"
    vocabulary "guide/vocabulary.md"
}
