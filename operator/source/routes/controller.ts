import { ControllerLoop } from "../../../kube/reconcile/controller.ts";
import { onReconnect } from "../../../service/nats.ts";
import type { ControllerFactory } from "../../reconcile/context.ts";
import { desiredRoutes } from "./desired.ts";

/**
 * Keeps the routes bucket equal to what all Sources want, as one: so a Source that can't be reconciled doesn't hold up
 * the synced marker, and strays are found by comparing the whole.
 */
export const createRoutePublisher: ControllerFactory = ({
	informers: { sources, secrets },
	routes,
	ledgers,
	nats,
	settings,
	log,
}) => {
	const loop = new ControllerLoop(
		{
			name: "routes",
			reconcile: async () => {
				const desired = desiredRoutes(
					sources.list(),
					(namespace, name) => secrets.get(namespace, name),
					settings.sealKey,
				).filter(({ sourceKey }) => !ledgers.isDeleted(sourceKey));
				try {
					await routes.publish(desired);
				} catch (err) {
					log.warn({ err }, "routes can't be published; trying again");
					// NATS often needs a moment after it is back: the delay mustn't grow with the length of its absence.
					return { requeueAfterMs: 1_000 };
				}
				return undefined;
			},
		},
		{ log, workers: 1 },
	);
	const whole = { namespace: "", name: "routes" };
	// A status changes with every cut and concerns no route; a deletion that waits counts as a new generation.
	loop.watch(sources, () => []);
	sources.onChange((source, previous, deleted) => {
		if (deleted || source.metadata.generation !== previous?.metadata.generation)
			loop.enqueue(whole);
	});
	loop.watch(secrets, () => [whole]);
	ledgers.onChange((sourceKey) => {
		if (ledgers.isDeleted(sourceKey)) loop.enqueue(whole);
	});
	void onReconnect(nats, () => {
		routes.forget();
		loop.enqueue(whole);
	});
	// Also without any Source the bucket must be made and marked.
	loop.enqueue(whole);
	return loop;
};
