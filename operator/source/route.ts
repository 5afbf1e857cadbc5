import type { Route } from "../../contracts/route.ts";
import type { Source } from "../../crds/generated/types.ts";
import { digest, type SourceKeys } from "./keys.ts";

/** What receivers must know to serve a Source. */
export function routeOf(
	source: Source,
	keys: SourceKeys,
	authorization: Route["authorization"],
): Route {
	const { webhook, suspend } = source.spec;
	const { verification } = webhook;
	return {
		version: 1,
		account: source.metadata.namespace!,
		source: source.metadata.name,
		sourceKey: keys.sourceKey,
		urlKeyDigest: digest(keys.urlKey),
		shard: keys.shard,
		suspended: suspend,
		authorization,
		maxBodyBytes: webhook.maxBodyBytes,
		...(verification && {
			verification: {
				allowGet: verification.allowGet,
				handshakes: verification.handshakes ?? [],
			},
		}),
		capturedHeaders: webhook.capturedHeaders ?? [],
	};
}
