import type {
	IdempotencyRecord,
	IdempotencyStore,
} from "../../../../api/http/idempotency-key.ts";

/** The API's store of Idempotency-Keys in memory, and what it holds. Nothing expires. */
export function memoryIdempotencyStore(): {
	store: IdempotencyStore;
	records: Map<string, IdempotencyRecord>;
} {
	const records = new Map<string, IdempotencyRecord>();
	const store: IdempotencyStore = {
		getOrCreate: async ({ digest }, record) => {
			const known = records.get(digest);
			if (known) return { record: known };
			records.set(digest, record);
			return { record, createdRevision: 1 };
		},
		complete: async ({ digest }, record) => {
			records.set(digest, record);
		},
		drop: async ({ digest }) => {
			if (!records.get(digest)?.made) records.delete(digest);
		},
	};
	return { store, records };
}
