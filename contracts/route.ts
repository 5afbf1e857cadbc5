/**
 * What receive must know to accept events for one Source. Written by operator into the routes bucket under
 * {@link routeKey}; replaced whole on every change. Nothing in it is a usable secret.
 */
export interface Route {
	version: 1;
	/** Namespace of the Source. */
	account: string;
	/** metadata.name of the Source, for logs and metrics. */
	source: string;
	/** 128 random bits as 32 lower-case hex digits. For life: it names the data. */
	sourceKey: string;
	/** SHA-256 of the url key, hex: rotation changes the url key alone. */
	urlKeyDigest: string;
	/** The shard whose stream takes this Source's events; fixed when the source key is issued. */
	shard: number;
	suspended: boolean;
	authorization:
		| { type: "None" }
		/** SHA-256 digests (hex) of the tokens that are accepted. */
		| { type: "CustomToken"; digests: string[] }
		/** The Source asks for something that can't be served (its status says why): everything is refused with 401. */
		| { type: "Unavailable" };
	/** Largest body after decoding, in bytes. */
	maxBodyBytes: number;
	/** Lower-case header names whose values are stored with each event. */
	capturedHeaders: string[];
}

export function routeKey(sourceKey: string): string {
	return `source.${sourceKey}`;
}

/**
 * Written by operator once the bucket agrees with all Sources; before that receive isn't ready and answers an unknown
 * URL with 503 instead of 404.
 */
export const syncedKey = "synced";
