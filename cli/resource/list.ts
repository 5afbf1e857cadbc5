import type { KubeClient } from "../../packages/kube/client/client.ts";
import {
	type KubeObject,
	type ResourceKind,
	resourcePath,
} from "../../packages/kube/resource.ts";
import { type Cluster, requireNamespace, wordsOf } from "../command/cluster.ts";
import {
	type OutputFormat,
	objectsText,
	print,
	remark,
	table,
} from "../command/output.ts";

const pageSize = 500;

/** A page of a collection as the apiserver prints it for kubectl (KEP-2334: `as=Table;g=meta.k8s.io`). */
interface TablePage {
	metadata: { continue?: string };
	columnDefinitions: { name: string; priority: number }[];
	rows: { cells: unknown[]; object: KubeObject }[];
}

/** Prints the objects of a namespace, or of all. */
export async function printObjects(
	cluster: Cluster,
	listing: {
		kind: ResourceKind<KubeObject>;
		format: OutputFormat;
		allNamespaces?: boolean | undefined;
		selector?: string | undefined;
		newestFirst?: boolean | undefined;
	},
): Promise<void> {
	const { client, namespace } = cluster;
	const { kind, format, allNamespaces, selector } = listing;
	const path = resourcePath(kind, allNamespaces ? undefined : namespace);
	const isEmpty = async () => {
		if (!allNamespaces) await requireNamespace(cluster);
		const which = selector === undefined ? "" : ` with the labels ${selector}`;
		const where = allNamespaces ? "" : ` in namespace ${namespace}`;
		remark(`There are no ${wordsOf(kind)[1]}${which}${where}.\n`);
	};
	const query = { labelSelector: selector };
	const isTable = format === "table" || format === "wide";
	const pages = await readPages(client, path, query, isTable);
	const newestFirst = <T>(rows: T[], objectOf: (row: T) => KubeObject) =>
		listing.newestFirst ? rows.sort(byAge(objectOf)) : rows;
	if (!isTable) {
		const objects = pages.flatMap((page) => itemsOf(page, kind));
		if (objects.length === 0) await isEmpty();
		const sorted = newestFirst(objects, (object) => object);
		print(await objectsText(sorted, format, { asList: true }));
		return;
	}
	const tables = pages as TablePage[];
	const rows = tables.flatMap((page) => page.rows);
	if (rows.length === 0) return isEmpty();
	const isShown = tables[0]!.columnDefinitions.map(
		({ name, priority }) =>
			priority === 0 || format === "wide" || name === "URL",
	);
	const line = (cells: unknown[], namespace: string | undefined) => [
		...(allNamespaces ? [namespace ?? ""] : []),
		...cells
			.filter((_, index) => isShown[index])
			.map((cell) => String(cell ?? "")),
	];
	const names = tables[0]!.columnDefinitions.map(({ name }) =>
		name.toUpperCase(),
	);
	print(
		table([
			line(names, "NAMESPACE"),
			...newestFirst(rows, ({ object }) => object).map(({ cells, object }) =>
				line(cells, object.metadata.namespace),
			),
		]),
	);
}

async function readPages(
	client: KubeClient,
	path: string,
	query: { labelSelector?: string | undefined },
	asTable: boolean,
): Promise<unknown[]> {
	const pages: { metadata?: { continue?: string } }[] = [];
	let from: string | undefined;
	do {
		const page = await client.raw("GET", path, {
			query: { ...query, limit: pageSize, continue: from },
			...(asTable && {
				accept: "application/json;as=Table;v=v1;g=meta.k8s.io",
			}),
		});
		pages.push(page as (typeof pages)[number]);
		from = pages.at(-1)!.metadata?.continue;
	} while (from);
	return pages;
}

/** The items of a List have no kind of their own. */
function itemsOf(page: unknown, kind: ResourceKind<KubeObject>): KubeObject[] {
	const { items } = page as { items: KubeObject[] };
	const apiVersion = `${kind.group}/${kind.version}`;
	return items.map((item) => ({ apiVersion, kind: kind.kind, ...item }));
}

function byAge<T>(objectOf: (row: T) => KubeObject) {
	const createdOf = (row: T) => objectOf(row).metadata.creationTimestamp ?? "";
	return (a: T, b: T) => createdOf(b).localeCompare(createdOf(a));
}
