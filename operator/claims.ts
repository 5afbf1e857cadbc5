import { isDeepStrictEqual } from "node:util";
import {
	claimsOf,
	type InstallationClaims,
	type InstallationOverlap,
	isNamespace,
	operatorLeaseLabels,
	operatorLeaseSelector,
	overlapsOf,
} from "../crds/installation-claims.ts";
import { annotation } from "../crds/labels.ts";
import type { KubeClient } from "../packages/kube/client/client.ts";
import { type Deployment, kinds, type Lease } from "../packages/kube/kinds.ts";
import { apiVersionOf, type ObjectMeta } from "../packages/kube/resource.ts";
import { Informer } from "../packages/kube/watch/informer.ts";
import type { Logger } from "../packages/service/log.ts";
import { backoffMs, pause } from "../packages/service/pause.ts";
import type { InstallationFindings } from "./installation-events.ts";
import {
	claimsToHave,
	type ServedNamespaces,
	servedNamespaces,
} from "./served-namespaces.ts";

export interface ClaimOptions {
	/** The operator's Lease, which carries the claims. */
	lease: { namespace: string; name: string };
	/**
	 * The operator's Deployment, in the Lease's namespace: the claims go with it. Undefined where there is none, as in local mode:
	 * then nothing is claimed, since nothing would end a claim.
	 */
	deployment: string | undefined;
	/** Namespaces, `*` for all, and addresses. */
	wanted: readonly string[];
	log: Logger;
}

const operatorLeases = {
	labelSelector: operatorLeaseSelector,
	metadataOnly: true,
};
const backoff = { baseMs: 200, maxMs: 10_000 };

/**
 * Claims what this installation has to itself, and follows what others claim
 * (docs/decisions/0028-a-namespace-has-one-installation.md).
 *
 *     const claims = new InstallationClaimer(client, options);
 *     const served = await claims.claim(stopping);
 *     await claims.follow(served, signal);
 */
export class InstallationClaimer {
	readonly #client: KubeClient;
	readonly #options: ClaimOptions;
	readonly #installation: string;
	#wanted: readonly string[];
	readonly #leases: Informer<Lease>;
	#overlaps: readonly InstallationOverlap[] = [];
	#onOverlaps: () => void = () => undefined;

