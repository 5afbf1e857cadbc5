import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { Destination } from "../crds/generated/types.ts";
import {
	isBound,
	parseBinding,
	parseBindings,
} from "../packages/warehouses/definition/binding.ts";
import { warehouseOf } from "../packages/warehouses/registry.ts";

/* Each way to make a Secret that a page shows binds it to the Destination that the page shows. */

const root = join(import.meta.dirname, "..");
const names = { namespace: "shop", clusterDomain: "cluster.local" };
const read = (path: string) => readFileSync(join(root, path), "utf8");

/** What a page has people write, in YAML. */
function manifestsIn(path: string): Manifest[] {
	const text = read(path);
	const blocks = path.endsWith(".md")
		? [...text.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, yaml]) => yaml!)
		: [text];
	return blocks
		.filter((yaml) => yaml.startsWith("apiVersion:") || !path.endsWith(".md"))
		.flatMap((yaml) => parseAllDocuments(yaml))
		.map((document) => document.toJS() as Manifest);
}

interface Manifest {
	kind: string;
	metadata: { name: string };
	spec: {
		inheritedMetadata?: Metadata;
		target?: { template: { metadata: Metadata } };
	};
}

interface Metadata {
	labels: Record<string, string>;
	annotations: Record<string, string>;
}

/** The annotations of a page's Secrets, by how they come there. */
function bindingsIn(
	path: string,
): [by: string, secret: string, hosts: string][] {
	const command =
		/^kubectl annotate secret (\S+) tidemill\.dev\/hosts='?([^'\s]+)/gm;
	const commands = [...read(path).matchAll(command)].map(
		([, secret, hosts]) =>
			["kubectl", secret!, hosts!] as [string, string, string],
	);
	const written = manifestsIn(path).flatMap(
		({ kind, metadata: { name }, spec }): [string, string, string][] => {
			const secret = kind === "Cluster" ? `${name}-app` : name;
			const of = spec.inheritedMetadata ?? spec.target?.template.metadata;
			if (!of) return [];
			expect(of.labels, kind).toEqual({ "tidemill.dev/use": "true" });
			return [[kind, secret, of.annotations["tidemill.dev/hosts"]!]];
		},
	);
	return [...commands, ...written];
}

/** As CloudNativePG writes the Secret of a Cluster. */
const cloudNativePG = (secret: string) => ({
	host: secret.replace(/-app$/, "-rw"),
	port: "5432",
	dbname: "app",
});

test.each([
	["docs/postgres.md", ["Cluster", "ExternalSecret", "kubectl"]],
	["docs/clickhouse.md", ["kubectl"]],
])("%s binds the Secrets of its Destinations by %s", (page, ways) => {
	const bindings = bindingsIn(page);
	const used = manifestsIn(page)
		.filter(({ kind }) => kind === "Destination")
		.flatMap((destination) => {
			const { definition, own } = warehouseOf(
				(destination as unknown as Destination).spec,
			)!;
			const { name } = (own as { credentials: { secretRef: { name: string } } })
				.credentials.secretRef;
			const keys: Record<string, string> = name.endsWith("-app")
				? cloudNativePG(name)
				: {};
			const found = definition.connection!(own, (key) => keys[key]);
			expect(found).toHaveProperty("target");
			if (!("target" in found)) return [];
			return bindings
				.filter(([, secret]) => secret === name)
				.map(([by, , hosts]) => {
					const parsed = parseBindings(hosts);
					expect(
						Array.isArray(parsed) &&
							parsed.some((one) => isBound(found.target, one, names)),
						`${by}: ${hosts}`,
					).toBe(true);
					return by;
				});
		});
	expect([...new Set(used)].sort()).toEqual(ways);
});

test("the example of ClickHouse says its own binding", () => {
	const text = read("examples/clickhouse/form.yaml");
	const [hosts] = /https:\S+\?ca=[a-z-]+/.exec(text)!;
	const { spec } = manifestsIn("examples/clickhouse/form.yaml").find(
		({ kind }) => kind === "Destination",
	) as unknown as Destination;
	const { definition, own } = warehouseOf(spec)!;
	expect(definition.connection!(own, () => undefined)).toMatchObject({
		target: parseBinding(hosts),
	});
});

test("the command for an upgrade has a placeholder, and as it stands it binds nothing", () => {
	const [, hosts] = /tidemill\.dev\/hosts='([^']*)'/.exec(
		read("docs/upgrade.md"),
	)!;
	expect(hosts).toContain("<HOST>");
	expect(parseBinding(hosts!)).toBeUndefined();
	const [, shown] = /'tidemill\.dev\/hosts=([^']*)'/.exec(
		read("docs/security.md"),
	)!;
	expect(parseBindings(shown!)).toHaveLength(2);
});
