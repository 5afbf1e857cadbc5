import {
	type Source,
	type SourceSpec,
	sourceKind,
	type TrackingPlan,
	trackingPlanKind,
} from "../../crds/generated/types.ts";
import type { Provider } from "../../packages/contracts/providers.ts";
import { hasReason } from "../../packages/kube/client/errors.ts";
import { chooseCluster } from "../command/cluster.ts";
import { CommandError, UsageError } from "../command/errors.ts";
import type { ClusterOptions } from "../command/group.ts";
import { manifestOf, type ShownResource } from "../resource/creation.ts";
import { providerNamed, webhookOf } from "./providers.ts";
import { readSecret, requireSigningSecret, writeSecret } from "./secret.ts";

interface SenderOptions {
	name: string | undefined;
	file: string | undefined;
	provider?: string | undefined;
	secretStdin?: boolean | undefined;
	secretFile?: string | undefined;
	secretRef?: string | undefined;
	topicArn?: string[] | undefined;
	trackingPlan?: string | undefined;
	dryRun?: boolean | undefined;
}

/** What a Source of a provider needs, which is in the cluster by now. */
interface Sender {
	webhook: object;
	before: ShownResource[];
	/** The provider shows it only once it has the URL. */
	lacksSecret: boolean;
	/** What is left to do, for people. */
	farewell: string;
}

/**
 * Creates the Secret and the TrackingPlan that the Source of a provider names, once the cluster would accept the Source.
 * Undefined without a provider. Throws {@link UsageError}.
 */
export async function prepareSender(
	options: ClusterOptions,
	given: SenderOptions,
): Promise<Sender | undefined> {
	const { provider: providerName, name, secretRef, topicArn } = given;
	if (providerName === undefined) {
		const unused = Object.entries({
			"--secret-stdin": given.secretStdin,
			"--secret-file": given.secretFile,
			"--secret-ref": secretRef,
			"--topic-arn": topicArn,
		}).find(([, value]) => value !== undefined);
		if (unused) throw new UsageError(`${unused[0]} needs --provider`);
		return undefined;
	}
	if (name === undefined || given.file !== undefined)
		throw new UsageError("--provider needs a name, and is not for --file");
	const provider = await providerNamed(providerName);
	requireFitting(provider, given);
	const secret =
		provider.secret && secretRef === undefined && !given.dryRun
			? await readSecret(
					given,
					`${provider.title}: ${provider.secret} (Enter if there is none yet): `,
				)
			: undefined;
	const secretName = secretRef ?? `${name}-secret`;
	const hasPlan = provider.eventType && given.trackingPlan === undefined;
	const webhook = {
		...webhookOf(provider, secretName, topicArn),
		...(hasPlan && { trackingPlanRef: { name } }),
	};
	if (secret !== undefined) requireSigningSecret(webhook, secret);
	const cluster = await chooseCluster(options);
	const { client, namespace } = cluster;
	const spec = { type: "Webhook", webhook } as SourceSpec;
	const checked = { fieldManager: "tidemill", strict: true };
	const dry = { ...checked, dryRun: true };
	const metadata = { name, namespace };
	await client.create<Source>(sourceKind, { metadata, spec } as Source, dry);
	const before: ShownResource[] = [];
	if (hasPlan) {
		const plan = planOf(name, provider);
		before.push(manifestOf(trackingPlanKind, plan));
		await client
			.create<TrackingPlan>(
				trackingPlanKind,
				{ ...plan, metadata } as TrackingPlan,
				given.dryRun ? dry : checked,
			)
			.catch((error) => {
				if (!hasReason(error, "AlreadyExists")) throw error;
			});
	}
	if (secret !== undefined)
		await writeSecret(cluster, { name: secretName, key: "secret" }, secret);
	const lacksSecret =
		provider.secret !== undefined &&
		secret === undefined &&
		secretRef === undefined;
	const farewell = [
		`Give the URL to ${provider.title}: ${provider.paste}.`,
		...(lacksSecret
			? [
					`Then pass the secret (${provider.secret}): tidemill sources set-secret ${name} --secret-stdin -n ${namespace}`,
				]
			: []),
		"",
	].join("\n");
	return { webhook, before, lacksSecret, farewell };
}

/** It says where an event's type is, and refuses nothing. */
export function planOf(name: string, { eventType }: Provider): ShownResource {
	return {
		metadata: { name },
		spec: { eventType, onUnplannedEvent: "Allow" },
	};
}

function requireFitting(
	{ title, secret, webhook }: Provider,
	{ secretStdin, secretFile, secretRef, topicArn }: SenderOptions,
): void {
	const isPassed = [secretStdin, secretFile, secretRef].some(
		(value) => value !== undefined,
	);
	if (isPassed && secret === undefined)
		throw new UsageError(`${title} has no secret that Tidemill could check`);
	const hasTopics = JSON.stringify(webhook).includes("topicARNs");
	if (hasTopics && !topicArn)
		throw new UsageError(
			`pass the topics with --topic-arn, such as arn:aws:sns:eu-west-1:123456789012:orders: ${title} signs for every AWS account alike`,
		);
	if (!hasTopics && topicArn)
		throw new UsageError("--topic-arn is for --provider sns");
}

/** The Secret that a Source names first. Throws {@link CommandError} if it names none. */
export function secretRefOf({ metadata, spec }: Source): {
	name: string;
	key: string;
} {
	const { customToken, signature } = spec.webhook?.authorization ?? {};
	const ref =
		customToken?.secretRef ??
		signature?.secretRefs?.[0] ??
		signature?.custom?.publicKey?.secretRef;
	if (ref) return ref;
	throw new CommandError(
		`the source "${metadata.name}" names no Secret: it checks no signature and no token of yours`,
	);
}
