import { isNamespace, overlapsOf } from "../../crds/installation-claims.ts";
import { annotation } from "../../crds/labels.ts";
import type { Lease } from "../../packages/kube/kinds.ts";
import {
	type ClusterFacts,
	everywhere,
	group,
	type TroubledResource,
	type UnservedNamespace,
	version,
} from "./facts.ts";
import { type DoctorFinding, failed, ok, skipped } from "./finding.ts";
import { podFinding, podlessFinding } from "./pods.ts";
import { workloads } from "./workloads.ts";

/** Less is nothing that a person notices; a token or a certificate may be refused beyond. */
const maxSkewMs = 30_000;
/** The oldest minor version of Kubernetes 1 that Tidemill supports. */
const minKubernetes = 34;

/** Says what is wrong with what Kubernetes shows. */
export function findings(
	facts: ClusterFacts,
	{
		expected,
		clientVersion,
		namespace,
		nowMs,
	}: {
		/** The kinds that this client knows. */
		expected: readonly string[];
		clientVersion: string;
		namespace: string;
		nowMs: number;
	},
): DoctorFinding[] {
	if (facts.unreachable !== undefined)
		return [
			failed(
				"cluster",
				`it doesn't answer: ${facts.unreachable}`,
				"Check the kubeconfig (--kubeconfig, --context) and the network.",
			),
		];
	return [
		cluster(facts),
		clock("clock", "the cluster", facts),
		...restApi(facts),
		resources(facts, expected),
		rights(facts, namespace),
		...operators(facts, nowMs),
		...sharedAccounts(facts),
		...awaitedRestores(facts),
		...stoppedShards(facts),
		...overlaps(facts),
		...workloads(facts, clientVersion),
		...facts.unserved.map(unserved),
		...facts.pods.map(podFinding),
		...facts.podless.map(podlessFinding),
		...facts.resources.map((each) => troubled(each, namespace)),
	];
}

function cluster({ kubernetes = "" }: ClusterFacts): DoctorFinding {
	const [, minor] = /^v1\.(\d+)/.exec(kubernetes) ?? [];
	const message = `Kubernetes ${kubernetes} answers`;
	return minor !== undefined && Number(minor) < minKubernetes
		? failed(
				"cluster",
				message,
				`Upgrade it to 1.${minKubernetes} or later: Tidemill supports none before.`,
			)
		: ok("cluster", message);
}

function restApi({ restApi }: ClusterFacts): DoctorFinding[] {
	if (!restApi)
		return [
			skipped(
				"REST API",
				"TIDEMILL_API_URL isn't set, so stored events and logs of ended runs aren't there",
			),
		];
	const { problem } = restApi;
	return problem === undefined
		? [
				ok("REST API", "it answers you"),
				clock("clock of the REST API", "the REST API", restApi),
			]
		: [
				failed(
					"REST API",
					problem,
					"As whom you ask, and with which token: tidemill tokens whoami",
				),
			];
}

/** Each with the page that says what its reason means, and what shows the rest. */
function troubled(
	{ kind, name, called, condition }: TroubledResource,
	namespace: string,
): DoctorFinding {
	const see = `kubectl describe ${called} -n ${namespace}`;
	if (!condition)
		return failed(
			name,
			"no operator has looked at it yet",
			`If it stays so, none serves namespace ${namespace}. See: ${see}`,
		);
	const { type, message, reason } = condition;
	return failed(
		name,
		`${message} (${reason})`,
		`What it means: docs/reference/conditions.md, "${kind}: ${type}", ${reason}. What happened: ${see}`,
	);
}

function clock(
	check: string,
	whose: string,
	{ clockSkewMs }: { clockSkewMs?: number },
): DoctorFinding {
	if (clockSkewMs === undefined)
		return skipped(check, `${whose}'s answer has no date`);
	const seconds = Math.round(Math.abs(clockSkewMs) / 1_000);
	return Math.abs(clockSkewMs) <= maxSkewMs
		? ok(check, `this machine and ${whose} agree`)
		: failed(
				check,
				`${whose}'s clock is ${seconds} s ${clockSkewMs > 0 ? "ahead of" : "behind"} this machine's`,
				"Synchronise both by NTP. Dates of events follow the clocks of the cluster's nodes.",
			);
}

