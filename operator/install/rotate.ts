import { setTimeout as sleep } from "node:timers/promises";
import type { KubeClient } from "../../packages/kube/client/client.ts";
import { hasReason } from "../../packages/kube/client/errors.ts";
import { kinds, type Secret } from "../../packages/kube/kinds.ts";
import type { KubeObject, ResourceKind } from "../../packages/kube/resource.ts";
import { SettingError } from "../../packages/service/settings.ts";
import {
	type KeyChanges,
	nextStep,
	type RotationState,
	rotations,
	type SecretFacts,
	type SecretRotation,
} from "./rotation.ts";
import { authorityName, type SecretData } from "./secret-changes.ts";

const annotation = "tidemill.dev/rotation";
const statefulSets: ResourceKind<KubeObject> = {
	group: "apps",
	version: "v1",
	kind: "StatefulSet",
	plural: "statefulsets",
	namespaced: true,
};
const suffixes: Record<SecretRotation, string> = {
	"nats-passwords": "nats-passwords",
	"nats-certificate": "nats-tls",
	"seal-key": "seal-key",
	"console-key": "console-key",
	"store-keys": "s3",
};

/**
 * `tidemill setup rotate`: replaces the values of a Secret of the chart step by step, while everything runs. It can be
 * repeated at any time: it goes on where it was interrupted. Returns the exit code.
 */
export async function rotate(
	what: string,
	options: {
		client: KubeClient;
		namespace: string;
		/** Of Helm. */
		release: string;
		/** The Secret, if its name isn't the chart's. */
		secret?: string | undefined;
		settleSeconds: number;
		/** Removes the former seal key at once. */
		isNow: boolean;
		/** Gets what happens, for people. */
		say(line: string): void;
		now?: () => number;
		pause?: (ms: number) => Promise<unknown>;
	},
): Promise<number> {
	const rotation = rotations.find((each) => each === what);
	if (!rotation)
		throw new SettingError(
			`"${what}" can't be rotated. It must be one of ${rotations.join(", ")}.`,
		);
	const { client, namespace, say, isNow, settleSeconds } = options;
	const { now = Date.now, pause = sleep } = options;
	const first = fullname(options.release);
	const name = options.secret ?? `${first}-${suffixes[rotation]}`;
	let hasBegun = false;
	for (;;) {
		const secret = await read(client, name, namespace);
		const facts: SecretFacts = {
			name,
			data: dataOf(secret),
			state: stateOf(secret),
			...(rotation === "nats-certificate" && {
				authority: dataOf(await read(client, authorityName(name), namespace)),
			}),
		};
		// Another command has finished the same rotation. This one must not begin the next.
		if (hasBegun && !facts.state) return 0;
		const step = await nextStep(rotation, facts, now(), {
			settleMs: settleSeconds * 1000,
			isNow,
			store: `${first}-s3`,
		});
		hasBegun ||= facts.state !== undefined;
		if (step.type === "later") {
			say(`${step.about} That is ${new Date(step.untilMs).toISOString()}.`);
			return 0;
		}
		if (step.type === "wait") {
			const waitMs = step.untilMs - now();
			say(`waiting ${step.about} (${Math.ceil(waitMs / 1000)} s)`);
			await pause(waitMs);
			continue;
		}
		try {
			if (step.type === "write") {
				// First, so that a command that is interrupted here does it again.
				if (step.restarts)
					await restart(client, step.restarts, namespace, step.state.at);
				for (const [target, keys] of step.changes)
					if (target === name) await patch(client, secret, keys, step.state);
					else {
						const other = await read(client, target, namespace);
						await patch(client, other, keys, stateOf(other));
					}
				hasBegun = true;
			} else await patch(client, secret, {}, undefined);
		} catch (error) {
			// Another command does the same, so look what there is now.
			if (!hasReason(error, "Conflict")) throw error;
			continue;
		}
		say(step.about);
		if (step.type === "finish") return 0;
	}
}

/** As the chart names its objects. */
function fullname(release: string): string {
	const name = release.includes("tidemill") ? release : `${release}-tidemill`;
	return name.slice(0, 40).replace(/-$/, "");
}

async function read(
	client: KubeClient,
	name: string,
	namespace: string,
): Promise<Secret> {
	const secret = await client.get(kinds.secret, name, namespace);
	if (secret) return secret;
	throw new SettingError(
		`There is no Secret "${name}" in namespace ${namespace}. Name the release's namespace by --namespace, and the release by --release; a Secret of another name by --secret.`,
	);
}

function dataOf({ data = {} }: Secret): SecretData {
	return Object.fromEntries(
		Object.entries(data).map(([key, value]) => [
			key,
			Buffer.from(value, "base64").toString(),
		]),
	);
}

function stateOf({ metadata }: Secret): RotationState | undefined {
	const text = metadata.annotations?.[annotation];
	return text === undefined ? undefined : JSON.parse(text);
}

/** Refused with Conflict if the Secret has changed since it was read. */
async function patch(
	client: KubeClient,
	{ metadata }: Secret,
	keys: KeyChanges,
	state: RotationState | undefined,
): Promise<void> {
	const { name, namespace, resourceVersion } = metadata;
	const data = Object.entries(keys).map(([key, text]) => [
		key,
		text === undefined ? null : Buffer.from(text).toString("base64"),
	]);
	const body = {
		metadata: {
			resourceVersion,
			annotations: { [annotation]: state ? JSON.stringify(state) : null },
		},
		data: Object.fromEntries(data),
	};
	await client.patch(kinds.secret, name, namespace, body, "merge");
}

/** As `kubectl rollout restart` does. */
async function restart(
	client: KubeClient,
	name: string,
	namespace: string,
	at: string,
): Promise<void> {
	const annotations = { "kubectl.kubernetes.io/restartedAt": at };
	const body = { spec: { template: { metadata: { annotations } } } };
	await client.patch(statefulSets, name, namespace, body, "merge");
}
