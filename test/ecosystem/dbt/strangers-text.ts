import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { dbtSources } from "../../../cli/dbt.ts";
import { markdownText } from "../../../packages/escapes/markup.ts";
import { yamlText } from "../../../packages/escapes/yaml.ts";
import {
	destinationOf,
	pipelineOf,
	sourceOf,
} from "../../support/examples/resource-examples.ts";
import { hostileTexts } from "../../support/strangers/hostile-texts.ts";
import { outputOf } from "../program.ts";

const root = join(import.meta.dirname, "../../..");
const token = "the-token-of-an-analyst";

interface Described {
	name: string;
	description: string;
}

/**
 * Has dbt read the tables of a Pipeline whose event types, members and schema strangers have named. Throws unless the project
 * parses, no description has what dbt's environment holds, and each shows the text.
 */
export async function checkStrangersText(
	bin: string,
	scratch: string,
): Promise<void> {
	const project = join(scratch, "strangers");
	await mkdir(join(project, "models"), { recursive: true });
	for (const file of ["dbt_project.yml", "profiles.yml"])
		await cp(join(root, "examples/dbt", file), join(project, file));
	const example = pipelineOf();
	const types = hostileTexts.map((type, index) => ({
		type,
		table: `load_orders_${index}`,
	}));
	const pipeline = pipelineOf(
		{
			table: {
				...example.spec.table,
				perEventType: true,
				bodyColumns: hostileTexts.map((text, index) => ({
					name: `member_${index}`,
					bodyPointer: `/${text}`,
				})),
			},
		},
		{ status: { eventTypeTables: { table: "load_orders", types } } },
	);
	const { metadata } = destinationOf();
	const schema = "{{ env_var('MY_TOKEN') }}";
	const found = dbtSources(
		{
			namespace: "shop",
			pipelines: [pipeline],
			sources: [sourceOf()],
			destinations: [
				{
					...destinationOf(),
					metadata: { ...metadata, name: "files" },
					spec: {
						type: "Postgres",
						postgres: {
							host: "db",
							database: "{% if",
							schema,
							credentials: { secretRef: { name: "db" } },
						},
					} as never,
				},
			],
		},
		Date.now(),
	);
	await writeFile(join(project, "models/sources.yml"), yamlText(found));
	await checkYaml(bin, project);
	await outputOf(
		join(bin, "dbt"),
		["parse", "--project-dir", project, "--profiles-dir", project],
		{ env: { MY_TOKEN: token, DBT_SEND_ANONYMOUS_USAGE_STATS: "false" } },
	);
	const text = await readFile(join(project, "target/manifest.json"), "utf8");
	if (text.includes(token))
		throw new Error(`manifest.json has the token: ${lineWith(text, token)}`);
	const { sources } = JSON.parse(text) as {
		sources: Record<
			string,
			Described & { schema: string; columns: Record<string, Described> }
		>;
	};
	for (const [index, { type, table }] of types.entries()) {
		const source = Object.values(sources).find(({ name }) => name === table);
		if (!source) throw new Error(`dbt knows no table ${table}`);
		if (source.schema !== schema)
			throw new Error(`the schema is ${source.schema}`);
		const { description: column = "" } =
			source.columns[`member_${index}`] ?? {};
		for (const [description, text] of [
			[source.description, type],
			[column, `/${type}`],
		] as const)
			if (!description.includes(markdownText(text)))
				throw new Error(
					`the description of ${JSON.stringify(text)} is ${JSON.stringify(description)}`,
				);
	}
}

/** Both of Python's readers find each text, as a value and as a name. */
async function checkYaml(bin: string, folder: string): Promise<void> {
	const file = join(folder, "texts");
	const texts = Object.fromEntries(hostileTexts.map((text) => [text, text]));
	await writeFile(`${file}.yaml`, yamlText(texts));
	await writeFile(`${file}.json`, JSON.stringify(texts));
	await outputOf(join(bin, "python"), ["-c", readTexts, file]);
}

const readTexts = `import json, sys, yaml
wanted = json.load(open(sys.argv[1] + ".json"))
for loader in (yaml.SafeLoader, yaml.CSafeLoader):
    found = yaml.load(open(sys.argv[1] + ".yaml", newline=""), loader)
    assert found == wanted, {name: (text, found.get(name)) for name, text in wanted.items() if found.get(name) != text}
`;

function lineWith(text: string, part: string): string {
	const at = text.indexOf(part);
	return text.slice(Math.max(0, at - 200), at + part.length);
}