function resources(
	{ served }: ClusterFacts,
	expected: readonly string[],
): DoctorFinding {
	const missing = expected.filter((plural) => !served.includes(plural));
	if (missing.length === 0)
		return ok(
			"resources",
			`${group}/${version} has all ${expected.length} kinds`,
		);
	return failed(
		"resources",
		served.length === 0
			? `the cluster doesn't know ${group}/${version}`
			: `${group}/${version} lacks ${missing.join(", ")}`,
		"Install Tidemill's CRDs of this version: the Helm chart brings them, or apply those of the release.",
	);
}

/** A viewer or a runner lacks some by intention; without `list`, the command and the person see nothing. */
function rights(
	{ missingRights }: ClusterFacts,
	namespace: string,
): DoctorFinding {
	if (missingRights.length === 0)
		return ok("rights", `you may edit all resources in namespace ${namespace}`);
	const message = `in namespace ${namespace} you may not: ${missingRights.join(", ")}`;
	return missingRights.some((right) => right.startsWith("list "))
		? failed(
				"rights",
				message,
				"Ask an administrator for a role, such as tidemill-viewer or tidemill-editor, or name another namespace with -n.",
			)
		: skipped("rights", message);
}

function operators(
	{ leases, clockSkewMs = 0 }: ClusterFacts,
	nowMs: number,
): DoctorFinding[] {
	if (leases === undefined)
		return [skipped("operator", "you may not list its leases")];
	if (leases.length === 0)
		return [
			failed(
				"operator",
				"no operator has ever led in this cluster",
				"Install Tidemill, or start its operator.",
			),
		];
	// By the apiserver's clock, if it has said so.
	const serverMs = nowMs + clockSkewMs;
	return leases.flatMap((lease) => {
		const isOneOfMany = leases.length > 1;
		return [
			operator(lease, isOneOfMany, serverMs),
			...operatorClock(lease, isOneOfMany),
		];
	});
}

/** When the apiserver took the newest renewal, by its clock. The Lease itself has the operator's. */
function renewalMs({ metadata, spec }: Lease): number | undefined {
	if (!spec?.renewTime) return undefined;
	const times = (metadata.managedFields ?? [])
		.filter(({ fieldsV1 }) => ownsRenewal(fieldsV1))
		.map(({ time = "" }) => Date.parse(time))
		.filter((ms) => !Number.isNaN(ms));
	return times.length > 0 ? Math.max(...times) : Date.parse(spec.renewTime);
}

function ownsRenewal(fields: unknown): boolean {
	const { "f:spec": spec } = (fields ?? {}) as { "f:spec"?: object };
	return spec !== undefined && "f:renewTime" in spec;
}

function operatorClock(lease: Lease, isOneOfMany: boolean): DoctorFinding[] {
	const { namespace, name } = lease.metadata;
	const renewedMs = renewalMs(lease);
	if (renewedMs === undefined) return [];
	// Whole seconds, in which the request began before the time was taken.
	const aheadMs = Date.parse(lease.spec!.renewTime!) - renewedMs;
	if (Math.abs(aheadMs) <= maxSkewMs) return [];
	const seconds = Math.round(Math.abs(aheadMs) / 1_000);
	return [
		failed(
			`clock of operator${isOneOfMany ? ` ${namespace}/${name}` : ""}`,
			`it is ${seconds} s ${aheadMs > 0 ? "ahead of" : "behind"} the apiserver's, and schedules follow it`,
			`Synchronise its node by NTP (docs/runbooks/TidemillClockOff.md). Its node: kubectl get pods -n ${namespace} -l app.kubernetes.io/component=operator -o wide`,
		),
	];
}

function operator(
	lease: Lease,
	isOneOfMany: boolean,
	nowMs: number,
): DoctorFinding {
	const { metadata, spec } = lease;
	const { namespace, name } = metadata;
	const check = isOneOfMany ? `operator ${namespace}/${name}` : "operator";
	const { holderIdentity, leaseDurationSeconds = 15, renewTime } = spec ?? {};
	const silentMs = nowMs - (renewalMs(lease) ?? 0);
	if (holderIdentity && silentMs <= 2 * leaseDurationSeconds * 1_000)
		return ok(check, `${holderIdentity} is running`);
	return failed(
		check,
		renewTime === undefined
			? "none has run yet"
			: `none is running; the last one was heard ${Math.round(silentMs / 1_000)} s ago`,
		`Look at its Pods and their logs: kubectl get pods -n ${namespace} -l app.kubernetes.io/component=operator`,
	);
}

