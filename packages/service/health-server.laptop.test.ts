import { test } from "vitest";
import {
	type BehaviourName,
	behaviours,
} from "../../test/support/strangers/flood.ts";
import { besiege, mostUnderSiege } from "../../test/support/strangers/siege.ts";
import { processRegistry, startHealthServer } from "./health-server.ts";
import { Settings } from "./settings.ts";

test.each(Object.keys(behaviours) as BehaviourName[])(
	"strangers with more connections than a health server may have, each with %s, keep neither kubelet nor Prometheus out",
	async (behaviour) => {
		const health = await startHealthServer(new Settings({}), {
			ready: () => undefined,
			registry: processRegistry(),
			mostConnections: mostUnderSiege,
		});
		try {
			for (const path of ["/readyz", "/metrics"])
				await besiege(health.port, behaviour, { options: { path } });
		} finally {
			await health.close();
		}
	},
);
