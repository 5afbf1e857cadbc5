/**
 * The time in an event's ID, a UUIDv7 (RFC 9562 §5.7), in milliseconds since the epoch; undefined for any other text. It is
 * when the event was received. Only the event of a sender's key may be later than its ID, which is that of the key's first
 * request.
 */
export function timeOfEventID(id: string): number | undefined {
	const match =
		/^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.exec(
			id,
		);
	return match ? Number.parseInt(`${match[1]}${match[2]}`, 16) : undefined;
}
