import { type Source, sourceKind } from "../../crds/generated/types.ts";
import type { ControllerFactory, OperatorContext } from "../context.ts";
import type { EventReason } from "../event-reasons.ts";
import { hasReason } from "../kube/client.ts";
import { ControllerLoop, type Result } from "../kube/controller.ts";
import { kinds, type Secret } from "../kube/kinds.ts";
import { keyOf, type ObjectKey } from "../kube/resource.ts";
import { writeStatus } from "../kube/status-writer.ts";
import { fieldManager } from "../labels.ts";
import { secretNames } from "./authorization.ts";
import {
	decide,
	rotationOf,
	type SourceAction,
	type SourceState,
} from "./decide.ts";
import {
	keysSecret,
	keysSecretName,
	newKeys,
	readKeys,
	urlRotation,
} from "./keys.ts";

/** Issues a Source's keys and keeps its status; the routes are {@link file://./publisher.ts the publisher's}. */
export const createSourceController: ControllerFactory = (context) => {
	const { informers, ledgers, routes, log } = context;
	const statusWrittenMs = new Map<string, number>();
	const loop = new ControllerLoop(
		{
			name: "source",
			reconcile: async (key) => {
				const source = informers.sources.get(key.namespace, key.name);
				if (!source) {
					statusWrittenMs.delete(textOf(key));
					return undefined;
				}
				const state = await read(
					context,
					source,
					statusWrittenMs.get(textOf(key)) ?? 0,
				);
				try {
					return await apply(context, source, decide(state, Date.now()), () =>
						statusWrittenMs.set(textOf(key), Date.now()),
					);
				} catch (error) {
					if (!hasReason(error, "NotFound")) throw error;
					return undefined; // It was deleted while we looked.
				}
			},
		},
		{ log, workers: 4 },
	);
	loop.watch(informers.sources);
	const sourcesOfSecret = informers.sources.index((source) =>
		[keysSecretName(source.metadata.name), ...secretNames(source)].map((name) =>
			textOf({ ...keyOf(source), name }),
		),
	);
	loop.watch(informers.secrets, (secret) =>
		sourcesOfSecret(textOf(keyOf(secret))).map(keyOf),
	);
	const ofRoute = (route: { account: string; source: string }) =>
		loop.enqueue({ namespace: route.account, name: route.source });
	routes.onChange(ofRoute);
	ledgers.onChange(({ sourceKey }) => {
		const route = routes.published(sourceKey);
		if (route) ofRoute(route);
	});
	return loop;
};

async function read(
	{ client, informers, routes, ledgers, settings }: OperatorContext,
	source: Source,
	statusWrittenMs: number,
): Promise<SourceState> {
	const { name, namespace, creationTimestamp } = source.metadata;
	// Asked for directly, a Secret is seen also when it has no label, or is newer than what is in memory.
	const secretOf = async (secret: string): Promise<Secret | undefined> =>
		informers.secrets.get(namespace!, secret) ??
		(await client.get(kinds.secret, secret, namespace));
	const issued = await secretOf(keysSecretName(name));
	const keys = issued ? (readKeys(issued, name) ?? "invalid") : "absent";
	const sourceKey = typeof keys === "object" ? keys.sourceKey : undefined;
	const secrets = new Map<string, Secret>();
	for (const name of secretNames(source)) {
		const secret = await secretOf(name);
		if (secret) secrets.set(name, secret);
	}
	return {
		source,
		keys,
		keysAdopted:
			issued !== undefined &&
			issued.metadata.creationTimestamp! < creationTimestamp!,
		secrets,
		sealKey: settings.sealKey,
		published: sourceKey ? routes.published(sourceKey) : undefined,
		claimant: sourceKey ? routes.claimant(sourceKey) : undefined,
		publishTrouble: routes.trouble,
		ledger: sourceKey ? ledgers.get(sourceKey) : undefined,
		receiveURL: settings.receiveURL,
		statusWrittenMs,
	};
}

async function apply(
	{ client, events, routes, settings }: OperatorContext,
	source: Source,
	actions: SourceAction[],
	onStatusWritten: () => void,
): Promise<Result | undefined> {
	const { name, namespace } = source.metadata;
	let current = source;
	let result: Result | undefined;
	for (const action of actions)
		switch (action.type) {
			case "setFinalizers": {
				const { resourceVersion } = current.metadata;
				const { finalizers } = action;
				current = await client.patch<Source>(
					sourceKind,
					name,
					namespace,
					{ metadata: { finalizers, resourceVersion } },
					"merge",
					{ fieldManager },
				);
				break;
			}
			case "issueKeys":
				await client.create(
					kinds.secret,
					keysSecret(
						{ namespace: namespace!, name },
						newKeys(settings.shards, rotationOf(source)),
					),
					{ fieldManager },
				);
				events.record(sourceKind, current, {
					type: "Normal",
					reason: "URLIssued" satisfies EventReason<"Source">,
					action: "IssueURL",
					note: `The Source has a URL of its own now; its keys are in Secret "${keysSecretName(name)}".`,
				});
				break;
			case "rotateURL": {
				// Memory may not have the Secret that was just rotated.
				const secretName = keysSecretName(name);
				const secret = await client.get(kinds.secret, secretName, namespace);
				if (!secret || readKeys(secret, name)?.rotation === action.rotation)
					break;
				await client.patch(
					kinds.secret,
					secretName,
					namespace,
					urlRotation(action.rotation, secret.metadata.resourceVersion!),
					"merge",
					{ fieldManager },
				);
				events.record(sourceKind, current, {
					type: "Normal",
					reason: "URLRotated" satisfies EventReason<"Source">,
					action: "RotateURL",
					note: "The Source has another URL: see status.webhookURL. Senders with the earlier one are answered with 404.",
				});
				break;
			}
			case "releaseKey":
				await routes.release(action.sourceKey, namespace!);
				break;
			case "deleteKeys":
				await client.delete(kinds.secret, keysSecretName(name), namespace);
				break;
			case "writeStatus":
				await writeStatus(
					client,
					sourceKind,
					current,
					action.status,
					fieldManager,
				);
				onStatusWritten();
				break;
			case "recordEvent":
				events.record(sourceKind, current, {
					type: action.severity,
					reason: action.reason,
					action: "Reconcile",
					note: action.message,
				});
				break;
			case "lookAgain":
				result = { requeueAfterMs: action.afterMs };
		}
	return result;
}

function textOf({ namespace, name }: ObjectKey): string {
	return `${namespace}/${name}`;
}
