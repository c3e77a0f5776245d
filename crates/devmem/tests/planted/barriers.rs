//! Barriers that not all items of a group reach.

use crate::lab::{Case, Seen, What};

fn diverged(waiting: usize, sites: usize, ended: usize, first: u64) -> Seen {
    Seen { what: What::Diverged(waiting, sites, ended), at: None, by: Some([first, 0, 0]) }
}

pub(crate) const CASES: &[Case] = &[
    ("one item leaves early", |lab| {
        lab.group(8, async |item| {
            if item.local_id(0) == 5 {
                return Ok(());
            }
            item.barrier().await;
            Ok(())
        });
        vec![diverged(7, 1, 1, 0)]
    }),
    ("half take another barrier", |lab| {
        lab.group(8, async |item| {
            if item.local_id(0) % 2 == 1 {
                item.barrier().await;
            } else {
                #[allow(clippy::let_unit_value)]
                let () = item.barrier().await;
            }
            Ok(())
        });
        vec![diverged(8, 2, 0, 0)]
    }),
    ("a barrier in a loop of different lengths", |lab| {
        lab.group(4, async |item| {
            for _ in 0..item.local_id(0) {
                item.barrier().await;
            }
            Ok(())
        });
        vec![diverged(3, 1, 1, 1)]
    }),
    ("all take the same way", |lab| {
        lab.run(rimms_devmem::NdRange::linear(16, 4).unwrap(), async |item| {
            if item.group_id(0) % 2 == 0 {
                item.barrier().await;
            }
            Ok(())
        });
        vec![]
    }),
];
