//! Rows waiting to be computed: how are tokens of many sequences packed into forwards?

use std::rc::Rc;

use super::Engine;
use super::decoder::Rows;
use super::kv::Sequence;
use crate::error::{Error, Result};

/// A token waiting to be computed.
pub struct Row {
    token: u32,
    /// Slots of the whole sequence; the row sees those up to its own position.
    slots: Rc<[u32]>,
    position: usize,
    /// Where this row's hidden state is wanted.
    wanted_at: Option<usize>,
}

/// Hidden states by where they were wanted.
pub type HiddenStates = Vec<Option<Vec<f32>>>;

impl Engine {
    /// Appends tokens to a sequence and their rows to `rows`; the last one's hidden state goes to `wanted_at`.
    pub(super) fn stage(
        &mut self,
        sequence: &mut Sequence,
        tokens: &[u32],
        wanted_at: Option<usize>,
        rows: &mut Vec<Row>,
    ) {
        let start = sequence.len();
        self.slots.extend(sequence, tokens.len());
        let slots: Rc<[u32]> = sequence.slots().into();
        rows.extend(tokens.iter().enumerate().map(|(idx, &token)| {
            let is_last = idx + 1 == tokens.len();
            Row { token, slots: slots.clone(), position: start + idx, wanted_at: wanted_at.filter(|_| is_last) }
        }));
    }

    /// Computes all rows, some at a time, and puts the wanted hidden states where they are wanted.
    ///
    /// Rows may be cut anywhere: each comes after those it attends to.
    pub(super) fn compute(&mut self, rows: &mut Vec<Row>, hidden: &mut HiddenStates) -> Result<()> {
        for rows in rows.chunks(self.options.max_rows) {
            let (wanted, places): (Vec<u32>, Vec<usize>) =
                rows.iter().zip(0..).filter_map(|(row, idx)| Some((idx, row.wanted_at?))).unzip();
            for (place, state) in places.into_iter().zip(self.forward(rows, &wanted)?) {
                hidden[place] = Some(state);
            }
        }
        rows.clear();
        Ok(())
    }

    fn forward(&mut self, rows: &[Row], wanted: &[u32]) -> Result<Vec<Vec<f32>>> {
        let tokens: Vec<u32> = rows.iter().map(|row| row.token).collect();
        let slots = rows.iter().map(|row| &row.slots[..=row.position]).collect();
        self.counts.computed += rows.len() as u64;
        let states = self.model.forward(&Rows { tokens, slots }, wanted)?;
        if states.iter().flatten().all(|x| x.is_finite()) {
            return Ok(states);
        }
        let message =
            "the judge computed something that is not a finite number: its weights are damaged or far too large";
        Err(Error::usage(message, "check the file with `ragstone models verify`, or name another judge with `--judge`"))
    }
}
