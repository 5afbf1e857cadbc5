import { KubeClient } from "../../packages/kube/client/client.ts";
import { hasReason } from "../../packages/kube/client/errors.ts";
import { loadKubeConfig } from "../../packages/kube/client/kube-config.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import { createLog, type Logger } from "../../packages/service/log.ts";
import { SettingError, Settings } from "../../packages/service/settings.ts";
import {
	type SecretChange,
	type SecretData,
	secretChanges,
	secretNames,
	type WantedSecrets,
} from "./secret-changes.ts";

/** Another setup may write at the same time. It then finds what this one wrote. */
const maxTries = 5;

interface SetupOptions extends Omit<WantedSecrets, "natsHosts"> {
	namespace?: string | undefined;
	release?: string | undefined;
	natsHosts?: string | undefined;
}

/**
 * `tidemill setup`: creates the Secrets of an installation that aren't there yet, with random values. It runs before each
 * installation and upgrade of the chart, whose templates can't keep a random value: Argo CD renders them again at each sync.
 */
export async function main(options: SetupOptions): Promise<number> {
	const { namespace, release, wanted } = readOptions(options);
	const log = createLog("setup");
	const config = loadKubeConfig(new Settings().optional("KUBECONFIG"));
	const client = KubeClient.fromConfig(config, { userAgent: "tidemill-setup" });
	for (let tries = 1; ; tries++)
		try {
			const existing = await readSecrets(client, namespace, wanted);
			const changes = await secretChanges(wanted, existing, Date.now());
			for (const change of changes)
				await write(client, namespace, release, change, log);
			log.info({ written: changes.length }, "the Secrets are complete");
			return 0;
		} catch (error) {
			if (!hasReason(error, "AlreadyExists") || tries === maxTries) throw error;
		}
}

function readOptions(options: SetupOptions): {
	namespace: string;
	release: string;
	wanted: WantedSecrets;
} {
	const { namespace, release, natsHosts, ...secrets } = options;
	if (!namespace || !release)
		throw new SettingError(
			"--namespace and --release are required: the namespace of the Secrets, and the release that they belong to.",
		);
	const hosts = natsHosts?.split(",") ?? [];
	if (secrets.natsTls && hosts.length === 0)
		throw new SettingError(
			"--nats-tls needs --nats-hosts: the names under which clients reach NATS, separated by commas.",
		);
	return { namespace, release, wanted: { ...secrets, natsHosts: hosts } };
}

async function readSecrets(
	client: KubeClient,
	namespace: string,
	wanted: WantedSecrets,
): Promise<Map<string, SecretData>> {
	const existing = new Map<string, SecretData>();
	for (const name of secretNames(wanted)) {
		const secret = await client.get(kinds.secret, name, namespace);
		if (!secret) continue;
		const texts = Object.entries(secret.data ?? {}).map(([key, value]) => [
			key,
			Buffer.from(value, "base64").toString(),
		]);
		existing.set(name, Object.fromEntries(texts));
	}
	return existing;
}

async function write(
	client: KubeClient,
	namespace: string,
	release: string,
	{ action, name, type, data }: SecretChange,
	log: Logger,
): Promise<void> {
	if (action === "create")
		await client.create(kinds.secret, {
			metadata: {
				name,
				namespace,
				labels: {
					"app.kubernetes.io/name": "tidemill",
					"app.kubernetes.io/instance": release,
					"app.kubernetes.io/managed-by": "tidemill-setup",
				},
			},
			type,
			stringData: data,
		});
	else {
		const body = { stringData: data };
		await client.patch(kinds.secret, name, namespace, body, "merge");
	}
	const keys = Object.keys(data);
	log.info({ secret: name, keys }, `${action}d a Secret`);
}
