import { JetStreamApiCodes, JetStreamApiError } from "@nats-io/jetstream";

/** The error of a compare-and-set, or of a KV `create`, before which somebody else wrote. */
export function isConflict(error: unknown): error is JetStreamApiError {
	return (
		error instanceof JetStreamApiError &&
		(error.code === JetStreamApiCodes.StreamWrongLastSequence ||
			error.code === JetStreamApiCodes.StreamWrongLastSequenceUnknown)
	);
}
