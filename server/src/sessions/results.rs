//! What a tool call of a session gave, read from the log.
//!
//! Never locks a session and never waits for one: a log that another process writes is read as it is.

use adjutant_core::record::Event;
use adjutant_core::wire::call::end_of_output;
use adjutant_protocol::items::{ItemReadResult, MAX_ITEM_OUTPUT};
use adjutant_protocol::{SessionId, ToolCallId};

use crate::session::catalog::{Catalog, CatalogError};
use crate::session::log::{Log, RecordRaw};
use crate::session::replay;

/// Returns the end of the result of a call, the newest if a log has several. Blocks.
pub fn of_call(
    catalog: &Catalog,
    id: &SessionId,
    wanted: &ToolCallId,
) -> Result<ItemReadResult, CatalogError> {
    let place = catalog.place(&id.0)?;
    if !catalog.has(&id.0) {
        return Err(CatalogError::Missing { id: id.0.clone() });
    }
    let mut found = ItemReadResult::default();
    let mut sink = |record: RecordRaw| {
        // Most records are no results, and parsing them would take the most time.
        if !record.event.get().contains("\"tool_finished\"") {
            return;
        }
        let Ok(Some(parsed)) = replay::read_record(&record) else { return };
        if let Event::ToolFinished { call, result } = parsed.event
            && call == *wanted
        {
            let (output, left_out) = end_of_output(&result.output, MAX_ITEM_OUTPUT);
            found = ItemReadResult { output: Some(output), left_out: left_out as u64 };
        }
    };
    Log::read_each(&*place.storage, &place.dir, &id.0, &mut sink)?;
    Ok(found)
}
