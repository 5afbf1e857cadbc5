import { unless } from "../../packages/kube/client/errors.ts";
import type { Condition } from "../../packages/kube/conditions.ts";
import { type KubeEvent, kinds } from "../../packages/kube/kinds.ts";
import type { KubeObject } from "../../packages/kube/resource.ts";
import type { Cluster } from "../command/cluster.ts";
import { table, yamlText } from "../command/output.ts";

/** What `describe` prints of an object: its fields, its conditions and what happened to it. */
export async function description(
	cluster: Cluster,
	object: KubeObject & {
		spec?: object;
		status?: { conditions?: Condition[] };
	},
	nowMs: number,
): Promise<string> {
	const { metadata, spec, status = {} } = object;
	const { conditions = [], ...rest } = status;
	const labels = Object.entries(metadata.labels ?? {});
	const yaml = async (value: object | undefined) =>
		Object.keys(value ?? {}).length > 0
			? indented(await yamlText(value))
			: "  none\n";
	return [
		field("Name", metadata.name),
		field("Namespace", metadata.namespace ?? ""),
		field("Created", metadata.creationTimestamp ?? ""),
		...(metadata.deletionTimestamp
			? [
					field(
						"Deleted",
						`${metadata.deletionTimestamp}, waits for: ${metadata.finalizers?.join(", ")}`,
					),
				]
			: []),
		...(labels.length > 0
			? [field("Labels", labels.map((label) => label.join("=")).join(", "))]
			: []),
		`Spec:\n${await yaml(spec)}`,
		`Status:\n${await yaml(rest)}`,
		`Conditions:\n${indented(conditionsText(conditions))}`,
		`Events:\n${indented(await kubeEventsText(cluster, object, nowMs))}`,
	].join("");
}

function field(name: string, value: string): string {
	return `${`${name}:`.padEnd(12)}${value}\n`;
}

function indented(text: string): string {
	return text.replaceAll(/^(?=.)/gm, "  ");
}

function conditionsText(conditions: readonly Condition[]): string {
	if (conditions.length === 0) return "none\n";
	return table([
		["TYPE", "STATUS", "SINCE", "REASON", "MESSAGE"],
		...conditions.map(
			({ type, status, lastTransitionTime, reason, message }) => [
				type,
				status,
				lastTransitionTime,
				reason,
				message,
			],
		),
	]);
}

/** Kubernetes keeps them for an hour. */
async function kubeEventsText(
	{ client, namespace }: Cluster,
	{ metadata }: KubeObject,
	nowMs: number,
): Promise<string> {
	const fieldSelector = `regarding.uid=${metadata.uid}`;
	const found = await unless(
		client.list<KubeEvent>(kinds.kubeEvent, { namespace, fieldSelector }),
		"Forbidden",
	);
	if (!found) return "You have no permission to list events.\n";
	if (found.items.length === 0) return "none\n";
	const rows = found.items
		.map((event) => ({ event, time: Date.parse(timeOf(event)) }))
		.sort((a, b) => a.time - b.time)
		.map(({ event, time }) => [
			event.type ?? "",
			event.reason ?? "",
			ageText(nowMs - time),
			event.note ?? "",
		]);
	return table([["TYPE", "REASON", "AGE", "MESSAGE"], ...rows]);
}

function timeOf(event: KubeEvent): string {
	return (
		event.series?.lastObservedTime ??
		event.eventTime ??
		event.metadata.creationTimestamp!
	);
}

/** As kubectl writes ages: the largest unit. */
function ageText(ms: number): string {
	const seconds = Math.max(0, Math.round(ms / 1_000));
	if (seconds < 120) return `${seconds}s`;
	if (seconds < 7_200) return `${Math.floor(seconds / 60)}m`;
	if (seconds < 172_800) return `${Math.floor(seconds / 3_600)}h`;
	return `${Math.floor(seconds / 86_400)}d`;
}
