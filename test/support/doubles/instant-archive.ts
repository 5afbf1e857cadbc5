import type { NatsConnection } from "@nats-io/transport-node";
import type {
	ManifestAnswer,
	ManifestRequest,
} from "../../../packages/contracts/manifest.ts";
import { manifestSubject } from "../../../packages/contracts/nats.ts";
import { utcDate } from "../../../packages/contracts/utc-date.ts";

/** An archive that costs nothing: it answers at once that no Source has events. */
export function answerManifests(archive: NatsConnection): void {
	archive.subscribe(manifestSubject(0), {
		callback: (_, message) => {
			const { run, extent } = message.json<ManifestRequest>();
			const nowMs = Date.now();
			const answer: ManifestAnswer = {
				ok: true,
				url: `http://127.0.0.1/runs/${run}.json`,
				snapshotTime: new Date(nowMs).toISOString(),
				extent,
				closedThrough: utcDate(nowMs - 86_400_000),
				expiresAt: new Date(nowMs + 3_600_000).toISOString(),
			};
			message.respond(JSON.stringify(answer));
		},
	});
}
