import { retentionKey } from "../../contracts/ledger.ts";
import { type Source, sourceKind } from "../../crds/generated/types.ts";
import { fieldManager } from "../../crds/labels.ts";
import { hasReason } from "../../kube/client/client.ts";
import { kinds, type Secret } from "../../kube/kinds.ts";
import {
	ControllerLoop,
	type Result,
} from "../../kube/reconcile/controller.ts";
import { keyOf, type ObjectKey } from "../../kube/resource.ts";
import { applyActions } from "../reconcile/actions.ts";
import type {
	ControllerFactory,
	OperatorContext,
} from "../reconcile/context.ts";
import type { EventReason } from "../reconcile/event-reasons.ts";
import { secretOf } from "../reconcile/informers.ts";
import { secretNames } from "./authorization.ts";
import {
	decide,
	rotationOf,
	type SourceAction,
	type SourceState,
} from "./decide.ts";
import { setFinalizers } from "./finalizers.ts";
import {
	keysSecret,
	keysSecretName,
	newKeys,
	readKeys,
	urlRotation,
} from "./keys.ts";
import { buried } from "./routes/table.ts";

/**
 * Issues a Source's keys and keeps its status; the routes are {@link file://./routes/controller.ts the publisher's}, and one that
 * is being deleted is {@link file://./deletion/controller.ts the deletion's}.
 */
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
				const actions = decide(state, Date.now());
				try {
					const result = await applySource(context, source, actions);
					if (actions.some(({ type }) => type === "writeStatus"))
						statusWrittenMs.set(textOf(key), Date.now());
					return result;
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
	for (const secrets of [informers.secrets, informers.unlabelledSecrets])
		loop.watch(secrets, (secret) =>
			sourcesOfSecret(textOf(keyOf(secret))).map(keyOf),
		);
	const ofRoute = (route: { account: string; source: string }) =>
		loop.enqueue({ namespace: route.account, name: route.source });
	routes.onChange(ofRoute);
	ledgers.onChange((key) => {
		if (key === retentionKey)
			for (const source of informers.sources.list())
				loop.enqueue(keyOf(source));
		const route = routes.published(key);
		if (route) ofRoute(route);
	});
	return loop;
};

async function read(
	context: OperatorContext,
	source: Source,
	statusWrittenMs: number,
): Promise<SourceState> {
	const { name, namespace, creationTimestamp } = source.metadata;
	const { routes, ledgers, settings } = context;
	const issued = await secretOf(context, namespace!, keysSecretName(name));
	const keys = issued ? (readKeys(issued, name) ?? "invalid") : "absent";
	const sourceKey = typeof keys === "object" ? keys.sourceKey : undefined;
	const secrets = new Map<string, Secret>();
	for (const name of secretNames(source)) {
		const secret = await secretOf(context, namespace!, name);
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
		claimant:
			sourceKey && ledgers.isDeleted(sourceKey)
				? buried
				: routes.claimant(sourceKey ?? ""),
		publishTrouble: routes.trouble,
		ledger: sourceKey ? ledgers.get(sourceKey) : undefined,
		retention: ledgers.retention,
		receiveURL: settings.receiveURL,
		statusWrittenMs,
	};
}

function applySource(
	context: OperatorContext,
	source: Source,
	actions: SourceAction[],
): Promise<Result | undefined> {
	const { client, events, settings } = context;
	const { name, namespace } = source.metadata;
	return applyActions<Source, SourceAction>(
		context,
		{ kind: sourceKind, verb: "Reconcile" },
		source,
		actions,
		async (action, current) => {
			switch (action.type) {
				case "setFinalizers": {
					const { finalizers } = action;
					return {
						object: await setFinalizers(
							client,
							current,
							finalizers,
							fieldManager,
						),
					};
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
					return undefined;
				case "rotateURL":
					await rotateURL(context, current, action.rotation);
					return undefined;
			}
		},
	);
}

async function rotateURL(
	{ client, events }: OperatorContext,
	source: Source,
	rotation: string,
): Promise<void> {
	const { name, namespace } = source.metadata;
	// Memory may not have the Secret that was just rotated.
	const secretName = keysSecretName(name);
	const secret = await client.get(kinds.secret, secretName, namespace);
	if (!secret || readKeys(secret, name)?.rotation === rotation) return;
	await client.patch(
		kinds.secret,
		secretName,
		namespace,
		urlRotation(rotation, secret.metadata.resourceVersion!),
		"merge",
		{ fieldManager },
	);
	events.record(sourceKind, source, {
		type: "Normal",
		reason: "URLRotated" satisfies EventReason<"Source">,
		action: "RotateURL",
		note: "The Source has another URL: see status.webhookURL. Senders with the earlier one are answered with 404.",
	});
}

function textOf({ namespace, name }: ObjectKey): string {
	return `${namespace}/${name}`;
}
