import { Fault, invalid } from "./fault.ts";

/** Names in one page of a list. Cloud Storage's own default is 1,000. */
const pageSize = 2;

/** Buckets of Cloud Storage and their objects (cloud.google.com/storage/docs/json_api/v1/objects). */
export class Buckets {
	readonly #buckets = new Map<string, Map<string, Buffer>>();

	create(bucket: string): void {
		this.#buckets.set(bucket, new Map());
	}

	names(bucket: string): string[] {
		return [...this.require(bucket).keys()].sort();
	}

	require(bucket: string): Map<string, Buffer> {
		const objects = this.#buckets.get(bucket);
		if (objects) return objects;
		throw new Fault(404, "notFound", "The specified bucket does not exist.");
	}

	/** An object is there as a whole or not at all (cloud.google.com/storage/docs/consistency). */
	put(bucket: string, name: string, data: Buffer): object {
		this.require(bucket).set(name, data);
		return { kind: "storage#object", bucket, name, size: String(data.length) };
	}

	delete(bucket: string, name: string): void {
		if (!this.require(bucket).delete(name))
			throw new Fault(404, "notFound", `No such object: ${bucket}/${name}`);
	}

	/** cloud.google.com/storage/docs/json_api/v1/objects/list */
	list(bucket: string, prefix: string, pageToken: string | null): object {
		const names = this.names(bucket).filter(
			(name) => name.startsWith(prefix) && name > (pageToken ?? ""),
		);
		const page = names.slice(0, pageSize);
		return {
			// An empty list has no items (cloud.google.com/storage/docs/json_api/v1/objects/list#response).
			...(page.length > 0 && { items: page.map((name) => ({ name })) }),
			...(names.length > pageSize && { nextPageToken: page.at(-1) }),
		};
	}

	/** What a load job reads. A `*` would name several objects, which load doesn't use. */
	read(uri: string): Buffer {
		const [, bucket, name] = /^gs:\/\/([^/]+)\/([^*]+)$/.exec(uri) ?? [];
		if (!bucket || !name) throw invalid(`Invalid source URI: ${uri}`);
		const data = this.require(bucket).get(name);
		if (data) return data;
		throw new Fault(404, "notFound", `Not found: URI ${uri}`);
	}
}
