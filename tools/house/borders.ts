import { type FileImport, isTest } from "./import-graph.ts";

/** A border around a folder: what its files may import, or must not, of the repository and of npm. */
export interface Border {
	/** Or one file; "." is all of them. */
	folder: string;
	/** What its files may import beside each other. Everything, if it isn't said. */
	imports?: Place[];
	/** What they may import by `import()` alone, when they need it. */
	loads?: Place[];
	/** What they never import, packages of npm too. */
	never?: Place[];
	/** Its files to which the border doesn't apply. */
	except?: Place[];
	/** What its tests may import besides. Each test may import test/. */
	inTests?: Place[];
	/** Whoever crosses the border reads it. */
	why: string;
}

/** A folder, a file or a package by its name, or a pattern of their paths. */
type Place = string | RegExp;

const kubernetesClient = "@kubernetes/client-node";
const planes =
	"Both planes import this folder, so it imports neither, nor what stands above it.";
const roles =
	"The two planes share only packages/. operator and api are two processes: what both need belongs in crds/ or packages/.";
/** What `tidemill load` and `check` do with a warehouse of each type, or of all. */
const warehouseLoad = /^packages\/warehouses\/(.+\/)?load\//;

/**
 * The only description of the borders between folders. Each folder with a program has one, but for `test` and `tools`, which
 * import everything; from low to high, since an import goes down only. `test/structure.test.ts` fails when one is crossed, and
 * `make house` counts by them.
 */
export const borders: Border[] = [
	{ folder: "packages/contracts", imports: [], why: planes },
	{
		folder: "packages/escapes",
		imports: [],
		why: `${planes} It knows the languages of other programs, and nothing of what is said in them.`,
	},
	{ folder: "packages/fair", imports: [], why: planes },
	{ folder: "packages/json", imports: [], why: planes },
	{ folder: "packages/parquet", imports: [], why: planes },
	{
		folder: "packages/service",
		imports: ["packages/escapes", "packages/fair"],
		inTests: ["operator/install"],
		why: planes,
	},
	{
		folder: "packages/duckdb",
		imports: [],
		never: [kubernetesClient],
		why: `${planes} It is an engine inside a process, and knows nothing of Tidemill.`,
	},
	{
		folder: "packages/kube",
		imports: [
			"packages/escapes",
			"packages/fair",
			"packages/json",
			"packages/service",
		],
		why: "packages/kube/ knows Kubernetes, not Tidemill.",
	},
	{
		folder: "packages/streams",
		imports: ["packages/contracts", "packages/service"],
		never: [kubernetesClient],
		why: planes,
	},
	{
		folder: "packages/bucket",
		imports: ["packages/contracts", "packages/service"],
		never: [kubernetesClient, "@nats-io/transport-node"],
		why: "packages/bucket/ knows S3 and the keys of Tidemill's objects, and nothing of who writes or reads them.",
	},
	{
		folder: "packages/tracking-plan",
		imports: ["packages/contracts", "packages/json", "packages/service"],
		never: [kubernetesClient, "@nats-io/transport-node"],
		why: "Both planes validate events by packages/tracking-plan/, and strangers' code runs in it: it imports neither plane, and reaches neither Kubernetes nor NATS.",
	},
	{
		folder: "packages/warehouses",
		imports: [
			"packages/contracts",
			"packages/duckdb",
			"packages/escapes",
			"packages/fair",
			"packages/json",
			"packages/parquet",
			"packages/service",
		],
		never: [kubernetesClient],
		inTests: ["ingest", "packages/tracking-plan"],
		why: `${planes} Only the control plane talks to Kubernetes.`,
	},
	{
		folder: ".",
		except: ["ingest", "test", "tools", warehouseLoad, "cli/bin/sql.ts"],
		never: [warehouseLoad],
		why: "Only the data plane loads: it alone needs DuckDB and the warehouses' own libraries.",
	},
	{
		folder: "crds",
		imports: ["packages/kube", "packages/warehouses"],
		why: "operator, api and cli import crds/, so it imports none of them.",
	},
	{ folder: "operator", imports: ["crds", "packages"], why: roles },
	{ folder: "api", imports: ["crds", "packages"], why: roles },
	{
		folder: "ingest",
		imports: [
			"packages/bucket",
			"packages/contracts",
			"packages/duckdb",
			"packages/escapes",
			"packages/fair",
			"packages/json",
			"packages/parquet",
			"packages/service",
			"packages/streams",
			"packages/tracking-plan",
			"packages/warehouses",
		],
		never: [kubernetesClient],
		why: "The two planes share only packages/. The data plane never talks to Kubernetes, whose client takes 80 MB of memory.",
	},
	{
		folder: "ingest/archive",
		except: ["ingest/archive/main.ts"],
		never: ["ingest/lake"],
		inTests: ["ingest/lake"],
		why: "Archive makes events safe, and knows nothing of who asks for them. Only its main.ts starts the lake, too.",
	},
	{
		folder: "ingest/notify",
		imports: [
			"packages/contracts",
			"packages/escapes",
			"packages/fair",
			"packages/service",
			"packages/streams",
		],
		never: ["@aws-sdk/client-s3"],
		why: "notify calls what strangers name, so it knows its orders and nothing else, and holds nothing that is worth reaching.",
	},
	{
		folder: "cli",
		imports: ["api", "crds", "packages"],
		loads: ["ingest", "operator"],
		why: "The command line starts the roles by import(), so that a command loads none of them.",
	},
	{
		folder: "cli/bin/sql.ts",
		loads: [warehouseLoad],
		why: "The command line loads DuckDB and the warehouses' libraries when somebody queries one, by import().",
	},
	{
		folder: "local",
		imports: ["crds", "operator/install", "packages"],
		why: "`make up` starts the roles as processes, so it imports none of them.",
	},
	{
		folder: "console",
		imports: ["crds", "packages"],
		why: "The console is a client of the REST API, and nothing else.",
	},
	{
		folder: "clients",
		imports: [],
		why: "People install it without the rest of the repository.",
	},
	{
		folder: "docs",
		imports: [],
		why: "The site is built from docs/ alone, by packages of its own.",
	},
];

/** Whoever crosses a border, by what, and the border's reason: a sentence each. */
export function crossings(imports: FileImport[]): string[] {
	return imports.flatMap((each) =>
		borders
			.filter((border) => crosses(each, border))
			.map(({ why }) => `${each.from} imports ${each.to}. ${why}`),
	);
}

/** Whether a folder of the repository has a border around it. */
export function hasBorder(folder: string): boolean {
	return borders.some((border) => border.folder === folder);
}

function crosses(one: FileImport, border: Border): boolean {
	const { folder, imports, loads = [], never = [], except = [] } = border;
	const isAnyOf = (path: string, places: Place[]) =>
		places.some((place) => isAt(path, place));
	if (!isAt(one.from, folder) || isAnyOf(one.from, except)) return false;
	if (isTest(one.from) && isAnyOf(one.to, ["test", ...(border.inTests ?? [])]))
		return false;
	if (isAnyOf(one.to, never)) return true;
	if (isAnyOf(one.to, loads)) return !one.isLazy;
	const allowed = imports && [folder, ...imports];
	return allowed !== undefined && !one.isPackage && !isAnyOf(one.to, allowed);
}

function isAt(path: string, place: Place): boolean {
	if (place instanceof RegExp) return place.test(path);
	return place === "." || path === place || path.startsWith(`${place}/`);
}
