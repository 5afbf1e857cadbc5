import { dirname } from "node:path";
import { crossings } from "./borders.ts";
import { features, filesNaming } from "./features.ts";
import {
	filesReached,
	folderOf,
	importCircle,
	importsIn,
	isTest,
	topOf,
} from "./import-graph.ts";
import { readWalks } from "./walks.ts";

/** One figure of the house beside its target. */
export interface HouseFigure {
	name: string;
	value: number;
	/** None for what is only told. */
	target?: { atLeast: number } | { atMost: number };
}

/**
 * The figures that tell how easily a stranger finds a thought in this repository.
 * The console's pages (.tsx) count with what is imported and named, and apart with sizes and folders, whose targets are older than they.
 * @param files The text of each TypeScript file by its path from the root.
 * @param folders All folders of the root that the repository has.
 * @param contributing The page with the walks through the code.
 */
export function measureHouse(
	files: ReadonlyMap<string, string>,
	folders: string[],
	contributing: string,
): HouseFigure[] {
	const product = new Map([...files].filter(([path]) => isProduct(path)));
	const pages = linesOf(product, ".tsx");
	const lines = linesOf(product, ".ts");
	const total = sumOf(lines);
	const imports = importsIn(product);
	const between = new Set(
		imports
			.map(({ from, to }) => [topOf(from), topOf(to)])
			.filter(([from, to]) => from !== to && from !== "tools")
			.map(([from, to]) => `${from} → ${to}`),
	);
	const types = exportedTypes(product);
	const linesBelow = (...folders: string[]) =>
		sumOf(
			linesOf(
				new Map(
					[...product].filter(([path]) =>
						folders.some((folder) => path.startsWith(folder)),
					),
				),
				".ts",
			),
		);
	return [
		atMost("product lines", total, 66_000),
		{ name: "lines of pages (.tsx) besides", value: sumOf(pages) },
		atLeast("lines a file", Math.round(total / lines.length), 125),
		atMost("files under 40 lines", lines.filter((n) => n < 40).length, 79),
		atMost(
			"folders",
			new Set([...product.keys()].filter((p) => p.endsWith(".ts")).map(dirname))
				.size,
			110,
		),
		atMost("folders at the root", folders.length, 14),
		atMost("arrows between folders of the root", between.size, 16),
		atMost("imports that cross a border", crossings(imports).length, 0),
		atMost("circles of files", importCircle(imports, (f) => f).length, 0),
		atMost("circles of folders", importCircle(imports, folderOf).length, 0),
		atMost(
			"files outside its folder that name a warehouse",
			[...product].filter(([path, text]) =>
				namesWarehouse(path, text, warehousesIn(files)),
			).length,
			0,
		),
		atMost("exported types of one word", types.filter(isOneWord).length, 120),
		atMost(
			"names of exported types that stand twice",
			Map.groupBy(types, (name) => name)
				.values()
				.filter((same) => same.length > 1)
				.toArray().length,
			0,
		),
		...features.map((feature) =>
			atMost(
				`files that name "${feature.name}" outside its folder`,
				filesNaming(feature, product).length,
				feature.target,
			),
		),
		atMost(
			"files that ingest/load/main.ts reaches",
			filesReached(imports, [
				"ingest/load/main.ts",
				...warehousesLoaded(product),
			]).size,
			120,
		),
		atMost(
			"lines of packages/warehouses",
			linesBelow("packages/warehouses/"),
			14_200,
		),
		atMost(
			"lines of ingest, packages and clients/typescript",
			linesBelow("ingest/", "packages/", "clients/typescript/"),
			60_500,
		),
		...walkFigures(contributing),
	];
}

/** Whether a figure is what it should be. */
export function isOnTarget({ value, target }: HouseFigure): boolean {
	if (!target) return true;
	return "atLeast" in target ? value >= target.atLeast : value <= target.atMost;
}

/** The lines of each file with this ending. */
function linesOf(files: ReadonlyMap<string, string>, ending: string): number[] {
	return [...files]
		.filter(([path]) => path.endsWith(ending))
		.map(([, text]) => text.split("\n").length - 1);
}

function sumOf(numbers: number[]): number {
	return numbers.reduce((sum, count) => sum + count, 0);
}

/** Outside tests, benchmarks and what is generated. */
function isProduct(path: string): boolean {
	return (
		!isTest(path) &&
		!/^test\/|^vitest|^(tools\/)?bench\/|\/generated\//.test(path)
	);
}

const warehouseTypes = "packages/warehouses/types.ts";

/** The folders of the types of warehouse, but for DuckDB, which is an engine of our own processes, too. */
function warehousesIn(files: ReadonlyMap<string, string>): string[] {
	const list = files.get(warehouseTypes) ?? "";
	return [...list.matchAll(/"\.\/(\w+)\/definition\.ts"/g)]
		.map(([, folder]) => folder!)
		.filter((folder) => folder !== "duckdb");
}

function namesWarehouse(path: string, text: string, types: string[]): boolean {
	return types.some(
		(type) =>
			!path.startsWith(`packages/warehouses/${type}/`) &&
			path !== warehouseTypes &&
			text.toLowerCase().includes(type),
	);
}

/** What the load's generated table of types imports, which Git doesn't keep. */
function warehousesLoaded(files: ReadonlyMap<string, string>): string[] {
	return [...files.keys()].filter((path) =>
		/^packages\/warehouses\/\w+\/load\/warehouse\.ts$/.test(path),
	);
}

function exportedTypes(files: ReadonlyMap<string, string>): string[] {
	const declared = /^export (?:abstract )?(?:class|interface|type) (\w+)/gm;
	return [...files.values()].flatMap((text) =>
		[...text.matchAll(declared)].map(([, name]) => name!),
	);
}

function isOneWord(name: string): boolean {
	return /^[A-Z][a-z]+$/.test(name);
}

function walkFigures(contributing: string): HouseFigure[] {
	const goals: [RegExp, number][] = [
		[/schedule/, 12],
		[/Parquet/, 14],
		[/verdict/, 14],
	];
	const walks = readWalks(contributing);
	return goals.map(([about, target]) => {
		const walk = walks.find(({ title }) => about.test(title));
		const name =
			walk?.title.toLowerCase() ?? `that is missing: ${about.source}`;
		return atMost(
			`files of the walk ${name}`,
			walk
				? new Set(walk.files.map(({ path }) => path)).size
				: Number.POSITIVE_INFINITY,
			target,
		);
	});
}

function atMost(name: string, value: number, target: number): HouseFigure {
	return { name, value, target: { atMost: target } };
}

function atLeast(name: string, value: number, target: number): HouseFigure {
	return { name, value, target: { atLeast: target } };
}