	/** @param client writes without leading, too. */
	constructor(client: KubeClient, options: ClaimOptions) {
		this.#client = client;
		this.#options = options;
		const { namespace, name } = options.lease;
		this.#installation = `${namespace}/${name}`;
		this.#wanted = options.wanted;
		this.#leases = new Informer(client, kinds.lease, {
			...operatorLeases,
			log: options.log,
		});
	}

	/** What other installations claim as well. */
	get overlaps(): readonly InstallationOverlap[] {
		return this.#overlaps;
	}

	/**
	 * Returns what this installation serves: of two that claim the same at once, at least one sees the other, since each reads
	 * after it has written. Tries until the signal fires.
	 * @param readMore what is to be claimed beside what the options have.
	 */
	async claim(
		stopping: AbortSignal,
		readMore: () => Promise<string[]> = async () => [],
	): Promise<ServedNamespaces> {
		if (!this.#options.deployment) return this.#served([]);
		for (let failures = 1; ; failures++)
			try {
				this.#wanted = [...this.#options.wanted, ...(await readMore())];
				await this.#write(false);
				const { items } = await this.#client.list(kinds.lease, operatorLeases);
				return this.#served(items);
			} catch (err) {
				if (stopping.aborted) throw err;
				const retryInMs = Math.round(backoffMs(failures, backoff));
				this.#options.log.warn({ err, retryInMs }, "claiming failed");
				await pause(retryInMs, stopping);
			}
	}

	/** Follows the claims of others until the signal fires. Rejects when this installation is to serve something else than `served`. */
	async follow(served: ServedNamespaces, signal: AbortSignal): Promise<void> {
		if (!this.#options.deployment) return;
		const { promise: changed, reject } = Promise.withResolvers<never>();
		const look = async () => {
			if (!this.#leases.hasSynced || signal.aborted) return;
			const { namespace, name } = this.#options.lease;
			const own = this.#leases.get(namespace, name);
			// Somebody removed it, or what it carries.
			if (!own || !claimsOf(own)) return await this.#write(false);
			const now = this.#served(this.#leases.list());
			if (isDeepStrictEqual(now, served)) return;
			const why = `another installation's claims have changed: this operator starts anew to serve ${inWords(now)}`;
			this.#options.log.warn(why);
			reject(new Error(why));
		};
		const readClaims = () =>
			void look().catch((err) =>
				this.#options.log.warn({ err }, "looking at the claims failed"),
			);
		this.#leases.onChange(readClaims);
		void this.#leases.synced.then(readClaims);
		await Promise.race([this.#leases.run(signal), changed]);
	}

	/** Gives up what this installation no longer wants: a former leader may have served it until now. */
	async releaseOthers(): Promise<void> {
		await this.#write(true);
	}

	/** What overlaps, for people. */
	get findings(): InstallationFindings {
		return {
			reason: "InstallationsOverlap",
			action: "Claim",
			read: () =>
				this.#overlaps.map((overlap) => {
					const note = noteOf(overlap);
					return { note, message: note, fields: { ...overlap } };
				}),
			onChange: (handler) => {
				this.#onOverlaps = handler;
			},
		};
	}

	#served(leases: readonly Lease[]): ServedNamespaces {
		const all = leases.flatMap((lease) => claimsOf(lease) ?? []);
		const own = this.#ownOf(all);
		const overlaps = overlapsOf(own, all);
		if (!isDeepStrictEqual(overlaps, this.#overlaps)) {
			this.#overlaps = overlaps;
			this.#onOverlaps();
		}
		return servedNamespaces(this.#wanted, overlaps);
	}

	#ownOf(all: readonly InstallationClaims[]): InstallationClaims {
		const installation = this.#installation;
		return (
			all.find((each) => each.installation === installation) ?? {
				installation,
				since: {},
			}
		);
	}

	/** Puts the claims into the Lease, if they aren't there. */
	async #write(isLeader: boolean): Promise<void> {
		const { lease: key } = this.#options;
		const wanted = this.#wanted;
		const deployment = await this.#deployment();
		if (!deployment) return;
		const { items } = await this.#client.list(kinds.lease, operatorLeases);
		const all = items.flatMap((each) => claimsOf(each) ?? []);
		const lease = await this.#client.get(kinds.lease, key.name, key.namespace);
		const before = (lease && claimsOf(lease)) ?? this.#ownOf([]);
		const claims = claimsToHave(
			before,
			isLeader
				? wanted
				: [...new Set([...Object.keys(before.since), ...wanted])],
			all,
			Date.now(),
		);
		const metadata = {
			labels: operatorLeaseLabels,
			annotations: { [annotation.claims]: JSON.stringify(claims.since) },
			ownerReferences: [ownerOf(deployment)],
		};
		if (!lease)
			await this.#client.create(kinds.lease, {
				metadata: { ...key, ...metadata },
				spec: {},
			});
		else if (!has(lease.metadata, metadata))
			await this.#client.patch(
				kinds.lease,
				key.name,
				key.namespace,
				// Another version is a Conflict: a replica may have written its claims meanwhile.
				{
					metadata: {
						...metadata,
						resourceVersion: lease.metadata.resourceVersion,
					},
				},
				"merge",
			);
	}

	async #deployment(): Promise<Deployment | undefined> {
		const { deployment: name, lease } = this.#options;
		return name === undefined
			? undefined
			: this.#client.get(kinds.deployment, name, lease.namespace, {
					metadataOnly: true,
				});
	}
}

function has(
	{ labels, annotations, ownerReferences }: ObjectMeta,
	wanted: Partial<ObjectMeta>,
): boolean {
	return (
		isDeepStrictEqual({ ...labels, ...wanted.labels }, labels) &&
		isDeepStrictEqual({ ...annotations, ...wanted.annotations }, annotations) &&
		isDeepStrictEqual(wanted.ownerReferences, ownerReferences)
	);
}

function ownerOf({ metadata }: Deployment) {
	return {
		apiVersion: apiVersionOf(kinds.deployment),
		kind: kinds.deployment.kind,
		name: metadata.name,
		uid: metadata.uid!,
	};
}

function noteOf({ claim, other, isOurs }: InstallationOverlap): string {
	const way = isNamespace(claim)
		? "Remove it from operator.watchNamespaces of one of them."
		: "Give one of them a NATS, a bucket or an objectStore.prefix of its own.";
	const what = isNamespace(claim) ? `Namespace "${claim}"` : claim;
	return isOurs
		? `${what} belongs to this installation, and ${other} claims it as well, which leaves it alone. ${way}`
		: `${what} belongs to ${other}, which claimed it first, so this installation ${isNamespace(claim) ? "doesn't serve it" : "serves no namespace"}. ${way}`;
}

function inWords({ namespaces, except }: ServedNamespaces): string {
	if (namespaces) return namespaces.join(", ") || "no namespace";
	return except.length > 0
		? `all namespaces but ${except.join(", ")}`
		: "all namespaces";
}