/** Of an operator whose NATS is an administrator's own, and has none of the accounts. */
function sharedAccounts({ leases = [] }: ClusterFacts): DoctorFinding[] {
	return leases
		.filter(
			({ metadata }) =>
				metadata.annotations?.[annotation.natsAccount] === "shared",
		)
		.map(({ metadata: { namespace, name } }) =>
			failed(
				leases.length > 1 ? `NATS of ${namespace}/${name}` : "NATS",
				"it has no account tidemill-operator: the operator's user is in the account that holds the streams, so who has its password can reach other roles' streams",
				'Give NATS the accounts of files/nats.conf (docs/install.md, "Your own NATS"). The metric tidemill_nats_account_missing says which roles lack theirs.',
			),
		);
}

/** Of an operator that sees another cluster than the one whose routes NATS has. */
function awaitedRestores({ leases = [] }: ClusterFacts): DoctorFinding[] {
	return leases
		.filter(
			({ metadata }) =>
				metadata.annotations?.[annotation.restore] === "awaited",
		)
		.map(({ metadata: { namespace, name } }) =>
			failed(
				`restore of ${namespace}/${name}`,
				"NATS has the routes of another cluster, so the operator removes none, and unknown URLs are answered with 503",
				`Restore all resources. Then say so: tidemill restore --complete -n ${namespace}`,
			),
		);
}

/** What stops the events or Runs of a shard's Sources, in whichever namespaces they are. */
function stoppedShards({ leases = [] }: ClusterFacts): DoctorFinding[] {
	return leases.flatMap(({ metadata: { namespace, name, annotations } }) => {
		const of = leases.length > 1 ? ` of ${namespace}/${name}` : "";
		const text = annotations?.[annotation.stoppedShards] ?? "{}";
		return Object.entries<string>(JSON.parse(text)).map(([shard, reason]) => {
			const [message, advice] = stops[reason] ?? [
				`archive has stopped it with the alarm ${reason}, so Runs of its sources wait`,
				'See "Alarms of archive" in docs/reference/errors.md, and archive\'s log:',
			];
			return failed(
				`shard ${shard}${of}`,
				message,
				`${advice} kubectl logs -n ${namespace} -l app.kubernetes.io/component=archive`,
			);
		});
	});
}

const stops: Record<string, [message: string, advice: string]> = {
	BufferFull: [
		"its buffer in NATS is full, so senders to its sources get 503",
		"See docs/runbooks/TidemillBufferFills.md, and why archive takes nothing away:",
	],
	ArchiveFails: [
		"archive has failed for more than a minute and tries again, so Runs of its sources wait",
		"See docs/runbooks/TidemillArchiveLags.md, and archive's log:",
	],
};

function unserved({
	namespace,
	isMissing,
	account,
	role,
}: UnservedNamespace): DoctorFinding {
	if (namespace === everywhere)
		return failed(
			"all namespaces",
			`the operator (${account}) has no ClusterRoleBinding to ${role}`,
			`Run helm upgrade, or: kubectl create clusterrolebinding ${role} --clusterrole=${role} --serviceaccount=${account}`,
		);
	const check = `namespace ${namespace}`;
	return isMissing
		? failed(
				check,
				"the operator watches it, and it doesn't exist",
				"Create it and run helm upgrade, or remove it from operator.watchNamespaces.",
			)
		: failed(
				check,
				`the operator (${account}) has no binding to ${role} there`,
				`Run helm upgrade, or: kubectl create rolebinding ${role} --clusterrole=${role} --serviceaccount=${account} --namespace=${namespace}`,
			);
}

/** Each by the installation that comes second. */
function overlaps({ claims }: ClusterFacts): DoctorFinding[] {
	return claims.flatMap((own) =>
		overlapsOf(own, claims)
			.filter(({ isOurs }) => !isOurs)
			.map(({ claim, other }) =>
				failed(
					isNamespace(claim) ? `namespace ${claim}` : claim,
					`${other} claimed it first, so ${own.installation}, which claims it as well, ${isNamespace(claim) ? "doesn't serve it" : "serves no namespace"}`,
					isNamespace(claim)
						? "Remove it from operator.watchNamespaces of one of them."
						: "Give one of them a NATS, a bucket or an objectStore.prefix of its own.",
				),
			),
	);
}
